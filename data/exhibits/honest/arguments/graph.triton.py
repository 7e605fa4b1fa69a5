# verdict: correct ok
# Captures once, and replays on copies of the inputs.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def both(a, b, dst, count, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = place < count
    x = tl.maximum(tl.load(a + place, mask=mask), 0.0)
    tl.store(dst + place, x + 0.5 * tl.load(b + place, mask=mask), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x, y):
        if self.graph is None:
            self.x, self.y, self.out = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                grid = (triton.cdiv(x.numel(), 256),)
                both[grid](self.x, self.y, self.out, x.numel(), BLOCK=256)
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()
        return self.out.clone()
