import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

_cuda_src = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

#define TILE 16

// 3x3, stride 1, pad 1.  A block computes a TILE x TILE patch of one output channel; the input
// patch with its halo is staged in shared memory channel by channel.
__global__ void conv3x3_bn_relu(const float* __restrict__ x, const float* __restrict__ w,
                                const float* __restrict__ mean, const float* __restrict__ var,
                                const float* __restrict__ gamma, const float* __restrict__ beta,
                                const float* __restrict__ res, float* __restrict__ y,
                                int C, int CO, int H, int W, float eps) {
    __shared__ float patch[TILE + 2][TILE + 2];
    const int tiles_w = (W + TILE - 1) / TILE;
    const int tw = blockIdx.x % tiles_w, th = blockIdx.x / tiles_w;
    const int co = blockIdx.y, n = blockIdx.z;
    const int ow = tw * TILE + threadIdx.x, oh = th * TILE + threadIdx.y;
    const int tid = threadIdx.y * TILE + threadIdx.x;

    float acc = 0.f;
    for (int c = 0; c < C; ++c) {
        const float* xp = x + ((size_t)n * C + c) * H * W;
        for (int i = tid; i < (TILE + 2) * (TILE + 2); i += TILE * TILE) {
            int r = i / (TILE + 2), s = i % (TILE + 2);
            int ih = th * TILE + r - 1, iw = tw * TILE + s - 1;
            patch[r][s] = (ih >= 0 && ih < H && iw >= 0 && iw < W) ? xp[ih * W + iw] : 0.f;
        }
        __syncthreads();
        const float* wp = w + ((size_t)co * C + c) * 9;
        #pragma unroll
        for (int r = 0; r < 3; ++r)
            #pragma unroll
            for (int s = 0; s < 3; ++s)
                acc += patch[threadIdx.y + r][threadIdx.x + s] * wp[r * 3 + s];
        __syncthreads();
    }
    if (ow < W && oh < H) {
        float v = (acc - mean[co]) * rsqrtf(var[co] + eps) * gamma[co] + beta[co];
        size_t o = (((size_t)n * CO + co) * H + oh) * W + ow;
        if (res != nullptr) v += res[o];
        y[o] = fmaxf(v, 0.f);
    }
}

torch::Tensor conv_bn_relu(torch::Tensor x, torch::Tensor w, torch::Tensor mean, torch::Tensor var,
                           torch::Tensor gamma, torch::Tensor beta, double eps,
                           c10::optional<torch::Tensor> res) {
    TORCH_CHECK(w.size(2) == 3 && w.size(3) == 3, "3x3 only");
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), CO = w.size(0);
    auto y = torch::empty({N, CO, H, W}, x.options());
    const float* rp = nullptr;
    if (res.has_value()) {
        TORCH_CHECK(res->sizes() == y.sizes(), "residual shape");
        rp = res->data_ptr<float>();
    }
    dim3 block(TILE, TILE);
    dim3 grid(((W + TILE - 1) / TILE) * ((H + TILE - 1) / TILE), CO, N);
    conv3x3_bn_relu<<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), mean.data_ptr<float>(), var.data_ptr<float>(),
        gamma.data_ptr<float>(), beta.data_ptr<float>(), rp, y.data_ptr<float>(), C, CO, H, W, (float)eps);
    return y;
}
"""

_cpp_src = r"""
torch::Tensor conv_bn_relu(torch::Tensor x, torch::Tensor w, torch::Tensor mean, torch::Tensor var,
                           torch::Tensor gamma, torch::Tensor beta, double eps,
                           c10::optional<torch::Tensor> res);
"""

_ops = load_inline(name="c_res_stack_ops", cpp_sources=_cpp_src, cuda_sources=_cuda_src, functions=["conv_bn_relu"])


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        for bn in (self.bn1, self.bn2):
            bn.running_mean.uniform_(-0.2, 0.2)
            bn.running_var.uniform_(0.5, 1.5)

    @staticmethod
    def _run(x, conv, bn, res):
        return _ops.conv_bn_relu(x, conv.weight, bn.running_mean, bn.running_var, bn.weight, bn.bias, bn.eps, res)

    def forward(self, x):
        y = self._run(x, self.conv1, self.bn1, None)
        return self._run(y, self.conv2, self.bn2, x)


class ModelNew(nn.Module):
    def __init__(self, channels, depth):
        super().__init__()
        self.blocks = nn.ModuleList([Block(channels) for _ in range(depth)])

    def forward(self, x):
        x = x.contiguous()
        for block in self.blocks:
            x = block(x)
        return x
