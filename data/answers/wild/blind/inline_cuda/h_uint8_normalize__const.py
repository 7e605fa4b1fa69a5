import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <stdint.h>

#define MAX_C 64
__constant__ float c_scale[MAX_C];
__constant__ float c_shift[MAX_C];

// thread = one pixel; reads its C bytes, writes C planes (writes are coalesced across the warp)
__global__ void normalize_kernel(const uint8_t* __restrict__ img, float* __restrict__ out,
                                 int HW, int C)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    int n = blockIdx.y;
    if (p < HW) {
        const uint8_t* src = img + ((size_t)n * HW + p) * C;
        float* dst = out + (size_t)n * C * HW + p;
        for (int c = 0; c < C; c++)
            dst[(size_t)c * HW] = (float)src[c] * c_scale[c] + c_shift[c];
    }
}

torch::Tensor normalize_images(torch::Tensor img, torch::Tensor mean, torch::Tensor stdv)
{
    TORCH_CHECK(img.scalar_type() == torch::kUInt8, "expected uint8 images");
    TORCH_CHECK(img.is_contiguous(), "expected contiguous NHWC");
    int N = img.size(0), H = img.size(1), W = img.size(2), C = img.size(3);
    TORCH_CHECK(C <= MAX_C, "too many channels");

    // (v / 255 - mean) / std  =  v * scale + shift
    auto scale = (1.0f / (255.0f * stdv)).contiguous().view({-1});
    auto shift = (-mean / stdv).contiguous().view({-1});
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    cudaMemcpyToSymbolAsync(c_scale, scale.data_ptr<float>(), C * sizeof(float), 0, cudaMemcpyDeviceToDevice, stream);
    cudaMemcpyToSymbolAsync(c_shift, shift.data_ptr<float>(), C * sizeof(float), 0, cudaMemcpyDeviceToDevice, stream);

    auto out = torch::empty({N, C, H, W}, img.options().dtype(torch::kFloat32));
    int HW = H * W;
    dim3 grid((HW + 255) / 256, N);
    normalize_kernel<<<grid, 256, 0, stream>>>(img.data_ptr<uint8_t>(), out.data_ptr<float>(), HW, C);
    return out;
}
"""

cpp_source = "torch::Tensor normalize_images(torch::Tensor img, torch::Tensor mean, torch::Tensor stdv);"

ext = load_inline(name="h_uint8_normalize", cpp_sources=cpp_source, cuda_sources=cuda_source,
                  functions=["normalize_images"], verbose=False)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.register_buffer("mean", torch.linspace(0.4, 0.5, channels).view(1, channels, 1, 1))
        self.register_buffer("std", torch.linspace(0.2, 0.3, channels).view(1, channels, 1, 1))

    def forward(self, img):
        return ext.normalize_images(img.contiguous(), self.mean, self.std)
