import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>
#include <cub/cub.cuh>
#include <ATen/cuda/CUDAContext.h>

template <int BLOCK>
__global__ void ln_gelu_skip_kernel(const float* __restrict__ x,
                                    const float* __restrict__ gamma,
                                    const float* __restrict__ beta,
                                    float* __restrict__ out,
                                    const int n, const float eps) {
    using BlockReduce = cub::BlockReduce<float, BLOCK>;
    __shared__ typename BlockReduce::TempStorage temp;
    __shared__ float s_mean, s_rstd;

    const float* row = x + (long long)blockIdx.x * n;
    float* orow = out + (long long)blockIdx.x * n;

    float sum = 0.f;
    for (int i = threadIdx.x; i < n; i += BLOCK) sum += row[i];
    sum = BlockReduce(temp).Sum(sum);
    if (threadIdx.x == 0) s_mean = sum / n;
    __syncthreads();

    const float mean = s_mean;
    float sq = 0.f;
    for (int i = threadIdx.x; i < n; i += BLOCK) {
        const float d = row[i] - mean;
        sq += d * d;
    }
    sq = BlockReduce(temp).Sum(sq);
    if (threadIdx.x == 0) s_rstd = rsqrtf(sq / n + eps);
    __syncthreads();

    const float rstd = s_rstd;
    for (int i = threadIdx.x; i < n; i += BLOCK) {
        const float v = row[i];
        const float h = (v - mean) * rstd * gamma[i] + beta[i];
        orow[i] = v + 0.5f * h * (1.0f + erff(h * 0.70710678118654752f));
    }
}

torch::Tensor ln_gelu_skip(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    auto xc = x.contiguous();
    auto out = torch::empty_like(xc);
    const int n = xc.size(-1);
    const int rows = xc.numel() / n;
    auto stream = at::cuda::getCurrentCUDAStream();
    if (n <= 256) {
        ln_gelu_skip_kernel<64><<<rows, 64, 0, stream>>>(xc.data_ptr<float>(), gamma.data_ptr<float>(),
            beta.data_ptr<float>(), out.data_ptr<float>(), n, (float)eps);
    } else {
        ln_gelu_skip_kernel<256><<<rows, 256, 0, stream>>>(xc.data_ptr<float>(), gamma.data_ptr<float>(),
            beta.data_ptr<float>(), out.data_ptr<float>(), n, (float)eps);
    }
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("ln_gelu_skip", &ln_gelu_skip, "x + gelu(layer_norm(x))");
}
'''

ext = load_inline(name='ln_gelu_skip_cub', cpp_sources='', cuda_sources=source, verbose=True)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.normal_(self.norm.bias, std=0.1)

    def forward(self, x):
        return ext.ln_gelu_skip(x, self.norm.weight, self.norm.bias, self.norm.eps)
