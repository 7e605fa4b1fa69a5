import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def causal_conv1d_silu_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr,
    C, L,
    K: tl.constexpr,
    BLOCK_L: tl.constexpr,
):
    bc = tl.program_id(0)
    c = bc % C
    t = tl.program_id(1) * BLOCK_L + tl.arange(0, BLOCK_L)
    x_row = x_ptr + bc * L
    acc = tl.zeros([BLOCK_L], dtype=tl.float32) + tl.load(b_ptr + c)
    for k in tl.static_range(K):
        src = t - (K - 1) + k
        xv = tl.load(x_row + src, mask=(src >= 0) & (src < L), other=0.0)
        acc += xv * tl.load(w_ptr + c * K + k)
    y = acc / (1.0 + tl.exp(-acc))
    tl.store(y_ptr + bc * L + t, y, mask=t < L)


class ModelNew(nn.Module):
    def __init__(self, channels, kernel_size):
        super().__init__()
        self.kernel_size = kernel_size
        self.conv = nn.Conv1d(channels, channels, kernel_size, groups=channels, padding=kernel_size - 1)

    def forward(self, x):
        if not x.is_cuda:
            # CPU fallback
            return torch.nn.functional.silu(self.conv(x)[..., : x.shape[-1]])
        x = x.contiguous()
        B, C, L = x.shape
        y = torch.empty_like(x)
        BLOCK_L = 256
        causal_conv1d_silu_kernel[(B * C, triton.cdiv(L, BLOCK_L))](
            x, self.conv.weight, self.conv.bias, y, C, L, K=self.kernel_size, BLOCK_L=BLOCK_L
        )
        return y
