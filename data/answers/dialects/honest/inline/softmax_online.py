# problem: softmax
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <limits>
#include <cmath>

template <typename T>
static void softmax_row(const T* in, T* out, int64_t n) {
  T top = -std::numeric_limits<T>::infinity(), sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (in[i] > top) { sum *= std::exp(top - in[i]); top = in[i]; }
    sum += std::exp(in[i] - top);
  }
  const T inverse = T(1) / sum;
  for (int64_t i = 0; i < n; ++i) out[i] = std::exp(in[i] - top) * inverse;
}

torch::Tensor softmax_cpu(torch::Tensor input) {
  auto x = input.contiguous();
  auto y = torch::empty_like(x);
  const auto cols = x.size(-1), rows = x.numel() / cols;
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "softmax_cpu", [&] {
    for (int64_t r = 0; r < rows; ++r) softmax_row<scalar_t>(x.data_ptr<scalar_t>() + r * cols, y.data_ptr<scalar_t>() + r * cols, cols);
  });
  return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = load_inline(name="softmax_in_init", cpp_sources=source, functions=["softmax_cpu"], verbose=False)

    def forward(self, x):
        return self.kernel.softmax_cpu(x)


batch_size, dim = 32, 100


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
