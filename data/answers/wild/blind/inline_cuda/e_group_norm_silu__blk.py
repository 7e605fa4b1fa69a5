import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r'''
#include <torch/extension.h>
#include <cuda_runtime.h>

template <int BLOCK>
__device__ float block_sum(float v) {
    __shared__ float partial[BLOCK / 32];
    __shared__ float total;
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    const int lane = threadIdx.x % 32;
    const int wid = threadIdx.x / 32;
    if (lane == 0) partial[wid] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        float t = 0.f;
        for (int i = 0; i < BLOCK / 32; ++i) t += partial[i];
        total = t;
    }
    __syncthreads();
    return total;
}

template <int BLOCK>
__global__ void group_norm_silu_kernel(const float* __restrict__ x, const float* __restrict__ gamma,
                                       const float* __restrict__ beta, float* __restrict__ y,
                                       int C, int HW, int G, float eps) {
    const int g = blockIdx.x % G;
    const int cpg = C / G;
    const int len = cpg * HW;
    const float* xg = x + (size_t)blockIdx.x * len;
    float* yg = y + (size_t)blockIdx.x * len;

    float s = 0.f;
    for (int i = threadIdx.x; i < len; i += BLOCK) s += xg[i];
    const float mean = block_sum<BLOCK>(s) / len;

    float v = 0.f;
    for (int i = threadIdx.x; i < len; i += BLOCK) {
        const float d = xg[i] - mean;
        v += d * d;
    }
    // block_sum starts by writing partial[]; everyone has already read `total` into a register,
    // but a barrier is needed before thread 0 may overwrite it: it comes inside block_sum.
    const float var = block_sum<BLOCK>(v) / len;
    const float rstd = rsqrtf(var + eps);

    for (int i = threadIdx.x; i < len; i += BLOCK) {
        const int c = g * cpg + i / HW;
        float t = (xg[i] - mean) * rstd * gamma[c] + beta[c];
        yg[i] = t / (1.f + __expf(-t));
    }
}

torch::Tensor group_norm_silu(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, int64_t G, double eps) {
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    const int N = x.size(0);
    const int C = x.size(1);
    TORCH_CHECK(C % G == 0, "channels must divide into groups");
    const int HW = x.numel() / ((int64_t)N * C);
    auto y = torch::empty_like(x);
    group_norm_silu_kernel<512><<<N * G, 512>>>(
        x.data_ptr<float>(), gamma.data_ptr<float>(), beta.data_ptr<float>(), y.data_ptr<float>(),
        C, HW, (int)G, (float)eps);
    return y;
}
'''

cpp_source = '''
torch::Tensor group_norm_silu(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, int64_t G, double eps);
'''

gn_ext = load_inline(
    name='gn_silu_ext_e',
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=['group_norm_silu'],
    extra_cuda_cflags=['-O3', '--use_fast_math'],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, num_groups, num_channels):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups, num_channels, eps=1e-5)
        nn.init.normal_(self.gn.weight, 1.0, 0.2)
        nn.init.normal_(self.gn.bias, 0.0, 0.2)

    def forward(self, x):
        return gn_ext.group_norm_silu(x.contiguous(), self.gn.weight, self.gn.bias, self.gn.num_groups, self.gn.eps)
