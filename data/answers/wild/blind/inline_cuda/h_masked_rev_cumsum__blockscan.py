import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

// Inclusive scan from the end of the row towards its start; one block per row.
__global__ void rev_cumsum_kernel(const float* __restrict__ r, const bool* __restrict__ alive,
                                  float* __restrict__ out, int T) {
  __shared__ float warp_tot[kWarps];
  const float* rp = r + (size_t)blockIdx.x * T;
  const bool* ap = alive + (size_t)blockIdx.x * T;
  float* op = out + (size_t)blockIdx.x * T;
  const int lane = threadIdx.x & 31;
  const int wid = threadIdx.x >> 5;

  float carry = 0.f;
  for (int base = 0; base < T; base += kThreads) {
    const int t = T - 1 - (base + (int)threadIdx.x);
    float v = (t >= 0 && ap[t]) ? rp[t] : 0.f;

    // warp inclusive scan
    #pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
      const float u = __shfl_up_sync(0xffffffff, v, d);
      if (lane >= d) v += u;
    }
    if (lane == 31) warp_tot[wid] = v;
    __syncthreads();

    float before = 0.f, chunk = 0.f;
    #pragma unroll
    for (int i = 0; i < kWarps; ++i) {
      const float w = warp_tot[i];
      if (i < wid) before += w;
      chunk += w;
    }
    if (t >= 0) op[t] = carry + before + v;
    carry += chunk;
    __syncthreads();   // warp_tot is reused in the next chunk
  }
}

torch::Tensor rev_cumsum(torch::Tensor rewards, torch::Tensor alive) {
  TORCH_CHECK(rewards.dim() == 2 && rewards.sizes() == alive.sizes(), "bad shapes");
  TORCH_CHECK(alive.scalar_type() == torch::kBool, "alive must be bool");
  auto r = rewards.contiguous();
  auto a = alive.contiguous();
  auto out = torch::empty_like(r);
  rev_cumsum_kernel<<<r.size(0), kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
      r.data_ptr<float>(), a.data_ptr<bool>(), out.data_ptr<float>(), (int)r.size(1));
  return out;
}
"""

_m = load_inline(name="h_rev_cumsum_scan", functions=["rev_cumsum"], cuda_sources=[cuda_source],
                 cpp_sources=["torch::Tensor rev_cumsum(torch::Tensor rewards, torch::Tensor alive);"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, rewards, alive):
        return _m.rev_cumsum(rewards, alive)
