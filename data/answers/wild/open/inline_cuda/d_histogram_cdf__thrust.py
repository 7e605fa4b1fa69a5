import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

hist_cuda = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/scan.h>
#include <vector>

typedef unsigned long long u64;

// privatised histogram in shared memory, merged with one atomic a bin
__global__ void hist_shared(const int64_t* __restrict__ x, u64* __restrict__ counts, int64_t n, int bins) {
    extern __shared__ unsigned int local[];
    for (int i = threadIdx.x; i < bins; i += blockDim.x) local[i] = 0u;
    __syncthreads();
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        atomicAdd(&local[x[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        if (local[i]) atomicAdd(&counts[i], (u64)local[i]);
}

__global__ void hist_global(const int64_t* __restrict__ x, u64* __restrict__ counts, int64_t n) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        atomicAdd(&counts[x[i]], 1ULL);
}

__global__ void to_share(const int64_t* __restrict__ running, float* __restrict__ cdf, int bins, float n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < bins) cdf[i] = (float)running[i] / n;
}

std::vector<torch::Tensor> histogram_cdf(torch::Tensor x, int64_t bins) {
    TORCH_CHECK(x.scalar_type() == torch::kInt64, "int64 values expected");
    TORCH_CHECK(x.is_contiguous());
    auto counts = torch::zeros({bins}, x.options());
    auto running = torch::empty({bins}, x.options());
    auto cdf = torch::empty({bins}, x.options().dtype(torch::kFloat32));
    const int64_t n = x.numel();
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    const int threads = 256;
    const int blocks = (int)std::max<int64_t>(1, std::min<int64_t>((n + threads - 1) / threads, 128));
    u64* cp = reinterpret_cast<u64*>(counts.data_ptr<int64_t>());
    const size_t smem = bins * sizeof(unsigned int);
    if (smem <= 48 * 1024)
        hist_shared<<<blocks, threads, smem, stream>>>(x.data_ptr<int64_t>(), cp, n, (int)bins);
    else
        hist_global<<<blocks, threads, 0, stream>>>(x.data_ptr<int64_t>(), cp, n);

    thrust::device_ptr<int64_t> first(counts.data_ptr<int64_t>());
    thrust::device_ptr<int64_t> result(running.data_ptr<int64_t>());
    thrust::inclusive_scan(thrust::cuda::par.on(stream), first, first + bins, result);

    to_share<<<((int)bins + 127) / 128, 128, 0, stream>>>(
        running.data_ptr<int64_t>(), cdf.data_ptr<float>(), (int)bins, (float)n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return {counts, cdf};
}
"""

hist_ext = load_inline(
    name="histogram_cdf_ext",
    cpp_sources="std::vector<torch::Tensor> histogram_cdf(torch::Tensor x, int64_t bins);",
    cuda_sources=hist_cuda,
    functions=["histogram_cdf"],
)


class ModelNew(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.bins = bins

    def forward(self, x):
        # the values are known to lie in [0, bins)
        counts, cdf = hist_ext.histogram_cdf(x.contiguous(), self.bins)
        return counts, cdf
