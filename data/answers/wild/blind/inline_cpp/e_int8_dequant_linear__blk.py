import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp = r'''
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <vector>

at::Tensor w8_linear(const at::Tensor& x, const at::Tensor& qweight, const at::Tensor& scales,
                     const at::Tensor& zeros, const at::Tensor& bias) {
  TORCH_CHECK(qweight.scalar_type() == at::kChar, "qweight must be int8");
  TORCH_CHECK(x.size(1) == qweight.size(1), "in_features do not match");
  const at::Tensor xc = x.contiguous();
  const at::Tensor qc = qweight.contiguous();
  const int64_t M = xc.size(0), K = xc.size(1), N = qc.size(0);
  at::Tensor y = at::empty({M, N}, xc.options());

  const float* xp = xc.data_ptr<float>();
  const int8_t* qp = qc.data_ptr<int8_t>();
  const float* sp = scales.data_ptr<float>();
  const int8_t* zp = zeros.data_ptr<int8_t>();
  const float* bp = bias.data_ptr<float>();
  float* yp = y.data_ptr<float>();

  // Threads share the output features. A row of weights is dequantized once and used for all rows of x.
  at::parallel_for(0, N, 8, [&](int64_t n0, int64_t n1) {
    std::vector<float> w(K);
    for (int64_t n = n0; n < n1; ++n) {
      const float s = sp[n];
      const int z = zp[n];
      const int8_t* q = qp + n * K;
      for (int64_t k = 0; k < K; ++k) w[k] = s * static_cast<float>(static_cast<int>(q[k]) - z);
      for (int64_t m = 0; m < M; ++m) {
        const float* xr = xp + m * K;
        float acc0 = 0.f, acc1 = 0.f, acc2 = 0.f, acc3 = 0.f;
        int64_t k = 0;
        for (; k + 3 < K; k += 4) {
          acc0 += xr[k] * w[k];
          acc1 += xr[k + 1] * w[k + 1];
          acc2 += xr[k + 2] * w[k + 2];
          acc3 += xr[k + 3] * w[k + 3];
        }
        for (; k < K; ++k) acc0 += xr[k] * w[k];
        yp[m * N + n] = (acc0 + acc1) + (acc2 + acc3) + bp[n];
      }
    }
  });
  return y;
}
'''

w8 = load_inline(name="e_w8_linear_cpu", cpp_sources=cpp, functions=["w8_linear"], extra_cflags=["-O3"], verbose=False)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("qweight", torch.randint(-128, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(out_features) * 0.01 + 0.001)
        self.register_buffer("zeros", torch.randint(-8, 8, (out_features,), dtype=torch.int8))
        self.bias = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        return w8.w8_linear(x, self.qweight, self.scales, self.zeros, self.bias)


if __name__ == "__main__":
    model = ModelNew(200, 150)
    out = model(torch.randn(50, 200))
    print(out.shape)
