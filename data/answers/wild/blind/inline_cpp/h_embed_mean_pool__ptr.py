import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = """
#include <torch/extension.h>
#include <algorithm>

torch::Tensor embed_mean_pool(torch::Tensor ids, torch::Tensor table, torch::Tensor pos) {
  TORCH_CHECK(ids.dtype() == torch::kInt64, "ids must be long");
  TORCH_CHECK(ids.size(1) <= pos.size(0), "sequence too long");
  auto ids_a = ids.accessor<int64_t, 2>();
  const int64_t B = ids.size(0), L = ids.size(1);
  const int64_t V = table.size(0), D = table.size(1);
  const float* tab = table.data_ptr<float>();
  const float* pe = pos.data_ptr<float>();
  auto out = torch::zeros({B, D}, table.options());
  float* o = out.data_ptr<float>();

  for (int64_t b = 0; b < B; ++b) {
    float* ob = o + b * D;
    int64_t count = 0;
    for (int64_t l = 0; l < L; ++l) {
      const int64_t id = ids_a[b][l];
      TORCH_CHECK(id >= 0 && id < V, "token id ", id, " out of range");
      if (id == 0) continue;
      ++count;
      const float* e = tab + id * D;
      const float* p = pe + l * D;
      for (int64_t d = 0; d < D; ++d) ob[d] += e[d] + p[d];
    }
    const float inv = 1.0f / std::max<int64_t>(count, 1);
    for (int64_t d = 0; d < D; ++d) ob[d] *= inv;
  }
  return out;
}
"""

embed_ext = load_inline(name="h_embed_mean_pool_cpu", cpp_sources=cpp_source, functions=["embed_mean_pool"],
                        extra_cflags=["-O2"])


class ModelNew(nn.Module):
    def __init__(self, vocab_size, dim, max_len):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, dim)
        self.pos = nn.Parameter(torch.randn(max_len, dim) * 0.5)

    def forward(self, ids):
        return embed_ext.embed_mean_pool(ids, self.tok.weight.detach(), self.pos.detach())
