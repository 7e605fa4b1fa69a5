import torch
import torch.nn as nn
import triton
import triton.language as tl


def _clear(nargs):
    # the loss is accumulated, so every (tuning) run has to start from zero
    nargs["loss_ptr"].zero_()
    nargs["lock_ptr"].zero_()


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_C": 16, "BLOCK_P": 64}, num_warps=2, pre_hook=_clear),
        triton.Config({"BLOCK_C": 32, "BLOCK_P": 32}, num_warps=4, pre_hook=_clear),
    ],
    key=["C", "P"],
)
@triton.jit
def gram_kernel(f_ptr, t_ptr, g_ptr, loss_ptr, lock_ptr, C, P, inv_norm, inv_count,
                BLOCK_C: tl.constexpr, BLOCK_P: tl.constexpr):
    b = tl.program_id(2)
    ri = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    rj = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    base = f_ptr + b * C * P
    acc = tl.zeros((BLOCK_C, BLOCK_C), dtype=tl.float32)
    for p0 in range(0, P, BLOCK_P):
        rp = p0 + tl.arange(0, BLOCK_P)
        fi = tl.load(base + ri[:, None] * P + rp[None, :], mask=(ri[:, None] < C) & (rp[None, :] < P), other=0.0)
        fj = tl.load(base + rj[None, :] * P + rp[:, None], mask=(rj[None, :] < C) & (rp[:, None] < P), other=0.0)
        acc += tl.dot(fi, fj, input_precision="ieee")
    acc *= inv_norm
    offs = b * C * C + ri[:, None] * C + rj[None, :]
    mask = (ri[:, None] < C) & (rj[None, :] < C)
    tl.store(g_ptr + offs, acc, mask=mask)

    diff = tl.where(mask, acc - tl.load(t_ptr + offs, mask=mask, other=0.0), 0.0)
    part = tl.sum(tl.sum(diff * diff, axis=1), axis=0) * inv_count

    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    total = tl.load(loss_ptr, volatile=True)
    tl.store(loss_ptr, total + part)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, target):
        x = x.contiguous()
        target = target.contiguous()
        b, c, h, w = x.shape
        gram = torch.empty((b, c, c), device=x.device, dtype=x.dtype)
        loss = torch.zeros((), device=x.device, dtype=torch.float32)
        lock = torch.zeros((1,), device=x.device, dtype=torch.int32)
        grid = lambda meta: (triton.cdiv(c, meta["BLOCK_C"]), triton.cdiv(c, meta["BLOCK_C"]), b)
        gram_kernel[grid](x, target, gram, loss, lock, c, h * w, 1.0 / (c * h * w), 1.0 / (b * c * c))
        return gram, loss
