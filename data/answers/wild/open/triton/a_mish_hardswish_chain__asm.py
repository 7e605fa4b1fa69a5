"""
Mish -> affine -> HardSwish -> clamp fused in one pass over memory.

The op is bandwidth bound, so every program processes UNROLL tiles, and the exponential
uses the hardware ex2 instruction directly.
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fast_exp(x):
    return tl.inline_asm_elementwise(
        asm="ex2.approx.ftz.f32 $0, $1;",
        constraints="=f,f",
        args=[x * 1.4426950408889634],
        dtype=tl.float32,
        is_pure=True,
        pack=1,
    )


@triton.jit
def mish(x):
    e = fast_exp(tl.minimum(x, 20.0))
    n = e * (e + 2.0)
    return x * (n / (n + 2.0))


@triton.jit
def hardswish(x):
    return x * tl.clamp(x + 3.0, 0.0, 6.0) * (1.0 / 6.0)


@triton.jit
def mish_hswish_kernel(
    in_ptr,
    out_ptr,
    numel,
    scale,
    shift,
    BLOCK: tl.constexpr,
    UNROLL: tl.constexpr,
):
    start = tl.program_id(0) * (BLOCK * UNROLL)
    for i in tl.static_range(UNROLL):
        idx = start + i * BLOCK + tl.arange(0, BLOCK)
        m = idx < numel
        v = tl.load(in_ptr + idx, mask=m, other=0.0, eviction_policy="evict_first")
        v = mish(v) * scale + shift
        v = hardswish(v)
        v = tl.clamp(v, -0.3, 6.0)
        tl.store(out_ptr + idx, v, mask=m)


class ModelNew(nn.Module):
    def __init__(self, scale: float, shift: float):
        super().__init__()
        self.scale = scale
        self.shift = shift

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        numel = x.numel()
        BLOCK, UNROLL = 512, 4
        grid = (triton.cdiv(numel, BLOCK * UNROLL),)
        mish_hswish_kernel[grid](
            x, y, numel, self.scale, self.shift,
            BLOCK=BLOCK, UNROLL=UNROLL, num_warps=4, num_stages=2,
        )
        return y


if __name__ == "__main__":
    m = ModelNew(1.5, -0.25).cuda()
    print(m(torch.randn(1024, 1024, device="cuda")).shape)
