import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
torch::Tensor linear_forward(torch::Tensor input, torch::Tensor weight, torch::Tensor bias, double scale) {
  auto output = torch::empty({input.size(0), weight.size(0)}, input.options());
  const float *x = input.data_ptr<float>(), *w = weight.data_ptr<float>(), *b = bias.data_ptr<float>();
  float* o = output.data_ptr<float>();
  for (int64_t i = 0; i < input.size(0); i++)
    for (int64_t j = 0; j < weight.size(0); j++) {
      float s = b[j];
      for (int64_t k = 0; k < input.size(1); k++) s += x[i * input.size(1) + k] * w[j * input.size(1) + k];
      o[i * weight.size(0) + j] = (s < 0 ? 0 : s) * scale;
    }
  return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &linear_forward, "Linear + ReLU + scale");
}
"""
ext = load_inline(name="linear_pybind", cpp_sources=source, with_cuda=False)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 32)

    def forward(self, x, scale):
        return ext.forward(x, self.linear.weight, self.linear.bias, scale)
