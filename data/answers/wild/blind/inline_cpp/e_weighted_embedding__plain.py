import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

embedding_bag_source = """
#include <torch/extension.h>

torch::Tensor weighted_embedding(torch::Tensor tokens, torch::Tensor weights, torch::Tensor table) {
    TORCH_CHECK(tokens.dtype() == torch::kInt64, "tokens must be int64");
    TORCH_CHECK(weights.dtype() == torch::kFloat32, "weights must be float32");
    auto tok = tokens.accessor<int64_t, 2>();
    auto w = weights.accessor<float, 2>();
    const int64_t B = tokens.size(0);
    const int64_t L = tokens.size(1);
    const int64_t V = table.size(0);
    const int64_t D = table.size(1);
    auto t = table.contiguous();
    auto out = torch::zeros({B, D}, t.options());
    const float* tp = t.data_ptr<float>();
    float* op = out.data_ptr<float>();

    for (int64_t b = 0; b < B; ++b) {
        float* o = op + b * D;
        int64_t count = 0;
        for (int64_t l = 0; l < L; ++l) {
            const int64_t id = tok[b][l];
            if (id == 0) continue;  // padding
            TORCH_CHECK(id > 0 && id < V, "token out of range: ", id);
            const float* row = tp + id * D;
            const float wl = w[b][l];
            for (int64_t d = 0; d < D; ++d) o[d] += wl * row[d];
            ++count;
        }
        if (count > 1) {
            const float inv = 1.0f / count;
            for (int64_t d = 0; d < D; ++d) o[d] *= inv;
        }
    }
    return out;
}
"""

weighted_embedding = load_inline(
    name="weighted_embedding",
    cpp_sources=embedding_bag_source,
    functions=["weighted_embedding"],
    verbose=False,
    extra_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, vocab, dim):
        super(ModelNew, self).__init__()
        self.emb = nn.Embedding(vocab, dim)

    def forward(self, tokens, weights):
        # the weight requires grad, so give the kernel a detached view
        return weighted_embedding.weighted_embedding(tokens, weights, self.emb.weight.detach())
