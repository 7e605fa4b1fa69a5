import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void bag_mean_vec4(const int64_t* __restrict__ ids, const float* __restrict__ w,
                              float* __restrict__ out, int L, int D4) {
    extern __shared__ int64_t s_ids[];
    const int bag = blockIdx.x;
    for (int j = threadIdx.x; j < L; j += blockDim.x) s_ids[j] = ids[(int64_t)bag * L + j];
    __syncthreads();

    const float4* w4 = reinterpret_cast<const float4*>(w);
    float4* o4 = reinterpret_cast<float4*>(out) + (int64_t)bag * D4;
    for (int d = threadIdx.x; d < D4; d += blockDim.x) {
        float4 acc = make_float4(0.f, 0.f, 0.f, 0.f);
        int n = 0;
        for (int j = 0; j < L; ++j) {
            int64_t id = s_ids[j];
            if (id == 0) continue;   // padding
            float4 v = w4[id * D4 + d];
            acc.x += v.x; acc.y += v.y; acc.z += v.z; acc.w += v.w;
            ++n;
        }
        float inv = 1.f / (float)max(n, 1);
        acc.x *= inv; acc.y *= inv; acc.z *= inv; acc.w *= inv;
        o4[d] = acc;
    }
}

__global__ void bag_mean_scalar(const int64_t* __restrict__ ids, const float* __restrict__ w,
                                float* __restrict__ out, int L, int D) {
    const int bag = blockIdx.x;
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
        float acc = 0.f;
        int n = 0;
        for (int j = 0; j < L; ++j) {
            int64_t id = ids[(int64_t)bag * L + j];
            if (id != 0) { acc += w[id * D + d]; ++n; }
        }
        out[(int64_t)bag * D + d] = acc / (float)max(n, 1);
    }
}

torch::Tensor bag_mean(torch::Tensor ids, torch::Tensor weight) {
    TORCH_CHECK(ids.dtype() == torch::kInt64, "ids must be int64");
    TORCH_CHECK(ids.is_contiguous() && weight.is_contiguous());
    const int B = ids.size(0), L = ids.size(1), D = weight.size(1);
    auto out = torch::empty({B, D}, weight.options());
    if (D % 4 == 0) {
        bag_mean_vec4<<<B, 64, L * sizeof(int64_t)>>>(
            ids.data_ptr<int64_t>(), weight.data_ptr<float>(), out.data_ptr<float>(), L, D / 4);
    } else {
        bag_mean_scalar<<<B, 128>>>(
            ids.data_ptr<int64_t>(), weight.data_ptr<float>(), out.data_ptr<float>(), L, D);
    }
    return out;
}
"""

bag_mean_ext = load_inline(
    name="bag_mean_ext",
    cpp_sources=["torch::Tensor bag_mean(torch::Tensor ids, torch::Tensor weight);"],
    cuda_sources=[source],
    functions=["bag_mean"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
)


class ModelNew(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)

    def forward(self, ids):
        return bag_mean_ext.bag_mean(ids.contiguous(), self.emb.weight.detach())
