import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = r'''
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <tuple>
#include <vector>
#include <cmath>

// Arithmetic in float, storage in half. The sum is rounded to half before it is normalized, as
// the unfused code does.
std::tuple<at::Tensor, at::Tensor> add_layer_norm(const at::Tensor& x_, const at::Tensor& res_,
                                                  const at::Tensor& weight, const at::Tensor& bias, double eps) {
  TORCH_CHECK(x_.scalar_type() == at::kHalf, "x must be float16");
  TORCH_CHECK(x_.sizes() == res_.sizes());
  const at::Tensor x = x_.contiguous(), res = res_.contiguous();
  at::Tensor y = at::empty_like(x), h = at::empty_like(x);
  const int64_t D = x.size(-1), rows = x.numel() / D;

  const at::Tensor wf = weight.to(at::kFloat).contiguous();
  const at::Tensor bf = bias.to(at::kFloat).contiguous();
  const float* w = wf.data_ptr<float>();
  const float* b = bf.data_ptr<float>();
  const at::Half* xp = x.data_ptr<at::Half>();
  const at::Half* rp = res.data_ptr<at::Half>();
  at::Half* yp = y.data_ptr<at::Half>();
  at::Half* hp = h.data_ptr<at::Half>();

  at::parallel_for(0, rows, 16, [&](int64_t r0, int64_t r1) {
    std::vector<float> buf(D);
    for (int64_t r = r0; r < r1; ++r) {
      float sum = 0.f;
      for (int64_t i = 0; i < D; ++i) {
        const at::Half s(static_cast<float>(xp[r * D + i]) + static_cast<float>(rp[r * D + i]));
        hp[r * D + i] = s;
        buf[i] = static_cast<float>(s);
        sum += buf[i];
      }
      const float mean = sum / D;
      float sq = 0.f;
      for (int64_t i = 0; i < D; ++i) {
        const float d = buf[i] - mean;
        sq += d * d;
      }
      const float rstd = 1.f / std::sqrt(sq / D + static_cast<float>(eps));
      for (int64_t i = 0; i < D; ++i)
        yp[r * D + i] = at::Half((buf[i] - mean) * rstd * w[i] + b[i]);
    }
  });
  return std::make_tuple(y, h);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("add_layer_norm", &add_layer_norm, "residual add + layer norm (fp16, CPU)",
        py::arg("x"), py::arg("residual"), py::arg("weight"), py::arg("bias"), py::arg("eps") = 1e-5);
}
'''

_C = load_inline(name='h_add_layer_norm_cpu', cpp_sources=cpp_source, extra_cflags=['-O3'])


class ModelNew(nn.Module):
    def __init__(self, hidden, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter((1.0 + 0.2 * torch.randn(hidden)).half())
        self.bias = nn.Parameter((0.1 * torch.randn(hidden)).half())

    def forward(self, x, residual):
        return _C.add_layer_norm(x, residual, self.weight, self.bias, eps=self.eps)
