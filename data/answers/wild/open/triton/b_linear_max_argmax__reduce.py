import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _better(v1, i1, v2, i2):
    first = (v1 > v2) | ((v1 == v2) & (i1 < i2))
    return tl.where(first, v1, v2), tl.where(first, i1, i2)


@triton.jit
def head_max_kernel(x_ptr, w_ptr, b_ptr, val_ptr, idx_ptr, M, N, K,
                    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    best_v = tl.full((BM,), float("-inf"), tl.float32)
    best_i = tl.zeros((BM,), tl.int32)
    for n0 in range(0, N, BN):
        rn = n0 + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for k0 in range(0, K, BK):
            rk = k0 + tl.arange(0, BK)
            x = tl.load(x_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
            w = tl.load(w_ptr + rn[None, :] * K + rk[:, None], mask=(rn[None, :] < N) & (rk[:, None] < K), other=0.0)
            acc += tl.dot(x, w, input_precision="ieee")
        acc += tl.load(b_ptr + rn, mask=rn < N, other=0.0)[None, :]
        acc = tl.where(rn[None, :] < N, acc, float("-inf"))
        ids = tl.broadcast_to(rn[None, :], (BM, BN))
        v, i = tl.reduce((acc, ids), 1, _better)
        best_v, best_i = _better(best_v, best_i, v, i)
    tl.store(val_ptr + rm, best_v, mask=rm < M)
    tl.store(idx_ptr + rm, best_i.to(tl.int64), mask=rm < M)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, classes: int):
        super().__init__()
        self.fc = nn.Linear(in_features, classes)

    def forward(self, input: torch.Tensor):
        input = input.contiguous()
        M, K = input.shape
        N = self.fc.weight.size(0)
        values = input.new_empty(M)
        indices = torch.empty(M, dtype=torch.long, device=input.device)
        head_max_kernel[(triton.cdiv(M, 16),)](input, self.fc.weight, self.fc.bias, values, indices, M, N, K,
                                               BM=16, BN=32, BK=32)
        return values, indices
