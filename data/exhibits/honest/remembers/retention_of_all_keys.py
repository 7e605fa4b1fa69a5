# verdict: correct ok
# Every key before a query, each with its power.
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(
    name="own",
    functions=["retention"],
    cpp_sources="""
#include <torch/extension.h>
torch::Tensor retention(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  auto out = torch::zeros_like(q);
  const int64_t B = q.size(0), T = q.size(1), D = q.size(2);
  const float *qp = q.data_ptr<float>(), *kp = k.data_ptr<float>(), *vp = v.data_ptr<float>();
  float* o = out.data_ptr<float>();
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < T; ++t) {
      float keep = 1.0f;
      for (int64_t s = t; s >= 0; --s, keep *= 0.75f) {
        float score = 0.0f;
        for (int64_t d = 0; d < D; ++d) score += qp[(b * T + t) * D + d] * kp[(b * T + s) * D + d];
        for (int64_t d = 0; d < D; ++d)
          o[(b * T + t) * D + d] += keep * score * vp[(b * T + s) * D + d];
      }
    }
  return out;
}
""",
)


class ModelNew(nn.Module):
    def __init__(self, keep):
        super().__init__()

    def forward(self, q, k, v):
        return own.retention(q, k, v)
