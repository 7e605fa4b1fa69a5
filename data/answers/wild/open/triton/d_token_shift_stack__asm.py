import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fast_tanh(x):
    # hardware tanh on sm_75+
    return tl.inline_asm_elementwise(
        asm="tanh.approx.f32 $0, $1;",
        constraints="=f,f",
        args=[x],
        dtype=tl.float32,
        is_pure=True,
        pack=1,
    )


@triton.jit
def shift_block_kernel(x_ptr, mix_ptr, y_ptr, S, D, n_elements, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n_elements
    d = offs % D
    t = (offs // D) % S
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    prev = tl.load(x_ptr + offs - D, mask=mask & (t > 0), other=0.0)
    mix = tl.load(mix_ptr + d, mask=mask, other=0.0)
    mixed = prev + mix * (x - prev)
    tl.store(y_ptr + offs, x + 0.1 * fast_tanh(mixed), mask=mask)


class TritonShiftBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.Parameter(torch.rand(dim))

    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        grid = (triton.cdiv(n, 1024),)
        shift_block_kernel[grid](x, self.mix, y, x.shape[1], x.shape[2], n, BLOCK=1024)
        return y


class ModelNew(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.blocks = nn.ModuleList([TritonShiftBlock(dim) for _ in range(depth)])

    def forward(self, x):
        x = x.contiguous()
        for block in self.blocks:
            x = block(x)
        return x
