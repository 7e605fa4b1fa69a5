import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <vector>
#include <utility>
#include <algorithm>

// The whole network for one sample at a time, with two small buffers that stay in cache.
torch::Tensor mlp_forward(torch::Tensor x, std::vector<torch::Tensor> weights, std::vector<torch::Tensor> biases) {
    torch::NoGradGuard guard;
    TORCH_CHECK_EQ(weights.size(), biases.size());
    TORCH_CHECK(!weights.empty(), "no layers");
    x = x.contiguous();
    const int64_t batch = x.size(0);
    const int64_t in_dim = x.size(1);
    const int64_t out_dim = weights.back().size(0);
    int64_t widest = in_dim;
    for (auto& w : weights) {
        TORCH_CHECK(w.is_contiguous(), "weights must be contiguous");
        widest = std::max(widest, w.size(0));
    }
    auto out = torch::empty({batch, out_dim}, x.options());
    const float* xp = x.data_ptr<float>();
    float* op = out.data_ptr<float>();

    std::vector<float> cur(widest), next(widest);
    const size_t layers = weights.size();
    for (int64_t s = 0; s < batch; ++s) {
        std::copy(xp + s * in_dim, xp + (s + 1) * in_dim, cur.begin());
        for (size_t l = 0; l < layers; ++l) {
            const float* w = weights[l].data_ptr<float>();
            const float* b = biases[l].data_ptr<float>();
            const int64_t n_out = weights[l].size(0), n_in = weights[l].size(1);
            const bool last = l + 1 == layers;
            for (int64_t o = 0; o < n_out; ++o) {
                float acc = b[o];
                for (int64_t i = 0; i < n_in; ++i) acc += w[o * n_in + i] * cur[i];
                next[o] = (last || acc > 0.f) ? acc : 0.f;
            }
            std::swap(cur, next);
        }
        std::copy(cur.begin(), cur.begin() + out_dim, op + s * out_dim);
    }
    return out;
}
"""

mlp_ext = load_inline(name="deep_mlp_pingpong", cpp_sources=source, functions=["mlp_forward"],
                      extra_cflags=["-O3"], verbose=False)


class ModelNew(nn.Module):
    def __init__(self, width, classes, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        mods = list(self.layers) + [self.head]
        return mlp_ext.mlp_forward(x, [m.weight for m in mods], [m.bias for m in mods])
