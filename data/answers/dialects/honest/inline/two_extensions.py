import torch
import torch.nn as nn
import torch.utils.cpp_extension
import os

os.environ["TORCH_CUDA_ARCH_LIST"] = "8.0"

gemm_src = """
#include <torch/extension.h>
static inline float dot(const float* __restrict__ a, const float* __restrict__ b, int64_t n) {
    float s = 0.0f;
#pragma omp simd reduction(+:s)
    for (int64_t i = 0; i < n; ++i) s += a[i] * b[i];
    return s;
}
torch::Tensor gemm_bias(torch::Tensor x, torch::Tensor w, c10::optional<torch::Tensor> bias) {
    int64_t n = x.size(0), k = x.size(1), m = w.size(0);
    auto out = torch::empty({n, m}, torch::TensorOptions().dtype(torch::kFloat32).device(x.device()));
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < m; ++j)
            out.data_ptr<float>()[i * m + j] =
                dot(x.data_ptr<float>() + i * k, w.data_ptr<float>() + j * k, k) +
                (bias.has_value() ? bias.value().data_ptr<float>()[j] : 0.0f);
    return out;
}
"""
act_decl = "torch::Tensor relu_scale(torch::Tensor x, double s); std::vector<torch::Tensor> pair(torch::Tensor x);"
act_src = """
torch::Tensor relu_scale(torch::Tensor x, double s) {
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) out[i] = fmaxf(in[i], 0.f) * s;
    return y;
}
std::vector<torch::Tensor> pair(torch::Tensor x) { return {x, x}; }
"""

gemm = torch.utils.cpp_extension.load_inline("gemm_ext", gemm_src, functions=["gemm_bias"], extra_cflags=["-O3", "-fopenmp-simd"])
act = torch.utils.cpp_extension.load_inline("act_ext", [act_decl, act_src], functions=["relu_scale", "pair"])


class Dense(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(o, i))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.kaiming_uniform_(self.weight, a=5**0.5)

    def forward(self, x):
        return gemm.gemm_bias(x, self.weight, self.bias)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = Dense(width, 32)

    def forward(self, x, scale):
        y = self.linear(x)
        a, b = act.pair(act.relu_scale(y, scale))
        return a
