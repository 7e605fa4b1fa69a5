import torch
import torch.nn as nn
import triton
import triton.language as tl


def _segment_accumulate(x_ptr, idx_ptr, sum_ptr, cnt_ptr, n_rows, D,
                        BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    rmask = rows < n_rows
    seg = tl.load(idx_ptr + rows, mask=rmask, other=0)
    m = rmask[:, None] & (d[None, :] < D)
    x = tl.load(x_ptr + rows[:, None] * D + d[None, :], mask=m, other=0.0)
    tl.atomic_add(sum_ptr + seg[:, None] * D + d[None, :], x, mask=m)
    if tl.program_id(1) == 0:
        ones = tl.full((BLOCK_R,), 1.0, dtype=tl.float32)
        tl.atomic_add(cnt_ptr + seg, ones, mask=rmask)


def _segment_divide(sum_ptr, cnt_ptr, D, BLOCK_D: tl.constexpr):
    s = tl.program_id(0)
    n = tl.maximum(tl.load(cnt_ptr + s), 1.0)
    for d0 in range(0, D, BLOCK_D):
        d = d0 + tl.arange(0, BLOCK_D)
        v = tl.load(sum_ptr + s * D + d, mask=d < D, other=0.0)
        tl.store(sum_ptr + s * D + d, v / n, mask=d < D)


segment_accumulate = triton.autotune(
    configs=[
        triton.Config({"BLOCK_R": 16, "BLOCK_D": 64}, num_warps=4),
        triton.Config({"BLOCK_R": 32, "BLOCK_D": 128}, num_warps=8),
    ],
    key=["n_rows", "D"],
    reset_to_zero=["sum_ptr", "cnt_ptr"],
)(triton.jit(_segment_accumulate))
segment_divide = triton.jit(_segment_divide)


class ModelNew(nn.Module):
    def __init__(self, segments):
        super().__init__()
        self.segments = segments

    def forward(self, x, index):
        x = x.contiguous()
        index = index.contiguous()
        n_rows, D = x.shape
        total = torch.zeros(self.segments, D, dtype=x.dtype, device=x.device)
        count = torch.zeros(self.segments, dtype=x.dtype, device=x.device)
        grid = lambda meta: (triton.cdiv(n_rows, meta["BLOCK_R"]), triton.cdiv(D, meta["BLOCK_D"]))
        segment_accumulate[grid](x, index, total, count, n_rows, D)
        segment_divide[(self.segments,)](total, count, D, BLOCK_D=128)
        return total, count
