import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <vector>

#define WARP_SIZE 32
#define FULL_MASK 0xffffffff

template <typename T>
__inline__ __device__ T warpReduceSum(T val) {
    #pragma unroll
    for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2)
        val += __shfl_down_sync(FULL_MASK, val, offset);
    return val;
}

__inline__ __device__ float blockReduceSum(float val) {
    static __shared__ float shared[WARP_SIZE];
    int lane = threadIdx.x % WARP_SIZE;
    int wid = threadIdx.x / WARP_SIZE;
    val = warpReduceSum(val);
    if (lane == 0) shared[wid] = val;
    __syncthreads();
    val = (threadIdx.x < blockDim.x / WARP_SIZE) ? shared[lane] : 0.0f;
    if (wid == 0) val = warpReduceSum(val);
    return val;
}

template <typename scalar_t>
__global__ void add_rms_norm_kernel(
    const scalar_t* __restrict__ x,
    const scalar_t* __restrict__ residual,
    const scalar_t* __restrict__ weight,
    scalar_t* __restrict__ y,
    scalar_t* __restrict__ s,
    const int dim,
    const float eps) {
    __shared__ float inv_rms;
    const int64_t base = (int64_t)blockIdx.x * dim;

    float sum_sq = 0.0f;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        float v = static_cast<float>(x[base + i]) + static_cast<float>(residual[base + i]);
        s[base + i] = static_cast<scalar_t>(v);
        sum_sq += v * v;
    }
    sum_sq = blockReduceSum(sum_sq);
    if (threadIdx.x == 0) {
        inv_rms = rsqrtf(sum_sq / dim + eps);
    }
    __syncthreads();

    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        y[base + i] = static_cast<scalar_t>(static_cast<float>(s[base + i]) * inv_rms * static_cast<float>(weight[i]));
    }
}

std::vector<torch::Tensor> add_rms_norm_cuda(torch::Tensor x, torch::Tensor residual, torch::Tensor weight, double eps) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(residual.is_cuda(), "residual must be a CUDA tensor");
    x = x.contiguous();
    residual = residual.contiguous();
    auto y = torch::empty_like(x);
    auto s = torch::empty_like(x);
    const int dim = x.size(-1);
    const int rows = x.numel() / dim;
    const int threads = 256;
    auto stream = c10::cuda::getCurrentCUDAStream();
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "add_rms_norm_cuda", ([&] {
        add_rms_norm_kernel<scalar_t><<<rows, threads, 0, stream>>>(
            x.data_ptr<scalar_t>(), residual.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(),
            y.data_ptr<scalar_t>(), s.data_ptr<scalar_t>(), dim, static_cast<float>(eps));
    }));
    return {y, s};
}
'''

cpp_source = '''
#include <torch/extension.h>
#include <vector>
std::vector<torch::Tensor> add_rms_norm_cuda(torch::Tensor x, torch::Tensor residual, torch::Tensor weight, double eps);
'''

add_rms_norm = load_inline(
    name='add_rms_norm',
    cpp_sources=[cpp_source],
    cuda_sources=[cuda_source],
    functions=['add_rms_norm_cuda'],
    extra_cuda_cflags=['-O3', '--use_fast_math'],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(dim))

    def forward(self, x, residual):
        y, s = add_rms_norm.add_rms_norm_cuda(x, residual, self.weight, self.eps)
        return y, s
