import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

_cuda = r"""
#include <torch/extension.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <ATen/cuda/CUDAContext.h>
#include <vector>

namespace cg = cooperative_groups;

constexpr int THREADS = 256;

__device__ float plane_sum(cg::thread_block& block, cg::thread_block_tile<32>& warp, float v, float* buf) {
    v = cg::reduce(warp, v, cg::plus<float>());
    if (warp.thread_rank() == 0) buf[warp.meta_group_rank()] = v;
    block.sync();
    float t = 0.f;
    for (unsigned i = 0; i < warp.meta_group_size(); ++i) t += buf[i];
    block.sync();
    return t;
}

__global__ void in_lrelu(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
                         float* __restrict__ y, float* __restrict__ avg, int C, int hw, float eps, float slope) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    __shared__ float buf[THREADS / 32];
    const int c = blockIdx.x % C;
    const float* p = x + (size_t)blockIdx.x * hw;
    float* o = y + (size_t)blockIdx.x * hw;

    float s = 0.f;
    for (int i = block.thread_rank(); i < hw; i += block.size()) s += p[i];
    const float mean = plane_sum(block, warp, s, buf) / hw;

    float q = 0.f;
    for (int i = block.thread_rank(); i < hw; i += block.size()) { const float d = p[i] - mean; q += d * d; }
    const float rstd = rsqrtf(plane_sum(block, warp, q, buf) / hw + eps);

    float out_sum = 0.f;
    for (int i = block.thread_rank(); i < hw; i += block.size()) {
        float v = (p[i] - mean) * rstd * w[c] + b[c];
        v = v >= 0.f ? v : v * slope;
        o[i] = v;
        out_sum += v;
    }
    out_sum = plane_sum(block, warp, out_sum, buf);
    if (block.thread_rank() == 0) avg[blockIdx.x] = out_sum / hw;
}

std::vector<torch::Tensor> instance_norm_lrelu(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps, double slope) {
    TORCH_CHECK(x.is_cuda());
    TORCH_CHECK(x.is_contiguous());
    const int64_t N = x.size(0), C = x.size(1), hw = x.size(2) * x.size(3);
    auto y = torch::empty_like(x);
    auto avg = torch::empty({N, C}, x.options());
    in_lrelu<<<N * C, THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), avg.data_ptr<float>(),
        C, hw, eps, slope);
    return {y, avg};
}
"""

_mod = load_inline(
    name="c_instance_norm_coop",
    cpp_sources="std::vector<torch::Tensor> instance_norm_lrelu(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps, double slope);",
    cuda_sources=_cuda,
    functions=["instance_norm_lrelu"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
)


class ModelNew(nn.Module):
    def __init__(self, channels, slope):
        super().__init__()
        self.norm = nn.InstanceNorm2d(channels, affine=True)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.uniform_(self.norm.bias, -0.2, 0.2)
        self.slope = slope

    def forward(self, x):
        y, avg = _mod.instance_norm_lrelu(x.contiguous(), self.norm.weight, self.norm.bias, self.norm.eps, self.slope)
        return y, avg
