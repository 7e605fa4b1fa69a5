import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

conv_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define TS 16
#define CO 8

__global__ __launch_bounds__(TS * TS) void conv_bn_res_relu_kernel(
    const float* __restrict__ x, const float* __restrict__ w,
    const float* __restrict__ gamma, const float* __restrict__ beta,
    const float* __restrict__ mean, const float* __restrict__ var,
    float* __restrict__ y, int C, int H, int W, int tiles_w, float eps)
{
    __shared__ float in_s[TS + 2][TS + 3];
    __shared__ float w_s[CO][9];

    const int tx = threadIdx.x, ty = threadIdx.y, tid = ty * TS + tx;
    const int w0 = (blockIdx.x % tiles_w) * TS;
    const int h0 = (blockIdx.x / tiles_w) * TS;
    const int co0 = blockIdx.y * CO;
    const int n = blockIdx.z;
    const size_t plane = (size_t)H * W;
    const float* xn = x + (size_t)n * C * plane;

    float acc[CO];
    #pragma unroll
    for (int j = 0; j < CO; ++j) acc[j] = 0.f;

    for (int ci = 0; ci < C; ++ci) {
        const float* xc = xn + ci * plane;
        for (int i = tid; i < (TS + 2) * (TS + 2); i += TS * TS) {
            const int r = i / (TS + 2), c = i % (TS + 2);
            const int h = h0 + r - 1, q = w0 + c - 1;
            in_s[r][c] = (h >= 0 && h < H && q >= 0 && q < W) ? xc[(size_t)h * W + q] : 0.f;
        }
        if (tid < CO * 9) {
            const int j = tid / 9, t = tid % 9;
            w_s[j][t] = (co0 + j < C) ? w[((size_t)(co0 + j) * C + ci) * 9 + t] : 0.f;
        }
        __syncthreads();

        float v[9];
        #pragma unroll
        for (int a = 0; a < 3; ++a)
            #pragma unroll
            for (int b = 0; b < 3; ++b) v[a * 3 + b] = in_s[ty + a][tx + b];
        #pragma unroll
        for (int j = 0; j < CO; ++j)
            #pragma unroll
            for (int t = 0; t < 9; ++t) acc[j] = fmaf(v[t], w_s[j][t], acc[j]);
        __syncthreads();
    }

    const int h = h0 + ty, q = w0 + tx;
    if (h >= H || q >= W) return;
    #pragma unroll
    for (int j = 0; j < CO; ++j) {
        const int co = co0 + j;
        if (co < C) {
            const float sc = gamma[co] * rsqrtf(var[co] + eps);
            const size_t o = ((size_t)n * C + co) * plane + (size_t)h * W + q;
            y[o] = fmaxf((acc[j] - mean[co]) * sc + beta[co] + x[o], 0.f);
        }
    }
}

torch::Tensor conv_bn_res_relu(torch::Tensor x, torch::Tensor w, torch::Tensor gamma, torch::Tensor beta,
                               torch::Tensor mean, torch::Tensor var, double eps) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(w.size(2) == 3 && w.size(3) == 3, "3x3 only");
    TORCH_CHECK(w.size(0) == x.size(1) && w.size(1) == x.size(1), "needs C_in == C_out");
    x = x.contiguous();
    w = w.contiguous();
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    auto y = torch::empty_like(x);
    const int tw = (W + TS - 1) / TS, th = (H + TS - 1) / TS;
    dim3 grid(tw * th, (C + CO - 1) / CO, N), block(TS, TS);
    conv_bn_res_relu_kernel<<<grid, block>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), gamma.data_ptr<float>(), beta.data_ptr<float>(),
        mean.data_ptr<float>(), var.data_ptr<float>(), y.data_ptr<float>(), C, H, W, tw, (float)eps);
    return y;
}
"""

conv_cpp = """
torch::Tensor conv_bn_res_relu(torch::Tensor x, torch::Tensor w, torch::Tensor gamma, torch::Tensor beta,
                               torch::Tensor mean, torch::Tensor var, double eps);
"""

ops = load_inline(name="g_conv_bn_res_tile", cpp_sources=conv_cpp, cuda_sources=conv_src,
                  functions=["conv_bn_res_relu"], extra_cuda_cflags=["-O3"])


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
        return ops.conv_bn_res_relu(x, self.conv.weight, self.gamma, self.beta,
                                    self.running_mean, self.running_var, self.eps)
