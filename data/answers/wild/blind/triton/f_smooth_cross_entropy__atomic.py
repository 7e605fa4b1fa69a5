import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ce_label_smooth_kernel(logits_ptr, targets_ptr, loss_ptr,
                           n_rows, n_classes, smoothing,
                           BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_classes
    base = logits_ptr + row * n_classes

    x = tl.load(base + cols, mask=mask, other=-float("inf"))
    x_max = tl.max(x, axis=0)
    lse = tl.log(tl.sum(tl.exp(x - x_max), axis=0)) + x_max

    target = tl.load(targets_ptr + row)
    x_t = tl.load(base + target)
    x_sum = tl.sum(tl.where(mask, x, 0.0), axis=0)

    nll = lse - x_t
    smooth = lse - x_sum / n_classes
    loss = (1.0 - smoothing) * nll + smoothing * smooth
    tl.atomic_add(loss_ptr, loss / n_rows)


class ModelNew(nn.Module):
    def __init__(self, smoothing):
        super().__init__()
        self.smoothing = smoothing

    def forward(self, logits, targets):
        logits = logits.contiguous()
        targets = targets.contiguous()
        n_rows, n_classes = logits.shape
        loss = torch.zeros((), device=logits.device, dtype=torch.float32)
        ce_label_smooth_kernel[(n_rows,)](
            logits, targets, loss, n_rows, n_classes, self.smoothing,
            BLOCK=triton.next_power_of_2(n_classes),
        )
        return loss
