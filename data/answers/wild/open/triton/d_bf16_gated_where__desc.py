import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


def _set_block(nargs):
    block = [nargs["BLOCK"]]
    for name in ("x_desc", "g_desc", "o_desc"):
        nargs[name].block_shape = block


@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=4, pre_hook=_set_block) for b in (1024, 2048)],
    key=["n"],
)
@triton.jit
def gated_where_kernel(x_desc, g_desc, o_desc, mask_ptr, leak_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    offs = start + tl.arange(0, BLOCK)
    x = x_desc.load([start]).to(tl.float32)
    g = g_desc.load([start]).to(tl.float32)
    keep = tl.load(mask_ptr + offs, mask=offs < n, other=0) != 0
    leak = tl.load(leak_ptr).to(tl.float32)
    y = tl.where(keep, x * tl.sigmoid(g), x * leak)
    o_desc.store([start], y.to(tl.bfloat16))


class ModelNew(nn.Module):
    """Flat 1-D tensor descriptors for the bf16 streams, plain pointers for the mask."""

    def __init__(self, leak):
        super().__init__()
        self.register_buffer("leak", torch.tensor(leak))

    def forward(self, x, gate, mask):
        x, gate, mask = x.contiguous(), gate.contiguous(), mask.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        dummy = [1]
        x_desc = TensorDescriptor(x.view(-1), [n], [1], dummy)
        g_desc = TensorDescriptor(gate.view(-1), [n], [1], dummy)
        o_desc = TensorDescriptor(out.view(-1), [n], [1], dummy)
        grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
        gated_where_kernel[grid](x_desc, g_desc, o_desc, mask.view(torch.int8), self.leak, n)
        return out
