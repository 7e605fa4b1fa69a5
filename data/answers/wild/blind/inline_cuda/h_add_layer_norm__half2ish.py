import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_code = r'''
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <ATen/cuda/CUDAContext.h>

template <int BLOCK>
__device__ float block_sum(float v) {
    constexpr int NW = BLOCK / 32;
    __shared__ float buf[NW];
    const int lane = threadIdx.x % 32, wid = threadIdx.x / 32;
    #pragma unroll
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    __syncthreads();              // buf may still be read from an earlier call
    if (lane == 0) buf[wid] = v;
    __syncthreads();
    float t = 0.f;
    #pragma unroll
    for (int i = 0; i < NW; ++i) t += buf[i];
    return t;
}

template <int BLOCK>
__global__ void add_layer_norm_kernel(const __half* __restrict__ x, const __half* __restrict__ r,
                                      const __half* __restrict__ w, const __half* __restrict__ b,
                                      __half* __restrict__ y, __half* __restrict__ h,
                                      int D, float eps) {
    extern __shared__ float row_buf[];    // D floats
    const size_t base = (size_t)blockIdx.x * D;
    float s = 0.f;
    for (int i = threadIdx.x; i < D; i += BLOCK) {
        const __half hv = __float2half(__half2float(x[base + i]) + __half2float(r[base + i]));
        h[base + i] = hv;
        const float f = __half2float(hv);
        row_buf[i] = f;                   // read again by this same thread only
        s += f;
    }
    const float mean = block_sum<BLOCK>(s) / D;
    float q = 0.f;
    for (int i = threadIdx.x; i < D; i += BLOCK) {
        const float d = row_buf[i] - mean;
        q += d * d;
    }
    const float rstd = rsqrtf(block_sum<BLOCK>(q) / D + eps);
    for (int i = threadIdx.x; i < D; i += BLOCK) {
        const float v = (row_buf[i] - mean) * rstd * __half2float(w[i]) + __half2float(b[i]);
        y[base + i] = __float2half(v);
    }
}

std::vector<torch::Tensor> add_layer_norm(torch::Tensor x, torch::Tensor r, torch::Tensor w, torch::Tensor b, double eps) {
    TORCH_CHECK(x.scalar_type() == torch::kHalf && r.scalar_type() == torch::kHalf, "expected half tensors");
    TORCH_CHECK(x.sizes() == r.sizes(), "x and residual differ in shape");
    x = x.contiguous(); r = r.contiguous();
    const int D = x.size(-1);
    const int rows = x.numel() / D;
    TORCH_CHECK(D * sizeof(float) <= 40 * 1024, "hidden size too large for shared memory");
    auto y = torch::empty_like(x);
    auto h = torch::empty_like(x);
    constexpr int BLOCK = 128;
    auto p = [](torch::Tensor& t) { return reinterpret_cast<__half*>(t.data_ptr<at::Half>()); };
    add_layer_norm_kernel<BLOCK><<<rows, BLOCK, D * sizeof(float), at::cuda::getCurrentCUDAStream()>>>(
        p(x), p(r), p(w), p(b), p(y), p(h), D, (float)eps);
    return {y, h};
}
'''

cpp_code = '''
#include <vector>
std::vector<torch::Tensor> add_layer_norm(torch::Tensor x, torch::Tensor r, torch::Tensor w, torch::Tensor b, double eps);
'''

ext = load_inline(name='h_add_layer_norm_cuda', cpp_sources=cpp_code, cuda_sources=cuda_code,
                  functions=['add_layer_norm'], extra_cuda_cflags=['-O3', '--use_fast_math'])


class ModelNew(nn.Module):
    def __init__(self, hidden, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter((1.0 + 0.2 * torch.randn(hidden)).half())
        self.bias = nn.Parameter((0.1 * torch.randn(hidden)).half())

    def forward(self, x, residual):
        out, h = ext.add_layer_norm(x, residual, self.weight, self.bias, self.eps)
        return out, h
