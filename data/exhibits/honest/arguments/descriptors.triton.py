# verdict: correct ok
# Reads and writes tiles by descriptors that the host makes.
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def both(x, y, out, R: tl.constexpr, C: tl.constexpr):
    at = [tl.program_id(0) * R, tl.program_id(1) * C]
    out.store(at, tl.maximum(x.load(at), 0.0) + 0.5 * y.load(at))


class ModelNew(nn.Module):
    def forward(self, x, y):
        rows, columns = x.shape
        wide = triton.cdiv(columns, 4) * 4  # rows of a descriptor are of 16 bytes each
        tiles = [torch.zeros((rows, wide), device=x.device) for _ in range(3)]
        tiles[0][:, :columns] = x
        tiles[1][:, :columns] = y
        grid = (triton.cdiv(rows, 16), triton.cdiv(wide, 32))
        both[grid](*(TensorDescriptor.from_tensor(one, [16, 32]) for one in tiles), R=16, C=32)
        return tiles[2][:, :columns].contiguous()
