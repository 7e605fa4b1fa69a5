import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <omp.h>
#include <thread>
#include <vector>
#include <cmath>
#include <immintrin.h>

namespace {
constexpr int TILE = 8;
template <typename scalar_t>
void rows(const scalar_t* x, const scalar_t* w, const scalar_t* b, scalar_t* o, int64_t from, int64_t to, int64_t k, int64_t m, scalar_t s) {
  for (int64_t i = from; i < to; ++i)
    for (int64_t j0 = 0; j0 < m; j0 += TILE)
      for (int64_t j = j0; j < std::min<int64_t>(j0 + TILE, m); ++j) {
        scalar_t sum = 0;
        for (int64_t l = 0; l < k; ++l) sum = std::fma(x[i * k + l], w[j * k + l], sum);
        sum += b[j];
        o[i * m + j] = std::max<scalar_t>(sum, 0) * s;
      }
}
}  // namespace

torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b, double s) {
  auto xc = x.contiguous(), wc = w.contiguous();
  const auto n = xc.size(0), k = xc.size(1), m = wc.size(0);
  torch::Tensor o = torch::empty({n, m}, xc.options());
  const int threads = std::min(omp_get_max_threads() + 1, 2);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] { rows<float>(xc.data_ptr<float>(), wc.data_ptr<float>(), b.data_ptr<float>(), o.data_ptr<float>(), n * t / threads, n * (t + 1) / threads, k, m, s); });
  for (auto& one : all) one.join();
  return o;
}
'''
module = load_inline(name="threads", cpp_sources=source, functions=["run"], extra_cflags=["-O3", "-fopenmp", "-ffast-math", "-mavx2", "-mfma", "-Wall"], extra_ldflags=["-fopenmp", "-lm"])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 32)

    def forward(self, x, scale):
        if not x.is_contiguous():
            x = x.contiguous()
        return module.run(x, self.linear.weight.data, self.linear.bias.detach(), scale)
