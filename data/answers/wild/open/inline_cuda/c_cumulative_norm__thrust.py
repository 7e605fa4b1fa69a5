import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <thrust/device_ptr.h>
#include <thrust/scan.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

struct RowOf {
    int T;
    __host__ __device__ int operator()(int i) const { return i / T; }
};

// sums over the channels for every (b, t)
__global__ void frame_sums(const float* __restrict__ x, float* __restrict__ s, float* __restrict__ q, int B, int C, int T) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= B * T) return;
    int b = i / T, t = i % T;
    float a = 0.f, e = 0.f;
    for (int c = 0; c < C; ++c) {
        float v = x[((size_t)b * C + c) * T + t];
        a += v;
        e += v * v;
    }
    s[i] = a;
    q[i] = e;
}

__global__ void apply(const float* __restrict__ x, const float* __restrict__ cs, const float* __restrict__ cq,
                      const float* __restrict__ gamma, const float* __restrict__ beta, float* __restrict__ y,
                      int total, int C, int T, float eps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int t = i % T, c = (i / T) % C, b = i / (T * C);
    float n = (float)C * (float)(t + 1);
    float mean = cs[b * T + t] / n;
    float var = fmaxf(cq[b * T + t] / n - mean * mean, 0.f);
    y[i] = (x[i] - mean) / sqrtf(var + eps) * gamma[c] + beta[c];
}

torch::Tensor cumulative_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps) {
    TORCH_CHECK(x.dim() == 3 && x.is_contiguous() && x.is_cuda());
    const int B = x.size(0), C = x.size(1), T = x.size(2);
    auto tmp = torch::empty({4, B, T}, x.options());
    float* s = tmp.data_ptr<float>();
    float* q = s + (size_t)B * T;
    float* cs = q + (size_t)B * T;
    float* cq = cs + (size_t)B * T;
    cudaStream_t stream = at::cuda::getCurrentCUDAStream().stream();
    frame_sums<<<(B * T + 127) / 128, 128, 0, stream>>>(x.data_ptr<float>(), s, q, B, C, T);

    auto keys = thrust::make_transform_iterator(thrust::make_counting_iterator(0), RowOf{T});
    auto policy = thrust::cuda::par.on(stream);
    thrust::inclusive_scan_by_key(policy, keys, keys + B * T, thrust::device_pointer_cast(s), thrust::device_pointer_cast(cs));
    thrust::inclusive_scan_by_key(policy, keys, keys + B * T, thrust::device_pointer_cast(q), thrust::device_pointer_cast(cq));

    auto y = torch::empty_like(x);
    const int total = x.numel();
    apply<<<(total + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), cs, cq, gamma.data_ptr<float>(),
                                                   beta.data_ptr<float>(), y.data_ptr<float>(), total, C, T, (float)eps);
    return y;
}
"""

ext = load_inline(
    name="cumulative_norm_thrust",
    cpp_sources="torch::Tensor cumulative_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps);",
    cuda_sources=src,
    functions=["cumulative_norm"],
    with_cuda=True,
)


class ModelNew(nn.Module):
    def __init__(self, channels, eps=1e-3):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.rand(channels, 1) + 0.5)
        self.beta = nn.Parameter(torch.randn(channels, 1) * 0.1)

    def forward(self, x):
        return ext.cumulative_norm(x.contiguous(), self.gamma, self.beta, self.eps)
