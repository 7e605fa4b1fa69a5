import torch
import torch.nn as nn
import triton
import triton.language as tl

MAJOR = torch.cuda.get_device_capability()[0] if torch.cuda.is_available() else 8
STAGES = 4 if MAJOR >= 8 else 2


@triton.jit
def tile_coords(tile, tiles_n, BM: tl.constexpr, BN: tl.constexpr):
    return (tile // tiles_n) * BM, (tile % tiles_n) * BN


@triton.jit
def persistent_nt(A, B, C, M, N, K, alpha, num_progs,
                  sa, sb, sc,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_n = tl.cdiv(N, BN)
    total = tl.cdiv(M, BM) * tiles_n
    scale = alpha.to(tl.float32)
    for tile in range(tl.program_id(0), total, num_progs):
        m0, n0 = tile_coords(tile, tiles_n, BM, BN)
        rm = m0 + tl.arange(0, BM)
        rn = n0 + tl.arange(0, BN)
        acc = tl.zeros([BM, BN], dtype=tl.float32)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            a = tl.load(A + rm[:, None] * sa + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
            b = tl.load(B + rn[None, :] * sb + rk[:, None], mask=(rn[None, :] < N) & (rk[:, None] < K), other=0.0)
            acc += tl.dot(a, b)
        out = (acc * scale).to(C.dtype.element_ty)
        tl.store(C + rm[:, None] * sc + rn[None, :], out, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, alpha):
        super(ModelNew, self).__init__()
        self.alpha = float(alpha)

    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        M, K = a.shape
        N = b.shape[0]
        c = torch.empty((M, N), dtype=a.dtype, device=a.device)
        num_sms = torch.cuda.get_device_properties(a.device).multi_processor_count
        n_tiles = triton.cdiv(M, 64) * triton.cdiv(N, 32)
        progs = min(num_sms, n_tiles)
        persistent_nt[(progs,)](a, b, c, M, N, K, self.alpha, progs,
                                a.stride(0), b.stride(0), c.stride(0),
                                BM=64, BN=32, BK=32, num_stages=STAGES, num_warps=4)
        return c
