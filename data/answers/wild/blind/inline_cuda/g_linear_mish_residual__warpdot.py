import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

// block = one input row (cached in shared memory), each warp produces outputs n = warp, warp + W, ...
__global__ void lin_mish_kernel(const float* x, const float* w, const float* b, float* out, int K, int N) {
    extern __shared__ float xs[];
    int row = blockIdx.x;
    for (int i = threadIdx.x; i < K; i += blockDim.x) xs[i] = x[(long long)row * K + i];
    __syncthreads();

    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int nwarps = blockDim.x / 32;
    for (int n = warp; n < N; n += nwarps) {
        const float* wr = w + (long long)n * K;
        float s = 0.f;
        for (int k = lane; k < K; k += 32) s += xs[k] * wr[k];
        for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
        if (lane == 0) {
            float v = s + b[n];
            float sp = v > 20.f ? v : log1pf(expf(v));
            out[(long long)row * N + n] = xs[n] + v * tanhf(sp);
        }
    }
}

torch::Tensor lin_mish(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    auto xc = x.contiguous();
    int M = xc.size(0), K = xc.size(1), N = w.size(0);
    TORCH_CHECK(K == N, "residual requires in_features == out_features");
    auto out = torch::empty({M, N}, xc.options());
    lin_mish_kernel<<<M, 256, K * sizeof(float)>>>(xc.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                                   out.data_ptr<float>(), K, N);
    return out;
}
'''
cpp_source = 'torch::Tensor lin_mish(torch::Tensor x, torch::Tensor w, torch::Tensor b);'

lin_mish = load_inline(name='g_lin_mish_warpdot', cpp_sources=cpp_source, cuda_sources=cuda_source, functions=['lin_mish'], verbose=True)

class ModelNew(nn.Module):
    def __init__(self, dim):
        super(ModelNew, self).__init__()
        self.fc = nn.Linear(dim, dim)
        self.lin_mish = lin_mish

    def forward(self, x):
        return self.lin_mish.lin_mish(x, self.fc.weight, self.fc.bias)
