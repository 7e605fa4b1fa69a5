import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Step 1 folds the BN statistics into (scale, shift); step 2 is a pure streaming kernel.
cuda_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void fold_kernel(const float* mean, const float* var, const float* w, const float* b,
                            float* scale, float* shift, int C, float eps) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < C) {
        float s = w[c] / sqrtf(var[c] + eps);
        scale[c] = s;
        shift[c] = b[c] - mean[c] * s;
    }
}

__global__ void apply_kernel(const float* __restrict__ x, const float* __restrict__ skip,
                             const float* __restrict__ scale, const float* __restrict__ shift,
                             float* __restrict__ out, int C, int HW) {
    // blockIdx.y enumerates (n, c) planes
    const int nc = blockIdx.y;
    const int c = nc % C;
    const float a = scale[c];
    const float b = shift[c];
    const size_t base = (size_t)nc * HW;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < HW; i += gridDim.x * blockDim.x) {
        float z = fmaf(x[base + i], a, b) + skip[base + i];
        float t = fminf(fmaxf(z + 3.0f, 0.0f), 6.0f);
        out[base + i] = z * t * (1.0f / 6.0f);
    }
}

torch::Tensor bn_skip_hswish(torch::Tensor x, torch::Tensor skip, torch::Tensor mean, torch::Tensor var,
                             torch::Tensor w, torch::Tensor b, double eps) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.is_contiguous() && skip.is_contiguous(), "inputs must be contiguous");
    const int N = x.size(0);
    const int C = x.size(1);
    const int HW = x.size(2) * x.size(3);
    TORCH_CHECK((long)N * C <= 65535, "too many planes for gridDim.y");
    auto scale = torch::empty({C}, x.options());
    auto shift = torch::empty({C}, x.options());
    auto out = torch::empty_like(x);
    fold_kernel<<<(C + 127) / 128, 128>>>(mean.data_ptr<float>(), var.data_ptr<float>(),
        w.data_ptr<float>(), b.data_ptr<float>(), scale.data_ptr<float>(), shift.data_ptr<float>(), C, (float)eps);
    dim3 grid((HW + 255) / 256, N * C);
    apply_kernel<<<grid, 256>>>(x.data_ptr<float>(), skip.data_ptr<float>(), scale.data_ptr<float>(),
        shift.data_ptr<float>(), out.data_ptr<float>(), C, HW);
    return out;
}
"""

cpp_source = """
torch::Tensor bn_skip_hswish(torch::Tensor x, torch::Tensor skip, torch::Tensor mean, torch::Tensor var,
                             torch::Tensor w, torch::Tensor b, double eps);
"""

bn_ext = load_inline(name="h_bn_skip_hswish", cpp_sources=cpp_source, cuda_sources=cuda_source,
                     functions=["bn_skip_hswish"], verbose=False)


class ModelNew(nn.Module):
    def __init__(self, channels: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)
        self.register_buffer("running_mean", torch.randn(channels) * 0.2)
        self.register_buffer("running_var", torch.rand(channels) + 0.3)

    def forward(self, x: torch.Tensor, skip: torch.Tensor) -> torch.Tensor:
        return bn_ext.bn_skip_hswish(x.contiguous(), skip.contiguous(), self.running_mean,
                                     self.running_var, self.weight, self.bias, self.eps)
