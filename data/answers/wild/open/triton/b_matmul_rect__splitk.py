import torch, triton
import torch.nn as nn
import triton.language as tl

# Small output, moderate K: split the reduction so that more SMs are busy.


@triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 32, "BK": 32, "SPLIT_K": 1}, num_warps=2),
        triton.Config({"BM": 32, "BN": 32, "BK": 32, "SPLIT_K": 2}, num_warps=2),
        triton.Config({"BM": 64, "BN": 32, "BK": 16, "SPLIT_K": 4}, num_warps=4),
    ],
    key=["M", "N", "K"],
    reset_to_zero=["c_ptr"],
)
@triton.jit
def _splitk_mm(a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
               BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT_K: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    pk = tl.program_id(2)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for k0 in range(pk * BK, K, BK * SPLIT_K):
        rk = k0 + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * sam + rk[None, :] * sak,
                    mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.)
        b = tl.load(b_ptr + rk[:, None] * sbk + rn[None, :] * sbn,
                    mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.)
        acc += tl.dot(a, b, input_precision="ieee")
    ptrs = c_ptr + rm[:, None] * scm + rn[None, :] * scn
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    if SPLIT_K == 1:
        tl.store(ptrs, acc, mask=mask)
    else:
        tl.atomic_add(ptrs, acc, mask=mask, sem="relaxed")


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        M, K = A.shape
        N = B.shape[1]
        # the atomics need a zeroed output
        C = torch.zeros((M, N), device=A.device, dtype=torch.float32)
        grid = lambda m: (triton.cdiv(M, m["BM"]), triton.cdiv(N, m["BN"]), m["SPLIT_K"])
        _splitk_mm[grid](A, B, C, M, N, K,
                         A.stride(0), A.stride(1), B.stride(0), B.stride(1), C.stride(0), C.stride(1))
        return C
