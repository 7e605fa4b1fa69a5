import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_SIZE": 512}, num_warps=4),
        triton.Config({"BLOCK_SIZE": 1024}, num_warps=4),
        triton.Config({"BLOCK_SIZE": 2048}, num_warps=8),
        triton.Config({"BLOCK_SIZE": 4096}, num_warps=8, num_stages=3),
    ],
    key=["n_elements"],
)
@triton.jit
def affine_gelu_clamp_kernel(
    x_ptr, scale_ptr, shift_ptr, out_ptr,
    n_elements, features,
    lo, hi,
    BLOCK_SIZE: tl.constexpr,
):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    col = offs % features

    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    # scale / shift stay resident in L1/L2
    s = tl.load(scale_ptr + col, mask=mask, other=0.0, eviction_policy="evict_last")
    b = tl.load(shift_ptr + col, mask=mask, other=0.0, eviction_policy="evict_last")

    y = x * s + b
    y = 0.5 * y * (1.0 + tl.math.erf(y * 0.7071067811865476))
    y = tl.minimum(tl.maximum(y, lo), hi)
    tl.store(out_ptr + offs, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, features, lo, hi):
        super().__init__()
        self.scale = nn.Parameter(1.0 + 0.1 * torch.randn(features))
        self.shift = nn.Parameter(0.1 * torch.randn(features))
        self.lo = lo
        self.hi = hi

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        grid = lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)
        affine_gelu_clamp_kernel[grid](
            x, self.scale, self.shift, out, n, x.shape[-1], self.lo, self.hi
        )
        return out
