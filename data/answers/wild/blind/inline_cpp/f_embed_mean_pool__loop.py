import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

embed_src = """
#include <torch/extension.h>

torch::Tensor embed_mean(torch::Tensor ids, torch::Tensor table, int64_t pad_idx) {
    ids = ids.contiguous();
    table = table.contiguous();
    const int64_t B = ids.size(0), L = ids.size(1), V = table.size(0), D = table.size(1);
    auto out = torch::zeros({B, D}, table.options());
    const int64_t* id = ids.data_ptr<int64_t>();
    const float* emb = table.data_ptr<float>();
    float* o = out.data_ptr<float>();

    for (int64_t b = 0; b < B; ++b) {
        float* dst = o + b * D;
        int64_t count = 0;
        for (int64_t l = 0; l < L; ++l) {
            const int64_t tok = id[b * L + l];
            TORCH_CHECK(tok >= 0 && tok < V, "index out of range");
            if (tok == pad_idx) continue;
            const float* src = emb + tok * D;
            for (int64_t d = 0; d < D; ++d) dst[d] += src[d];
            ++count;
        }
        if (count > 1) {
            const float inv = 1.0f / static_cast<float>(count);
            for (int64_t d = 0; d < D; ++d) dst[d] *= inv;
        }
    }
    return out;
}
"""

embed_mod = load_inline(name="embed_mean_cpu", cpp_sources=embed_src, functions=["embed_mean"])


class ModelNew(nn.Module):
    """Embedding lookup + masked mean in a single pass over the tokens."""

    def __init__(self, vocab_size, dim, pad_idx):
        super().__init__()
        self.pad_idx = pad_idx
        self.embedding = nn.Embedding(vocab_size, dim)

    def forward(self, ids):
        return embed_mod.embed_mean(ids, self.embedding.weight.detach(), self.pad_idx)
