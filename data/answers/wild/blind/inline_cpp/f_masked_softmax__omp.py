import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = """
#include <torch/extension.h>
#include <cmath>
#include <limits>
#include <omp.h>

torch::Tensor masked_softmax_cpu(torch::Tensor scores, torch::Tensor mask, double temperature) {
    auto s = scores.contiguous();
    auto m = mask.contiguous();
    auto out = torch::empty_like(s);

    const int64_t B = s.size(0);
    const int64_t K = s.size(-1);
    const int64_t rows = s.numel() / K;
    const int64_t rows_per_batch = rows / B;
    const float t = static_cast<float>(temperature);

    const float* sp = s.data_ptr<float>();
    const bool* mp = m.data_ptr<bool>();
    float* op = out.data_ptr<float>();

    #pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        const float* row = sp + r * K;
        const bool* keep = mp + (r / rows_per_batch) * K;
        float* dst = op + r * K;

        float mx = -std::numeric_limits<float>::infinity();
        for (int64_t j = 0; j < K; ++j) {
            if (keep[j]) mx = std::max(mx, row[j] / t);
        }
        float sum = 0.0f;
        for (int64_t j = 0; j < K; ++j) {
            float e = keep[j] ? std::exp(row[j] / t - mx) : 0.0f;
            dst[j] = e;
            sum += e;
        }
        const float inv = 1.0f / sum;
        for (int64_t j = 0; j < K; ++j) dst[j] *= inv;
    }
    return out;
}
"""

masked_softmax = load_inline(
    name="masked_softmax_cpu",
    cpp_sources=cpp_source,
    functions=["masked_softmax_cpu"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self, temperature):
        super(ModelNew, self).__init__()
        self.temperature = temperature

    def forward(self, scores, mask):
        return masked_softmax.masked_softmax_cpu(scores, mask, self.temperature)
