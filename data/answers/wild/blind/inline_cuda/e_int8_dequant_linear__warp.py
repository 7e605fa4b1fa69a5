import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r'''
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <stdint.h>

// One warp for one output element.
// sum_k x[k] * (q[k] - z) * s = s * (sum_k x[k] * q[k] - z * sum_k x[k])
__global__ void w8_gemv_kernel(const float* __restrict__ x, const int8_t* __restrict__ q,
                               const float* __restrict__ scales, const int8_t* __restrict__ zeros,
                               const float* __restrict__ bias, float* __restrict__ y,
                               int M, int N, int K, bool vec)
{
    const int gwarp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (gwarp >= M * N) return;
    const int m = gwarp / N;
    const int n = gwarp % N;
    const float* xr = x + (size_t)m * K;
    const int8_t* qr = q + (size_t)n * K;

    float dot = 0.f, sx = 0.f;
    if (vec) {
        const float4* x4 = reinterpret_cast<const float4*>(xr);
        const char4* q4 = reinterpret_cast<const char4*>(qr);
        for (int i = lane; i < K / 4; i += 32) {
            const float4 a = x4[i];
            const char4 b = q4[i];
            dot += a.x * (float)b.x + a.y * (float)b.y + a.z * (float)b.z + a.w * (float)b.w;
            sx += a.x + a.y + a.z + a.w;
        }
    } else {
        for (int i = lane; i < K; i += 32) {
            dot += xr[i] * (float)qr[i];
            sx += xr[i];
        }
    }
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
        dot += __shfl_down_sync(0xffffffff, dot, o);
        sx += __shfl_down_sync(0xffffffff, sx, o);
    }
    if (lane == 0) y[(size_t)m * N + n] = scales[n] * (dot - (float)zeros[n] * sx) + bias[n];
}

torch::Tensor w8_linear(torch::Tensor x, torch::Tensor q, torch::Tensor scales, torch::Tensor zeros, torch::Tensor bias)
{
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(q.scalar_type() == torch::kChar && zeros.scalar_type() == torch::kChar, "int8 weights expected");
    TORCH_CHECK(x.size(1) == q.size(1), "in_features mismatch");
    x = x.contiguous();
    const int M = x.size(0), K = x.size(1), N = q.size(0);
    auto y = torch::empty({M, N}, x.options());
    const int64_t threads_total = (int64_t)M * N * 32;
    const int threads = 256;
    const float* xp = x.data_ptr<float>();
    const int8_t* qp = q.data_ptr<int8_t>();
    const bool vec = K % 4 == 0 && ((uintptr_t)xp % 16) == 0 && ((uintptr_t)qp % 4) == 0;
    w8_gemv_kernel<<<(threads_total + threads - 1) / threads, threads>>>(
        xp, qp, scales.data_ptr<float>(), zeros.data_ptr<int8_t>(), bias.data_ptr<float>(),
        y.data_ptr<float>(), M, N, K, vec);
    return y;
}
'''

cpp_source = '''
torch::Tensor w8_linear(torch::Tensor x, torch::Tensor q, torch::Tensor scales, torch::Tensor zeros, torch::Tensor bias);
'''

w8 = load_inline(name='w8_linear_warp', cpp_sources=cpp_source, cuda_sources=cuda_source,
                 functions=['w8_linear'], extra_cuda_cflags=['-O3'])


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("qweight", torch.randint(-128, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(out_features) * 0.01 + 0.001)
        self.register_buffer("zeros", torch.randint(-8, 8, (out_features,), dtype=torch.int8))
        self.bias = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        return w8.w8_linear(x, self.qweight, self.scales, self.zeros, self.bias)
