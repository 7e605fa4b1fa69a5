import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def bmm_kernel(A, B, C, M, N, K,
               sab, sam, sak, sbb, sbn, sbk, scb, scm, scn,
               alpha,
               BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP_M: tl.constexpr):
    pid = tl.program_id(axis=0)
    batch = tl.program_id(axis=1)
    num_pid_m = tl.cdiv(M, BM)
    num_pid_n = tl.cdiv(N, BN)
    num_pid_in_group = GROUP_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m

    offs_m = (pid_m * BM + tl.arange(0, BM)) % M
    offs_n = (pid_n * BN + tl.arange(0, BN)) % N
    offs_k = tl.arange(0, BK)
    a_ptrs = A + batch * sab + offs_m[:, None] * sam + offs_k[None, :] * sak
    b_ptrs = B + batch * sbb + offs_k[:, None] * sbk + offs_n[None, :] * sbn

    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BK, other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    c = (acc * alpha).to(C.dtype.element_ty)

    offs_cm = pid_m * BM + tl.arange(0, BM)
    offs_cn = pid_n * BN + tl.arange(0, BN)
    c_ptrs = C + batch * scb + offs_cm[:, None] * scm + offs_cn[None, :] * scn
    tl.store(c_ptrs, c, mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


def bmm_nt(a, b, alpha=1.0):
    """alpha * a @ b^T for a [B, M, K], b [B, N, K]"""
    assert a.dim() == 3 and b.dim() == 3
    assert a.shape[0] == b.shape[0] and a.shape[2] == b.shape[2], "Incompatible dimensions"
    Z, M, K = a.shape
    N = b.shape[1]
    c = torch.empty(Z, M, N, device=a.device, dtype=a.dtype)
    BM, BN, BK = 64, 64, 32
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN), Z)
    bmm_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), alpha,
                     BM=BM, BN=BN, BK=BK, GROUP_M=8, num_warps=4, num_stages=3)
    return c


class ModelNew(nn.Module):
    def __init__(self, scale):
        super(ModelNew, self).__init__()
        self.scale = scale

    def forward(self, a, b):
        return bmm_nt(a, b, self.scale)


if __name__ == "__main__":
    m = ModelNew(0.125).cuda()
    a = torch.randn(4, 80, 72, device="cuda", dtype=torch.half)
    b = torch.randn(4, 112, 72, device="cuda", dtype=torch.half)
    ref = torch.bmm(a, b.transpose(1, 2)) * 0.125
    print((m(a, b) - ref).abs().max())
