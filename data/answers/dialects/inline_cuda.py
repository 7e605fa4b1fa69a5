import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <ATen/cuda/CUDAContext.h>
#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be on the GPU")

__global__ void f(const float* x, const float* w, const float* b, float* out,
                  int n, int k, int m, float scale) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= n * m) return;
  float s = b[at % m];
  for (int l = 0; l < k; ++l) s = fmaf(x[at / m * k + l], w[at % m * k + l], s);
  out[at] = fmaxf(s, 0.f) * scale;
}

torch::Tensor fused(torch::Tensor x, torch::Tensor w, torch::Tensor b, double scale) {
  CHECK_CUDA(x);
  TORCH_CHECK(x.is_contiguous() && w.is_contiguous(), "must be contiguous");
  const int n = x.size(0), k = x.size(1), m = w.size(0);
  auto out = torch::empty({n, m}, x.options());
  const float *xp = x.data_ptr<float>(), *wp = w.data_ptr<float>(), *bp = b.data_ptr<float>();
  f<<<(n * m + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
      xp, wp, bp, out.data_ptr<float>(), n, k, m, scale);
  return out;
}
"""
cpp_source = "torch::Tensor fused(torch::Tensor x, torch::Tensor w, torch::Tensor b, double scale);"
ext = load_inline(
    name="fused_cuda",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["fused"],
    extra_cuda_cflags=["-O3", "--use_fast_math", "-arch=sm_75"],
)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 32)
        self.ext = ext

    def forward(self, x, scale):
        assert x.is_cuda
        return self.ext.fused(x.contiguous(), self.linear.weight, self.linear.bias, scale)
