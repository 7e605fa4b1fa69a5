import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

#define TP 32

// block = (32, 8). Each block handles 32 positions of one image.
// Tile [C][33] in shared memory turns the strided reads into coalesced ones both ways.
__global__ void ln_tokens_kernel(const float* __restrict__ x, const float* __restrict__ gamma,
                                 const float* __restrict__ beta, float* __restrict__ y,
                                 int C, int P, float eps) {
    extern __shared__ float tile[];      // C * 33
    __shared__ float part[8][TP];
    __shared__ float s_mean[TP];
    __shared__ float s_rstd[TP];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int p0 = blockIdx.x * TP;
    const int b = blockIdx.y;
    const float* xb = x + (size_t)b * C * P;
    float* yb = y + (size_t)b * C * P;

    float sum = 0.f;
    for (int c = ty; c < C; c += 8) {
        float v = (p0 + tx < P) ? xb[(size_t)c * P + p0 + tx] : 0.f;
        tile[c * (TP + 1) + tx] = v;
        sum += v;
    }
    part[ty][tx] = sum;
    __syncthreads();
    if (ty == 0) {
        float t = 0.f;
        for (int i = 0; i < 8; ++i) t += part[i][tx];
        s_mean[tx] = t / C;
    }
    __syncthreads();

    float mean = s_mean[tx];
    float sq = 0.f;
    for (int c = ty; c < C; c += 8) {
        float d = tile[c * (TP + 1) + tx] - mean;
        sq += d * d;
    }
    part[ty][tx] = sq;
    __syncthreads();
    if (ty == 0) {
        float t = 0.f;
        for (int i = 0; i < 8; ++i) t += part[i][tx];
        s_rstd[tx] = rsqrtf(t / C + eps);
    }
    __syncthreads();

    // write: each ty takes a position, tx runs over channels
    for (int p = ty; p < TP && p0 + p < P; p += 8) {
        for (int c = tx; c < C; c += TP) {
            yb[(size_t)(p0 + p) * C + c] =
                (tile[c * (TP + 1) + p] - s_mean[p]) * s_rstd[p] * gamma[c] + beta[c];
        }
    }
}

torch::Tensor ln_tokens(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps) {
    x = x.contiguous();
    const int B = x.size(0), C = x.size(1);
    const int P = x.size(2) * x.size(3);
    auto y = torch::empty({B, P, C}, x.options());
    size_t smem = (size_t)C * (TP + 1) * sizeof(float);
    if (smem > 40 * 1024) {
        cudaFuncSetAttribute(ln_tokens_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)smem);
    }
    ln_tokens_kernel<<<dim3((P + TP - 1) / TP, B), dim3(TP, 8), smem>>>(
        x.data_ptr<float>(), gamma.data_ptr<float>(), beta.data_ptr<float>(), y.data_ptr<float>(), C, P, (float)eps);
    auto err = cudaGetLastError();
    TORCH_CHECK(err == cudaSuccess, cudaGetErrorString(err));
    return y;
}
"""

ln_tokens = load_inline(
    name="ln_tokens",
    cpp_sources="torch::Tensor ln_tokens(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps);",
    cuda_sources=source,
    functions=["ln_tokens"],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.LayerNorm(channels, eps=1e-6)

    def forward(self, x):
        return ln_tokens.ln_tokens(x, self.norm.weight, self.norm.bias, self.norm.eps)
