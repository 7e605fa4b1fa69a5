import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

# The two GEMMs stay in cuBLAS. LayerNorm, bias+GELU and bias+residual are custom fused kernels.
cuda_src = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void layer_norm_kernel(const float* __restrict__ x, const float* __restrict__ w,
                                  const float* __restrict__ b, float* __restrict__ y, int rows, int D, float eps) {
    // a warp for each row
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* xr = x + (size_t)row * D;
    float sum = 0.0f;
    for (int i = lane; i < D; i += 32) sum += xr[i];
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffff, sum, o);
    float mean = sum / D;
    float sq = 0.0f;
    for (int i = lane; i < D; i += 32) {
        float d = xr[i] - mean;
        sq += d * d;
    }
    for (int o = 16; o > 0; o /= 2) sq += __shfl_xor_sync(0xffffffff, sq, o);
    float rstd = rsqrtf(sq / D + eps);
    for (int i = lane; i < D; i += 32) y[(size_t)row * D + i] = (xr[i] - mean) * rstd * w[i] + b[i];
}

__global__ void bias_gelu_kernel(float* __restrict__ h, const float* __restrict__ bias, int n, int D) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = h[i] + bias[i % D];
        h[i] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
    }
}

__global__ void bias_residual_kernel(float* __restrict__ y, const float* __restrict__ bias,
                                     const float* __restrict__ x, int n, int D) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + y[i] + bias[i % D];
}

torch::Tensor layer_norm_fwd(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps) {
    auto y = torch::empty_like(x);
    int D = x.size(-1);
    int rows = x.numel() / D;
    const int warps = 4;
    layer_norm_kernel<<<(rows + warps - 1) / warps, warps * 32>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), rows, D, (float)eps);
    return y;
}

void bias_gelu_(torch::Tensor h, torch::Tensor bias) {
    int n = h.numel();
    bias_gelu_kernel<<<(n + 255) / 256, 256>>>(h.data_ptr<float>(), bias.data_ptr<float>(), n, h.size(-1));
}

void bias_residual_(torch::Tensor y, torch::Tensor bias, torch::Tensor x) {
    int n = y.numel();
    bias_residual_kernel<<<(n + 255) / 256, 256>>>(
        y.data_ptr<float>(), bias.data_ptr<float>(), x.data_ptr<float>(), n, y.size(-1));
}
"""

cpp_src = """
torch::Tensor layer_norm_fwd(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps);
void bias_gelu_(torch::Tensor h, torch::Tensor bias);
void bias_residual_(torch::Tensor y, torch::Tensor bias, torch::Tensor x);
"""

ops = load_inline(
    name="prenorm_mlp_ops",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["layer_norm_fwd", "bias_gelu_", "bias_residual_"],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x):
        x = x.contiguous()
        with torch.no_grad():
            h = ops.layer_norm_fwd(x, self.norm.weight, self.norm.bias, self.norm.eps)
            h = torch.matmul(h, self.fc1.weight.t())
            ops.bias_gelu_(h, self.fc1.bias)
            y = torch.matmul(h, self.fc2.weight.t())
            ops.bias_residual_(y, self.fc2.bias, x)
        return y
