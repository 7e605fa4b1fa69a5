import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

_src = r'''
#include <torch/extension.h>
#include <tuple>

__global__ void ema_scan(const float* __restrict__ x, const float* __restrict__ h0,
                         const float* __restrict__ logit, float* __restrict__ out,
                         float* __restrict__ last, int B, int T, int D)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;    // (b, d), neighbours in d => coalesced
    if (i >= B * D) return;
    const int b = i / D, d = i - b * D;
    const float a = 1.f / (1.f + expf(-logit[d]));
    const float one_minus_a = 1.f - a;
    const float* xp = x + (size_t)b * T * D + d;
    float* op = out + (size_t)b * T * D + d;
    float h = h0[i];

    int t = 0;
    // prefetch 4 steps at a time to hide the latency of the loads
    for (; t + 4 <= T; t += 4) {
        const float x0 = xp[0], x1 = xp[D], x2 = xp[2 * D], x3 = xp[3 * D];
        h = a * h + one_minus_a * x0; op[0] = h;
        h = a * h + one_minus_a * x1; op[D] = h;
        h = a * h + one_minus_a * x2; op[2 * D] = h;
        h = a * h + one_minus_a * x3; op[3 * D] = h;
        xp += 4 * D;
        op += 4 * D;
    }
    for (; t < T; ++t) {
        h = a * h + one_minus_a * (*xp);
        *op = h;
        xp += D;
        op += D;
    }
    last[i] = h;
}

std::tuple<torch::Tensor, torch::Tensor> ema_forward(torch::Tensor x, torch::Tensor h0, torch::Tensor logit)
{
    x = x.contiguous();
    h0 = h0.contiguous();
    const int B = x.size(0), T = x.size(1), D = x.size(2);
    auto out = torch::empty_like(x);
    auto last = torch::empty_like(h0);
    const int threads = 64;
    ema_scan<<<(B * D + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), h0.data_ptr<float>(), logit.data_ptr<float>(),
        out.data_ptr<float>(), last.data_ptr<float>(), B, T, D);
    return std::make_tuple(out, last);
}
'''

_decl = r'''
#include <tuple>
std::tuple<torch::Tensor, torch::Tensor> ema_forward(torch::Tensor x, torch::Tensor h0, torch::Tensor logit);
'''

_m = load_inline(name='ema_scan_thread', cpp_sources=_decl, cuda_sources=_src, functions=['ema_forward'])

class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.logit_decay = nn.Parameter(torch.randn(dim))

    def forward(self, x, h0):
        return _m.ema_forward(x, h0, self.logit_decay)
