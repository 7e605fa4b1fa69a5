import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <vector>

constexpr int NT = 128;
typedef __nv_bfloat16 bf16;

__device__ __forceinline__ float reduce_all(float v, float* buf) {
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    __syncthreads();                       // buf may still be read from the previous call
    if ((threadIdx.x & 31) == 0) buf[threadIdx.x >> 5] = v;
    __syncthreads();
    return buf[0] + buf[1] + buf[2] + buf[3];
}

__global__ __launch_bounds__(NT) void add_ln_kernel(
    const bf16* __restrict__ x, const bf16* __restrict__ r, const bf16* __restrict__ w, const bf16* __restrict__ b,
    bf16* __restrict__ y, bf16* __restrict__ s_out, int D, float eps)
{
    extern __shared__ float row[];
    __shared__ float buf[NT / 32];
    const size_t base = (size_t)blockIdx.x * D;
    float sum = 0.f;
    if ((D & 1) == 0) {
        const __nv_bfloat162* x2 = reinterpret_cast<const __nv_bfloat162*>(x + base);
        const __nv_bfloat162* r2 = reinterpret_cast<const __nv_bfloat162*>(r + base);
        __nv_bfloat162* s2 = reinterpret_cast<__nv_bfloat162*>(s_out + base);
        for (int i = threadIdx.x; i < D / 2; i += NT) {
            const __nv_bfloat162 a = x2[i], c = r2[i];
            const bf16 lo = __float2bfloat16(__low2float(a) + __low2float(c));
            const bf16 hi = __float2bfloat16(__high2float(a) + __high2float(c));
            s2[i] = __halves2bfloat162(lo, hi);
            const float f0 = __bfloat162float(lo), f1 = __bfloat162float(hi);
            row[2 * i] = f0;
            row[2 * i + 1] = f1;
            sum += f0 + f1;
        }
    } else {
        for (int i = threadIdx.x; i < D; i += NT) {
            const bf16 v = __float2bfloat16(__bfloat162float(x[base + i]) + __bfloat162float(r[base + i]));
            s_out[base + i] = v;
            row[i] = __bfloat162float(v);
            sum += row[i];
        }
    }
    const float mean = reduce_all(sum, buf) / D;   // contains barriers: row[] is visible after it
    float sq = 0.f;
    for (int i = threadIdx.x; i < D; i += NT) {
        const float c = row[i] - mean;
        sq = fmaf(c, c, sq);
    }
    const float rstd = rsqrtf(reduce_all(sq, buf) / D + eps);
    for (int i = threadIdx.x; i < D; i += NT)
        y[base + i] = __float2bfloat16((row[i] - mean) * rstd * __bfloat162float(w[i]) + __bfloat162float(b[i]));
}

std::vector<torch::Tensor> add_ln(torch::Tensor x, torch::Tensor r, torch::Tensor w, torch::Tensor b, double eps) {
    TORCH_CHECK(x.scalar_type() == torch::kBFloat16, "bfloat16 expected");
    TORCH_CHECK(x.sizes() == r.sizes(), "x / residual shape mismatch");
    x = x.contiguous();
    r = r.contiguous();
    const int D = x.size(-1);
    const int rows = x.numel() / D;
    auto y = torch::empty_like(x);
    auto s = torch::empty_like(x);
    auto p = [](const torch::Tensor& t) { return reinterpret_cast<bf16*>(t.data_ptr<at::BFloat16>()); };
    add_ln_kernel<<<rows, NT, D * sizeof(float)>>>(p(x), p(r), p(w), p(b), p(y), p(s), D, (float)eps);
    return {y, s};
}
"""

fused = load_inline(
    name="g_bf16_add_ln_v2",
    cpp_sources="#include <vector>\nstd::vector<torch::Tensor> add_ln(torch::Tensor x, torch::Tensor r, torch::Tensor w, torch::Tensor b, double eps);",
    cuda_sources=source,
    functions=["add_ln"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ln = nn.LayerNorm(dim).to(torch.bfloat16)

    def forward(self, x, residual):
        y, s = fused.add_ln(x, residual, self.ln.weight, self.ln.bias, self.ln.eps)
        return y, s
