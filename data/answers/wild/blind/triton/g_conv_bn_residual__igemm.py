import torch
import torch.nn as nn
import triton
import triton.language as tl

# Implicit GEMM:  M = N*H*W output pixels, N = C_out, K = C_in * 9


@triton.jit
def conv3x3_bn_add_relu(
    x_ptr, w_ptr, gamma_ptr, beta_ptr, mean_ptr, var_ptr, y_ptr,
    C, H, W, P, KTOT, eps,
    BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr, BLOCK_K: tl.constexpr,
):
    p = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    co = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    p_ok = p < P
    c_ok = co < C
    HW = H * W
    n = p // HW
    hw = p % HW
    oh = hw // W
    ow = hw % W

    acc = tl.zeros((BLOCK_P, BLOCK_C), dtype=tl.float32)
    for k0 in range(0, KTOT, BLOCK_K):
        k = k0 + tl.arange(0, BLOCK_K)
        k_ok = k < KTOT
        ci = k // 9
        tap = k % 9
        ih = oh[:, None] + (tap // 3)[None, :] - 1
        iw = ow[:, None] + (tap % 3)[None, :] - 1
        ok = p_ok[:, None] & k_ok[None, :] & (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W)
        xin = tl.load(x_ptr + n[:, None] * C * HW + ci[None, :] * HW + ih * W + iw, mask=ok, other=0.0)
        wt = tl.load(w_ptr + co[None, :] * KTOT + k[:, None], mask=c_ok[None, :] & k_ok[:, None], other=0.0)
        acc += tl.dot(xin, wt, allow_tf32=False)

    gamma = tl.load(gamma_ptr + co, mask=c_ok, other=0.0)
    beta = tl.load(beta_ptr + co, mask=c_ok, other=0.0)
    mean = tl.load(mean_ptr + co, mask=c_ok, other=0.0)
    var = tl.load(var_ptr + co, mask=c_ok, other=1.0)
    sc = gamma / tl.sqrt(var + eps)
    sh = beta - mean * sc

    o = n[:, None] * C * HW + co[None, :] * HW + hw[:, None]
    om = p_ok[:, None] & c_ok[None, :]
    res = tl.load(x_ptr + o, mask=om, other=0.0)
    y = acc * sc[None, :] + sh[None, :] + res
    tl.store(y_ptr + o, tl.maximum(y, 0.0), mask=om)


class ModelNew(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.gamma = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.beta = nn.Parameter(0.1 * torch.randn(channels))
        self.register_buffer("running_mean", 0.1 * torch.randn(channels))
        self.register_buffer("running_var", 0.5 + torch.rand(channels))
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        N, C, H, W = x.shape
        y = torch.empty_like(x)
        P = N * H * W
        BP, BC, BK = 64, 32, 32
        grid = (triton.cdiv(P, BP), triton.cdiv(C, BC))
        conv3x3_bn_add_relu[grid](
            x, self.conv.weight.contiguous(), self.gamma, self.beta,
            self.running_mean, self.running_var, y,
            C, H, W, P, C * 9, self.eps,
            BLOCK_P=BP, BLOCK_C=BC, BLOCK_K=BK, num_warps=4, num_stages=2,
        )
        return y
