import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r'''
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <vector>

namespace cg = cooperative_groups;

// one warp-sized tile per row
template <typename scalar_t>
__global__ void row_stats_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ mean,
                                 scalar_t* __restrict__ var, scalar_t* __restrict__ peak,
                                 int rows, int cols) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    int row = blockIdx.x * (blockDim.x / 32) + tile.meta_group_rank();
    if (row >= rows) return;
    const scalar_t* p = x + (int64_t)row * cols;

    scalar_t s = 0;
    scalar_t mx = p[0];
    for (int i = tile.thread_rank(); i < cols; i += 32) {
        s += p[i];
        mx = p[i] > mx ? p[i] : mx;
    }
    s = cg::reduce(tile, s, cg::plus<scalar_t>());
    mx = cg::reduce(tile, mx, cg::greater<scalar_t>());
    scalar_t mu = s / cols;

    scalar_t sq = 0;
    for (int i = tile.thread_rank(); i < cols; i += 32) {
        scalar_t d = p[i] - mu;
        sq += d * d;
    }
    sq = cg::reduce(tile, sq, cg::plus<scalar_t>());

    if (tile.thread_rank() == 0) {
        mean[row] = mu;
        var[row] = sq / (scalar_t)(cols - 1);
        peak[row] = mx;
    }
}

std::vector<torch::Tensor> row_stats(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous());
    const int rows = x.size(0), cols = x.size(1);
    auto mean = torch::empty({rows}, x.options());
    auto var = torch::empty_like(mean);
    auto peak = torch::empty_like(mean);
    const int threads = 128;
    const int blocks = (rows + 3) / 4;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "row_stats", ([&] {
        row_stats_kernel<scalar_t><<<blocks, threads>>>(
            x.data_ptr<scalar_t>(), mean.data_ptr<scalar_t>(), var.data_ptr<scalar_t>(),
            peak.data_ptr<scalar_t>(), rows, cols);
    }));
    return {mean, var, peak};
}
'''

row_stats_ext = load_inline(
    name='a_row_stats_cg',
    cpp_sources='#include <vector>\nstd::vector<torch::Tensor> row_stats(torch::Tensor x);',
    cuda_sources=cuda_source,
    functions=['row_stats'],
    extra_cuda_cflags=['-O3', '--use_fast_math'],
)


class ModelNew(nn.Module):
    """Mean, unbiased variance and maximum of each row with cooperative groups."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        mean, var, peak = row_stats_ext.row_stats(x.contiguous())
        return mean, var, peak
