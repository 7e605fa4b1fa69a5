# problem: linear_relu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x):
    return tl.where(x > 0, x, 0.0)


@triton.jit
def tile(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    pid_m, pid_n = pid // tiles_n, pid % tiles_n
    return tl.swizzle2d(pid_m, pid_n, tiles_m, tiles_n, GROUP)


@triton.jit
def persistent(
    x_ptr, w_ptr, b_ptr, out_ptr, M, N, K, scale,
    ACTIVATION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr,
):
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for pid in range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS):
        pid_m, pid_n = tile(pid, tiles_m, tiles_n, GROUP=2)
        rows = (pid_m * BM + tl.arange(0, BM))[:, None]
        cols = (pid_n * BN + tl.arange(0, BN))[None, :]
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for start in tl.range(0, K, BK):
            k = start + tl.arange(0, BK)
            x = tl.load(x_ptr + rows * K + k[None, :], mask=(rows < M) & (k[None, :] < K), other=0.0)
            w = tl.load(w_ptr + cols * K + k[:, None], mask=(cols < N) & (k[:, None] < K), other=0.0)
            acc = tl.dot(x, w, acc, input_precision="ieee")
        acc += tl.load(b_ptr + cols, mask=cols < N, other=0.0)
        if ACTIVATION is not None:
            acc = ACTIVATION(acc)
        tl.store(out_ptr + rows * N + cols, acc * scale, mask=(rows < M) & (cols < N))


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 32)

    def forward(self, x, scale):
        (m, k), n = x.shape, self.linear.weight.shape[0]
        out = torch.empty((m, n), device=x.device, dtype=x.dtype)
        persistent[(4,)](
            x, self.linear.weight, self.linear.bias, out, m, n, k, scale,
            ACTIVATION=relu, BM=16, BN=16, BK=32, PROGRAMS=4, num_warps=2, num_stages=3,
        )
        return out
