import os
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

build_dir = os.path.join(os.path.expanduser("~"), ".cache", "ln_gelu_warp_build")
os.makedirs(build_dir, exist_ok=True)

CPP = "torch::Tensor ln_gelu_forward(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps);"

CUDA = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(call)                                                          \
    do {                                                                          \
        cudaError_t err_ = (call);                                                \
        if (err_ != cudaSuccess) {                                                \
            printf("CUDA error %s at %s:%d\n", cudaGetErrorString(err_), __FILE__, __LINE__); \
            TORCH_CHECK(false, "CUDA failure: ", cudaGetErrorString(err_));       \
        }                                                                         \
    } while (0)

constexpr int WARPS = 4;

// one warp per row, 4 rows per block
__global__ void __launch_bounds__(WARPS * 32)
ln_gelu_warp(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
             float* __restrict__ y, int rows, int n, float eps)
{
    const int lane = threadIdx.x;              // blockDim = (32, WARPS)
    const int row = blockIdx.x * WARPS + threadIdx.y;
    if (row >= rows) return;                   // whole warps leave together
    const float* xr = x + (int64_t)row * n;
    float* yr = y + (int64_t)row * n;

    double s = 0.0;
    for (int i = lane; i < n; i += 32) s += xr[i];
    for (int o = 16; o; o /= 2) s += __shfl_xor_sync(0xffffffffu, s, o);
    const float mu = (float)(s / n);

    float v = 0.f;
    for (int i = lane; i < n; i += 32) { float d = xr[i] - mu; v = fmaf(d, d, v); }
    for (int o = 16; o; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
    const float r = rsqrtf(v / n + eps);

    for (int i = lane; i < n; i += 32) {
        float xi = xr[i];
        float h = (xi - mu) * r * __ldg(w + i) + __ldg(b + i);
        yr[i] = xi + h * normcdff(h);
    }
}

torch::Tensor ln_gelu_forward(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps) {
    auto y = torch::empty_like(x);
    int n = (int)x.size(-1);
    int rows = (int)(x.numel() / n);
    dim3 block(32, WARPS);
    ln_gelu_warp<<<(rows + WARPS - 1) / WARPS, block, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), rows, n, (float)eps);
    CUDA_CHECK(cudaGetLastError());
    return y;
}
"""


class ModelNew(nn.Module):
    _ext = None

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.normal_(self.norm.bias, std=0.1)
        if ModelNew._ext is None:
            ModelNew._ext = load_inline(
                name="ln_gelu_warp_ext",
                cpp_sources=[CPP],
                cuda_sources=[CUDA],
                functions=["ln_gelu_forward"],
                build_directory=build_dir,
            )

    def forward(self, x):
        return ModelNew._ext.ln_gelu_forward(x.contiguous(), self.norm.weight, self.norm.bias, self.norm.eps)
