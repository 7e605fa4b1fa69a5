import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <tuple>

struct Stats {
  float n, mean, m2;
  float mx;
  int idx;
};

__device__ __forceinline__ Stats combine(const Stats& a, const Stats& b) {
  Stats r;
  r.n = a.n + b.n;
  if (r.n > 0.f) {
    const float delta = b.mean - a.mean;
    const float f = b.n / r.n;
    r.mean = a.mean + delta * f;
    r.m2 = a.m2 + b.m2 + delta * delta * a.n * f;
  } else {
    r.mean = 0.f;
    r.m2 = 0.f;
  }
  const bool take_b = b.mx > a.mx || (b.mx == a.mx && b.idx < a.idx);
  r.mx = take_b ? b.mx : a.mx;
  r.idx = take_b ? b.idx : a.idx;
  return r;
}

// one warp for each row, no shared memory at all
__global__ void welford_rows(const float* __restrict__ x, float* __restrict__ mean,
                             float* __restrict__ var, float* __restrict__ mx,
                             int64_t* __restrict__ idx, int64_t rows, int D) {
  const int lane = threadIdx.x & 31;
  const int64_t row = (int64_t)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
  if (row >= rows) return;          // whole warps leave together
  const float* p = x + row * D;

  Stats s{0.f, 0.f, 0.f, -INFINITY, 0x7fffffff};
  for (int i = lane; i < D; i += 32) {
    const float v = p[i];
    s.n += 1.f;
    const float d = v - s.mean;
    s.mean += d / s.n;
    s.m2 += d * (v - s.mean);
    if (v > s.mx || s.idx == 0x7fffffff) { s.mx = v; s.idx = i; }
  }
#pragma unroll
  for (int off = 16; off > 0; off >>= 1) {
    Stats o;
    o.n = __shfl_down_sync(0xffffffffu, s.n, off);
    o.mean = __shfl_down_sync(0xffffffffu, s.mean, off);
    o.m2 = __shfl_down_sync(0xffffffffu, s.m2, off);
    o.mx = __shfl_down_sync(0xffffffffu, s.mx, off);
    o.idx = __shfl_down_sync(0xffffffffu, s.idx, off);
    s = combine(s, o);
  }
  if (lane == 0) {
    mean[row] = s.mean;
    var[row] = s.m2 / s.n;
    mx[row] = s.mx;
    idx[row] = s.idx;
  }
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> row_stats_cuda(at::Tensor input) {
  TORCH_CHECK(input.is_cuda() && input.scalar_type() == at::kFloat);
  auto x = input.contiguous();
  const int64_t D = x.size(-1);
  const int64_t rows = x.numel() / D;
  std::vector<int64_t> lead(x.sizes().begin(), x.sizes().end() - 1);
  auto mean = at::empty(lead, x.options());
  auto var = at::empty_like(mean);
  auto mx = at::empty_like(mean);
  auto idx = at::empty(lead, x.options().dtype(at::kLong));
  constexpr int kWarps = 8;
  const int blocks = (rows + kWarps - 1) / kWarps;
  welford_rows<<<blocks, kWarps * 32, 0, at::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), mean.data_ptr<float>(), var.data_ptr<float>(), mx.data_ptr<float>(),
      idx.data_ptr<int64_t>(), rows, (int)D);
  AT_CUDA_CHECK(cudaGetLastError());
  return std::make_tuple(mean, var, mx, idx);
}
"""

cpp_src = r"""
#include <tuple>
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> row_stats_cuda(at::Tensor input);
"""

row_stats_ext = load_inline(
    name="h_row_stats_welford",
    cpp_sources=[cpp_src],
    cuda_sources=[cuda_src],
    functions=["row_stats_cuda"],
    extra_cuda_cflags=["-O3", "-lineinfo"],
)


class ModelNew(nn.Module):
    """Single pass (Welford) row statistics, a warp for each row."""

    def __init__(self):
        super().__init__()
        self.op = row_stats_ext.row_stats_cuda

    def forward(self, x):
        return self.op(x)
