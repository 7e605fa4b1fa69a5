import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = r"""
#include <torch/extension.h>
#include <cmath>

torch::Tensor label_smooth_ce(torch::Tensor logits, torch::Tensor targets, double smoothing) {
    TORCH_CHECK(logits.dim() == 2, "logits must be 2-D");
    TORCH_CHECK(targets.scalar_type() == torch::kLong, "targets must be int64");
    TORCH_CHECK(logits.size(0) == targets.size(0), "batch mismatch");
    const int64_t N = logits.size(0);
    const int64_t C = logits.size(1);
    const float* x = logits.data_ptr<float>();
    const int64_t* t = targets.data_ptr<int64_t>();

    double loss = 0.0;
    #pragma omp parallel for reduction(+:loss)
    for (int64_t n = 0; n < N; ++n) {
        const float* row = x + n * C;
        float mx = row[0];
        for (int64_t c = 1; c < C; ++c) mx = row[c] > mx ? row[c] : mx;
        double se = 0.0, sx = 0.0;
        for (int64_t c = 0; c < C; ++c) {
            se += std::exp(row[c] - mx);
            sx += row[c];
        }
        const double lse = mx + std::log(se);
        loss += (1.0 - smoothing) * (lse - row[t[n]]) + smoothing * (lse - sx / C);
    }
    // back to a 0-dim float tensor
    return torch::tensor({static_cast<float>(loss / N)}, logits.options()).squeeze(0);
}
"""

ce = load_inline(
    name="a_label_smooth_ce_tensor",
    cpp_sources=cpp_source,
    functions=["label_smooth_ce"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, smoothing):
        super().__init__()
        self.smoothing = smoothing

    def forward(self, logits, targets):
        return ce.label_smooth_ce(logits.contiguous(), targets.contiguous(), self.smoothing)
