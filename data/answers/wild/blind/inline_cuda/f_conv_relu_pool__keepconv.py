import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

relu_maxpool_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void relu_maxpool_kernel(const float* __restrict__ in, float* __restrict__ out,
                                    int NC, int H, int W, int PH, int PW, int P) {
    int ow = blockIdx.x * blockDim.x + threadIdx.x;
    int oh = blockIdx.y * blockDim.y + threadIdx.y;
    int nc = blockIdx.z;
    if (ow >= PW || oh >= PH) return;

    const float* src = in + (size_t)nc * H * W;
    float best = 0.0f;
    for (int i = 0; i < P; ++i)
        for (int j = 0; j < P; ++j)
            best = fmaxf(best, src[(oh * P + i) * W + ow * P + j]);
    out[((size_t)nc * PH + oh) * PW + ow] = best;
}

torch::Tensor relu_maxpool_cuda(torch::Tensor input, int64_t pool) {
    input = input.contiguous();
    auto N = input.size(0), C = input.size(1), H = input.size(2), W = input.size(3);
    auto PH = H / pool, PW = W / pool;
    auto out = torch::empty({N, C, PH, PW}, input.options());
    dim3 threads(16, 16);
    dim3 blocks((PW + 15) / 16, (PH + 15) / 16, N * C);
    relu_maxpool_kernel<<<blocks, threads>>>(input.data_ptr<float>(), out.data_ptr<float>(),
        (int)(N * C), (int)H, (int)W, (int)PH, (int)PW, (int)pool);
    return out;
}
"""

relu_maxpool_cpp_source = "torch::Tensor relu_maxpool_cuda(torch::Tensor input, int64_t pool);"

relu_maxpool = load_inline(
    name="relu_maxpool",
    cpp_sources=relu_maxpool_cpp_source,
    cuda_sources=relu_maxpool_source,
    functions=["relu_maxpool_cuda"],
    verbose=True,
    extra_cflags=[""],
    extra_ldflags=[""],
)


class ModelNew(nn.Module):
    """
    Convolution stays in cuDNN; ReLU and max pooling are fused into one CUDA kernel.
    """
    def __init__(self, in_channels, out_channels, kernel_size, pool_size):
        super(ModelNew, self).__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)
        self.pool_size = pool_size
        self.relu_maxpool = relu_maxpool

    def forward(self, x):
        x = self.conv(x)
        x = self.relu_maxpool.relu_maxpool_cuda(x, self.pool_size)
        return x
