import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def int8_linear_kernel(
    x_ptr, w_ptr, ws_ptr, bias_ptr, out_ptr, q_ptr,
    M, N, K, act_scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SHIFT: tl.constexpr,
):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for k in range(0, K, BLOCK_K):
        rk = k + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0)
        w = tl.load(w_ptr + rn[None, :] * K + rk[:, None], mask=(rn[None, :] < N) & (rk[:, None] < K), other=0)
        acc += tl.dot(x, w, out_dtype=tl.int32)

    ws = tl.load(ws_ptr + rn, mask=rn < N, other=0.0)
    bias = tl.load(bias_ptr + rn, mask=rn < N, other=0.0)
    out = acc.to(tl.float32) * (ws * act_scale)[None, :] + bias[None, :]

    # arithmetic shift, then saturate
    q = acc >> SHIFT
    q = tl.minimum(tl.maximum(q, -128), 127)

    offs = rm[:, None] * N + rn[None, :]
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(out_ptr + offs, out, mask=mask)
    tl.store(q_ptr + offs, q.to(tl.int8), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, act_scale):
        super().__init__()
        self.act_scale = act_scale
        self.register_buffer("weight", torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("weight_scale", torch.rand(out_features) * 0.01 + 0.001)
        self.bias = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        x = x.contiguous()
        M, K = x.shape
        N = self.weight.shape[0]
        out = torch.empty((M, N), device=x.device, dtype=torch.float32)
        q = torch.empty((M, N), device=x.device, dtype=torch.int8)
        grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))
        int8_linear_kernel[grid](x, self.weight, self.weight_scale, self.bias, out, q, M, N, K, self.act_scale,
                                 BLOCK_M=32, BLOCK_N=32, BLOCK_K=64, SHIFT=9)
        return out, q
