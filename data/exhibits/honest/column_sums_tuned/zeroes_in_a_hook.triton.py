# verdict: correct ok
# A hook of each configuration zeroes the sums.
import torch
import torch.nn as nn
import triton
import triton.language as tl


def zeroed(given):
    given["out"].zero_()


CONFIGS = [
    triton.Config({"ROWS": 32}, pre_hook=zeroed),
    triton.Config({"ROWS": 64}, pre_hook=zeroed),
]


@triton.autotune(CONFIGS, key=["n"])
@triton.jit
def run(x, out, n, C: tl.constexpr, CB: tl.constexpr, ROWS: tl.constexpr):
    rows, cols = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, CB)
    inside = (rows[:, None] < n) & (cols[None, :] < C)
    part = tl.sum(tl.load(x + rows[:, None] * C + cols[None, :], mask=inside, other=0.0), 0)
    tl.atomic_add(out + cols, part, mask=cols < C)


class ModelNew(nn.Module):
    def forward(self, x):
        n, c = x.shape
        out = torch.zeros(c, device=x.device)
        run[lambda meta: (triton.cdiv(n, meta["ROWS"]),)](x, out, n, c, triton.next_power_of_2(c))
        return out
