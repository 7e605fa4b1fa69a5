import hashlib
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/cub.cuh>

namespace cg = cooperative_groups;

__global__ void matvec_kernel(const float* __restrict__ w, const float* __restrict__ v, float* __restrict__ y,
                              int rows, int cols, long long total_rows, bool vec) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    long long r = (long long)blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (r >= total_rows) return;
    const float* wr = w + r * cols;
    const float* vr = v + (r / rows) * cols;
    float acc = 0.f;
    if (vec) {
        const float4* w4 = reinterpret_cast<const float4*>(wr);
        const float4* v4 = reinterpret_cast<const float4*>(vr);
        for (int c = tile.thread_rank(); c < cols / 4; c += tile.size()) {
            float4 a = w4[c], b = v4[c];
            acc += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
        }
    } else {
        for (int c = tile.thread_rank(); c < cols; c += tile.size()) acc += wr[c] * vr[c];
    }
    acc = cg::reduce(tile, acc, cg::plus<float>());
    if (tile.thread_rank() == 0) y[r] = acc;
}

// running prefix carried from one chunk of 256 rows to the next
struct PrefixOp {
    float running;
    __device__ PrefixOp(float r) : running(r) {}
    __device__ float operator()(float block_aggregate) {
        float old = running;
        running += block_aggregate;
        return old;
    }
};

__global__ void scan_tanh_kernel(const float* y, float* out, int rows, float scale) {
    using Scan = cub::BlockScan<float, 256>;
    __shared__ typename Scan::TempStorage temp;
    PrefixOp prefix(0.f);
    const float* yb = y + (size_t)blockIdx.x * rows;
    float* ob = out + (size_t)blockIdx.x * rows;
    for (int start = 0; start < rows; start += 256) {
        int i = start + threadIdx.x;
        float val = i < rows ? yb[i] : 0.f;
        Scan(temp).InclusiveSum(val, val, prefix);
        __syncthreads();
        if (i < rows) ob[i] = tanhf(val * scale);
    }
}

torch::Tensor matvec_cumsum(torch::Tensor w, torch::Tensor v, double scale) {
    w = w.contiguous();
    v = v.contiguous();
    int B = w.size(0), rows = w.size(1), cols = w.size(2);
    TORCH_CHECK(v.size(0) == B && v.size(1) == cols, "vector shape mismatch");
    auto y = torch::empty({B, rows}, w.options());
    auto out = torch::empty_like(y);
    long long total = (long long)B * rows;
    bool vec = cols % 4 == 0 && (size_t)w.data_ptr<float>() % 16 == 0 && (size_t)v.data_ptr<float>() % 16 == 0;
    matvec_kernel<<<(int)((total + 7) / 8), 256>>>(w.data_ptr<float>(), v.data_ptr<float>(), y.data_ptr<float>(),
                                                   rows, cols, total, vec);
    scan_tanh_kernel<<<B, 256>>>(y.data_ptr<float>(), out.data_ptr<float>(), rows, (float)scale);
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "kernel launch failed");
    return out;
}
"""

_name = "matvec_cumsum_" + hashlib.md5(cuda_source.encode()).hexdigest()[:8]
_ext = load_inline(
    name=_name,
    cpp_sources="torch::Tensor matvec_cumsum(torch::Tensor w, torch::Tensor v, double scale);",
    cuda_sources=cuda_source,
    functions=["matvec_cumsum"],
)


class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, w, v):
        return _ext.matvec_cumsum(w, v, self.scale)
