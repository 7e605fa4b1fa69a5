import torch
import torch.nn as nn
import torch.utils.cpp_extension

group_norm_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

// Kernel 1: mean / rstd for every (n, group)
__global__ void gn_stats_kernel(const float* __restrict__ x, float* __restrict__ mean, float* __restrict__ rstd,
                                int group_size, float eps) {
    __shared__ float s_sum[256];
    __shared__ float s_sq[256];
    const float* p = x + (long long)blockIdx.x * group_size;
    float sum = 0.0f, sq = 0.0f;
    for (int i = threadIdx.x; i < group_size; i += blockDim.x) {
        float v = p[i];
        sum += v;
        sq += v * v;
    }
    s_sum[threadIdx.x] = sum;
    s_sq[threadIdx.x] = sq;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            s_sum[threadIdx.x] += s_sum[threadIdx.x + s];
            s_sq[threadIdx.x] += s_sq[threadIdx.x + s];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        float m = s_sum[0] / group_size;
        float var = fmaxf(s_sq[0] / group_size - m * m, 0.0f);
        mean[blockIdx.x] = m;
        rstd[blockIdx.x] = rsqrtf(var + eps);
    }
}

// Kernel 2: normalize + affine + silu
__global__ void gn_apply_kernel(const float* __restrict__ x, const float* __restrict__ mean, const float* __restrict__ rstd,
                                const float* __restrict__ gamma, const float* __restrict__ beta, float* __restrict__ y,
                                int total, int C, int HW, int cpg) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    int nc = idx / HW;
    int c = nc % C;
    int ng = nc / cpg;   // C is a multiple of cpg, so this is n * G + g
    float v = (x[idx] - mean[ng]) * rstd[ng] * gamma[c] + beta[c];
    y[idx] = v / (1.0f + expf(-v));
}

torch::Tensor group_norm_silu(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, int64_t groups, double eps) {
    x = x.contiguous();
    int N = x.size(0), C = x.size(1);
    int HW = x.numel() / (N * C);
    int cpg = C / groups;
    auto mean = torch::empty({N * groups}, x.options());
    auto rstd = torch::empty({N * groups}, x.options());
    auto y = torch::empty_like(x);
    gn_stats_kernel<<<N * groups, 256>>>(x.data_ptr<float>(), mean.data_ptr<float>(), rstd.data_ptr<float>(), cpg * HW, (float)eps);
    int total = x.numel();
    gn_apply_kernel<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), mean.data_ptr<float>(), rstd.data_ptr<float>(),
        gamma.data_ptr<float>(), beta.data_ptr<float>(), y.data_ptr<float>(), total, C, HW, cpg);
    return y;
}
"""

group_norm_cpp = "torch::Tensor group_norm_silu(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, int64_t groups, double eps);"

gn_module = torch.utils.cpp_extension.load_inline(
    name="group_norm_silu_module",
    cpp_sources=group_norm_cpp,
    cuda_sources=group_norm_source,
    functions=["group_norm_silu"],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self, num_groups, num_channels):
        super(ModelNew, self).__init__()
        self.gn = nn.GroupNorm(num_groups, num_channels, eps=1e-5)

    def forward(self, x):
        return gn_module.group_norm_silu(x, self.gn.weight, self.gn.bias, self.gn.num_groups, self.gn.eps)
