import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_SIZE": 512}, num_warps=4),
        triton.Config({"BLOCK_SIZE": 1024}, num_warps=4),
        triton.Config({"BLOCK_SIZE": 2048}, num_warps=8),
    ],
    key=["n_elements"],
)
@triton.jit
def affine_gelu_kernel(
    x_ptr, scale_ptr, shift_ptr, out_ptr,
    n_elements, n_features,
    BLOCK_SIZE: tl.constexpr,
):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements

    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    feat = offsets % n_features
    scale = tl.load(scale_ptr + feat, mask=mask, other=0.0)
    shift = tl.load(shift_ptr + feat, mask=mask, other=0.0)

    y = x * scale + shift
    # GELU (tanh approximation)
    inner = 0.7978845608028654 * (y + 0.044715 * y * y * y)
    out = 0.5 * y * (1.0 + libdevice.tanh(inner))
    tl.store(out_ptr + offsets, out, mask=mask)


def triton_affine_gelu(x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor):
    assert x.is_cuda, "Input must be on CUDA."
    x = x.contiguous()
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
    affine_gelu_kernel[grid](x, scale, shift, out, n_elements, x.shape[-1])
    return out


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.scale = nn.Parameter(1.0 + 0.1 * torch.randn(features))
        self.shift = nn.Parameter(torch.randn(features))

    def forward(self, x):
        return triton_affine_gelu(x, self.scale, self.shift)
