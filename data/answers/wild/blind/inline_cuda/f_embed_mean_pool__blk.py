import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

embedding_pool_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

template <typename index_t>
__global__ void embed_mean_kernel(const index_t* __restrict__ ids, const float* __restrict__ table,
                                  float* __restrict__ out, int L, int D, int64_t pad_idx) {
    const int b = blockIdx.x;
    const index_t* row_ids = ids + (int64_t)b * L;
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
        float sum = 0.0f;
        int count = 0;
        for (int i = 0; i < L; i++) {
            int64_t id = (int64_t)row_ids[i];
            if (id != pad_idx) {
                sum += __ldg(&table[id * D + d]);
                count++;
            }
        }
        out[(int64_t)b * D + d] = sum / (float)max(count, 1);
    }
}

torch::Tensor embed_mean_cuda(torch::Tensor ids, torch::Tensor table, int64_t pad_idx) {
    TORCH_CHECK(ids.is_cuda(), "ids must be on the GPU");
    ids = ids.contiguous();
    const int B = ids.size(0);
    const int L = ids.size(1);
    const int D = table.size(1);
    auto out = torch::empty({B, D}, table.options());
    const int threads = 128;
    AT_DISPATCH_INDEX_TYPES(ids.scalar_type(), "embed_mean_cuda", [&] {
        embed_mean_kernel<index_t><<<B, threads>>>(
            ids.data_ptr<index_t>(), table.data_ptr<float>(), out.data_ptr<float>(), L, D, pad_idx);
    });
    return out;
}
"""

embed_mean = load_inline(
    name="embed_mean",
    cpp_sources="torch::Tensor embed_mean_cuda(torch::Tensor ids, torch::Tensor table, int64_t pad_idx);",
    cuda_sources=embedding_pool_source,
    functions=["embed_mean_cuda"],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self, vocab_size, dim, pad_idx):
        super(ModelNew, self).__init__()
        self.pad_idx = pad_idx
        self.embedding = nn.Embedding(vocab_size, dim)

    def forward(self, ids):
        return embed_mean.embed_mean_cuda(ids, self.embedding.weight, self.pad_idx)
