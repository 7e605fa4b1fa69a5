# problem: layer_norm
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = "torch::Tensor layer_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps);"
body = """
struct Moments { float mean, variance; };

static Moments welford(const float* x, int n) {
  float mean = 0, m2 = 0;
  for (int i = 0; i < n; i++) {
    const float d = x[i] - mean;
    mean += d / (i + 1);
    m2 += d * (x[i] - mean);
  }
  return {mean, m2 / n};
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps) {
  const int width = x.size(x.dim() - 1), rows = x.numel() / width;
  auto flat = x.reshape({-1, width});
  auto y = torch::empty(x.sizes(), x.options());
  for (int r = 0; r < rows; r++) {
    const float* in = flat.data_ptr<float>() + r * width;
    float* out = y.data_ptr<float>() + r * width;
    auto [mean, variance] = welford(in, width);
    const float inv = 1.0f / std::sqrt(variance + static_cast<float>(eps));
    for (int i = 0; i < width; i++) out[i] = (in[i] - mean) * inv * gamma.data_ptr<float>()[i] + beta.data_ptr<float>()[i];
  }
  return y;
}
"""
layer_norm = load_inline(name="layer_norm_ext", cpp_sources=[cpp_source, body], functions=["layer_norm"]).layer_norm


class LayerNorm(nn.Module):
    __constants__ = ["eps"]

    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return layer_norm(x, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"eps={self.eps}"


class ModelNew(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.norm = LayerNorm(width, eps)

    def forward(self, x):
        return self.norm(x)
