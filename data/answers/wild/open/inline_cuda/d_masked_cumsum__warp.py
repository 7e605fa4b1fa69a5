import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

# one warp per row, Kogge-Stone scan with shuffles, carry broadcast from lane 31
cuda_src = '''
#include <cuda_runtime.h>

#define WARP 32
#define FULL 0xffffffffu

__device__ __forceinline__ float warp_inclusive_scan(float v, int lane) {
    #pragma unroll
    for (int d = 1; d < WARP; d <<= 1) {
        float n = __shfl_up_sync(FULL, v, d);
        if (lane >= d) v += n;
    }
    return v;
}

__global__ void cumsum_rows(const float* x, const bool* m, float* y, int rows, int cols) {
    const int lane = threadIdx.x & 31;
    const int row = blockIdx.x * (blockDim.x / WARP) + (threadIdx.x >> 5);
    if (row >= rows) return;          // whole warp leaves together
    const float* xr = x + (size_t)row * cols;
    const bool* mr = m + (size_t)row * cols;
    float* yr = y + (size_t)row * cols;

    float carry = 0.f;
    for (int c0 = 0; c0 < cols; c0 += WARP) {
        int c = c0 + lane;
        float v = (c < cols && mr[c]) ? xr[c] : 0.f;
        v = warp_inclusive_scan(v, lane) + carry;
        if (c < cols) yr[c] = v;
        carry = __shfl_sync(FULL, v, 31);
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor mask) {
    auto xc = x.contiguous();
    auto mc = mask.contiguous();
    auto y = torch::empty_like(xc);
    int cols = xc.size(-1);
    int rows = xc.numel() / cols;
    dim3 block(128);
    dim3 grid((rows + 3) / 4);
    cumsum_rows<<<grid, block>>>(xc.data_ptr<float>(), mc.data_ptr<bool>(), y.data_ptr<float>(), rows, cols);
    return y;
}
'''

cpp_src = "torch::Tensor forward(torch::Tensor x, torch::Tensor mask);"


class ModelNew(nn.Module):
    _ext = None

    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        if ModelNew._ext is None:
            ModelNew._ext = load_inline("warp_cumsum_d", cpp_src, cuda_src, functions=["forward"], with_cuda=True)

    def forward(self, x, mask):
        last = x.dim() - 1
        if self.dim in (-1, last):
            return ModelNew._ext.forward(x, mask)
        xt = x.transpose(self.dim, last)
        mt = mask.transpose(self.dim, last)
        return ModelNew._ext.forward(xt, mt).transpose(self.dim, last)
