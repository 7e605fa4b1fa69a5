import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_src = r"""
#include <torch/extension.h>
#include <vector>

std::vector<torch::Tensor> bag_mean(torch::Tensor ids, torch::Tensor table, c10::optional<int64_t> padding_idx) {
    torch::NoGradGuard no_grad;
    TORCH_CHECK(ids.scalar_type() == torch::kLong, "ids must be int64");
    TORCH_CHECK(table.is_contiguous(), "table must be contiguous");
    ids = ids.contiguous();
    const int64_t B = ids.size(0), L = ids.size(1), V = table.size(0), D = table.size(1);
    auto out = torch::zeros({B, D}, table.options());
    const int64_t* idp = ids.data_ptr<int64_t>();
    const float* w = table.data_ptr<float>();
    float* o = out.data_ptr<float>();

    #pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < B; ++b) {
        float* dst = o + b * D;
        int64_t n = 0;
        for (int64_t j = 0; j < L; ++j) {
            const int64_t id = idp[b * L + j];
            if (padding_idx.has_value() && id == padding_idx.value()) continue;
            const float* src = w + id * D;
            for (int64_t d = 0; d < D; ++d) dst[d] += src[d];
            ++n;
        }
        if (n > 1) {
            const float count = static_cast<float>(n);
            for (int64_t d = 0; d < D; ++d) dst[d] /= count;
        }
    }
    (void)V;
    return {out};
}
"""

bag = load_inline(
    name="bag_mean_cpu",
    cpp_sources=cpp_src,
    functions=["bag_mean"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)

    def forward(self, ids):
        return bag.bag_mean(ids, self.emb.weight, self.emb.padding_idx)[0]
