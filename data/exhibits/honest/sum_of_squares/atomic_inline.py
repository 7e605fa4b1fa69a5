# verdict: correct ok
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(
    name="own",
    cpp_sources="torch::Tensor total(torch::Tensor x);",
    functions=["total"],
    cuda_sources=r"""
#include <torch/extension.h>
__global__ void squares(const float* x, float* out, int columns) {
  float v = 0.0f;
  for (int j = threadIdx.x; j < columns; j += 32) {
    const float a = x[blockIdx.x * columns + j];
    v += a * a;
  }
  for (int step = 16; step; step /= 2) v += __shfl_xor_sync(~0u, v, step);
  if (threadIdx.x == 0) {
    atomicAdd(out, v);
  }
}
torch::Tensor total(torch::Tensor x) {
  auto out = torch::zeros({1}, x.options());
  squares<<<x.size(0), 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
  return out;
}
""",
)


class ModelNew(nn.Module):
    def forward(self, x):
        return own.total(x)
