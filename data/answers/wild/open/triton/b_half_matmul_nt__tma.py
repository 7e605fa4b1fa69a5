import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def matmul_nt_desc_kernel(a_desc, b_desc, c_desc, K, alpha,
                          BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    off_m = tl.program_id(0) * BLOCK_M
    off_n = tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = a_desc.load([off_m, k])
        b = b_desc.load([off_n, k])
        acc = tl.dot(a, b.T, acc)
    c_desc.store([off_m, off_n], (acc * alpha).to(tl.float16))


def _pad_inner(t, multiple=8):
    """Descriptors need 16 byte aligned rows."""
    extra = -t.shape[-1] % multiple
    return F.pad(t, (0, extra)) if extra else t.contiguous()


class ModelNew(nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = float(alpha)

    def forward(self, a, b):
        M, N = a.shape[0], b.shape[0]
        a = _pad_inner(a)
        b = _pad_inner(b)
        K = a.shape[1]
        n_pad = (N + 7) // 8 * 8
        c = torch.empty((M, n_pad), device=a.device, dtype=torch.float16)[:, :N]
        BLOCK_M, BLOCK_N, BLOCK_K = 64, 64, 64
        a_desc = TensorDescriptor(a, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
        b_desc = TensorDescriptor(b, [N, K], [K, 1], [BLOCK_N, BLOCK_K])
        c_desc = TensorDescriptor(c, [M, N], [n_pad, 1], [BLOCK_M, BLOCK_N])
        grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
        matmul_nt_desc_kernel[grid](a_desc, b_desc, c_desc, K, self.alpha,
                                    BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, num_warps=4)
        return c.contiguous()
