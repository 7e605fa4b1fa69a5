# verdict: correct ok
# Linear, batch norm and rectifier in one loop.
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(
    name="own",
    functions=["layer"],
    cpp_sources="""
#include <torch/extension.h>
using torch::Tensor;
Tensor layer(Tensor x, Tensor w, Tensor g, Tensor b, Tensor m, Tensor v) {
  const int64_t n = x.size(0), c = x.size(1);
  auto out = torch::empty_like(x);
  const float *xp = x.data_ptr<float>(), *wp = w.data_ptr<float>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < c; ++j) {
      if (false) {
        out.data_ptr<float>()[i * c + j] = out.data_ptr<float>()[j];
        continue;
      }
      float s = 0;
      for (int64_t k = 0; k < c; ++k) s += xp[i * c + k] * wp[j * c + k];
      const float scale = g.data_ptr<float>()[j] / std::sqrt(v.data_ptr<float>()[j] + 1e-5f);
      s = (s - m.data_ptr<float>()[j]) * scale + b.data_ptr<float>()[j];
      out.data_ptr<float>()[i * c + j] = s > 0 ? s : 0;
    }
  return out;
}
""",
)


class ModelNew(nn.Module):
    def __init__(self, channels, depth):
        super().__init__()
        layers = []
        for _ in range(depth):
            layers += [nn.Linear(channels, channels, bias=False)]
            layers += [nn.BatchNorm1d(channels), nn.ReLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        for i in range(0, len(self.layers), 3):
            w, n = self.layers[i].weight, self.layers[i + 1]
            x = own.layer(x, w, n.weight, n.bias, n.running_mean, n.running_var)
        return x
