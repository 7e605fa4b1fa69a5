# problem: conv_relu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
torch::Tensor conv2d_relu(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor shift, int64_t pad) {
  int64_t B = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0), K = w.size(2);
  int64_t OH = H + 2 * pad - K + 1, OW = W + 2 * pad - K + 1;
  auto y = torch::zeros({B, O, OH, OW}, x.options());
  auto X = x.accessor<float, 4>();
  auto Wt = w.accessor<float, 4>();
  auto Y = y.accessor<float, 4>();
  const float* bias = b.defined() ? b.data_ptr<float>() : nullptr;
  for (int64_t n = 0; n < B; n++)
    for (int64_t o = 0; o < O; o++)
      for (int64_t i = 0; i < OH; i++)
        for (int64_t j = 0; j < OW; j++) {
          float sum = (bias ? bias[o] : 0.f) - shift.data_ptr<float>()[o];
          for (int64_t c = 0; c < C; c++)
            for (int64_t p = 0; p < K; p++)
              for (int64_t q = 0; q < K; q++) {
                int64_t h = i + p - pad, v = j + q - pad;
                if (h >= 0 && h < H && v >= 0 && v < W) sum += X[n][c][h][v] * Wt[o][c][p][q];
              }
          Y[n][o][i][j] = std::max(sum, 0.0f);
        }
  return y;
}
"""
ext = load_inline("conv2d_relu_ext", source, None, ["conv2d_relu"], ["-O3"])


class ModelNew(nn.Module):
    def __init__(self, channels, out, kernel):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, kernel, padding=1)
        self.register_buffer("shift", torch.full((out, 1, 1), 0.5))
        self.padding = self.conv.padding[0]

    def forward(self, x):
        w, b = self.conv.weight, getattr(self.conv, "bias", None)
        return ext.conv2d_relu(x, w, b, self.shift, self.padding)
