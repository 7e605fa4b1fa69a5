import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline


def _capability():
    if torch.version.cuda is None or not torch.cuda.is_available():
        return (8, 0)
    return torch.cuda.get_device_capability()


cuda_src = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

template <int KT>
__global__ void __launch_bounds__(256) dw_kernel(
    const float* __restrict__ x, const float* __restrict__ w,
    const float* __restrict__ mean, const float* __restrict__ var,
    const float* __restrict__ gamma, const float* __restrict__ beta,
    float* __restrict__ y,
    int C, int H, int W, int OH, int OW, int kdyn, int stride, int pad, float eps)
{
    const int K = KT > 0 ? KT : kdyn;
    const int ow = blockIdx.x * blockDim.x + threadIdx.x;
    const int oh = blockIdx.y * blockDim.y + threadIdx.y;
    const int nc = blockIdx.z;
    const int c = nc % C;
    if (ow >= OW || oh >= OH) return;

    const float* xp = x + (long)nc * H * W;
    const float* wp = w + c * K * K;
    float acc = 0.0f;
    #pragma unroll
    for (int i = 0; i < K; ++i) {
        const int ih = oh * stride - pad + i;
        if (ih < 0 || ih >= H) continue;
        #pragma unroll
        for (int j = 0; j < K; ++j) {
            const int iw = ow * stride - pad + j;
            if (iw >= 0 && iw < W) acc = fmaf(xp[ih * W + iw], wp[i * K + j], acc);
        }
    }
    const float sc = gamma[c] * rsqrtf(var[c] + eps);
    const float v = (acc - mean[c]) * sc + beta[c];
    y[((long)nc * OH + oh) * OW + ow] = fminf(fmaxf(v, 0.0f), 6.0f);
}

torch::Tensor dw_bn_relu6(torch::Tensor x, torch::Tensor w, torch::Tensor mean, torch::Tensor var,
                          torch::Tensor gamma, torch::Tensor beta, int64_t stride, int64_t pad, double eps)
{
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), K = w.size(2);
    const int OH = (H + 2 * pad - K) / stride + 1;
    const int OW = (W + 2 * pad - K) / stride + 1;
    auto y = torch::empty({N, C, OH, OW}, x.options());
    dim3 block(32, 8);
    dim3 grid((OW + 31) / 32, (OH + 7) / 8, N * C);
    auto stream = at::cuda::getCurrentCUDAStream();
#define LAUNCH(KT) dw_kernel<KT><<<grid, block, 0, stream>>>(x.data_ptr<float>(), w.data_ptr<float>(), \\
        mean.data_ptr<float>(), var.data_ptr<float>(), gamma.data_ptr<float>(), beta.data_ptr<float>(), \\
        y.data_ptr<float>(), C, H, W, OH, OW, K, (int)stride, (int)pad, (float)eps)
    switch (K) {
        case 3: LAUNCH(3); break;
        case 5: LAUNCH(5); break;
        default: LAUNCH(0);
    }
#undef LAUNCH
    return y;
}
"""

cpp_src = """
torch::Tensor dw_bn_relu6(torch::Tensor x, torch::Tensor w, torch::Tensor mean, torch::Tensor var,
                          torch::Tensor gamma, torch::Tensor beta, int64_t stride, int64_t pad, double eps);
"""

_flags = ["-O3"]
if _capability() >= (8, 0):
    _flags.append("--extra-device-vectorization")

dw = load_inline(name="dw_bn_relu6_tmpl", cpp_sources=cpp_src, cuda_sources=cuda_src,
                 functions=["dw_bn_relu6"], extra_cuda_cflags=_flags)


class ModelNew(nn.Module):
    def __init__(self, channels, ksize, stride):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, ksize, stride=stride, padding=ksize // 2, groups=channels, bias=False)
        self.bn = nn.BatchNorm2d(channels)
        nn.init.uniform_(self.bn.weight, 2.0, 6.0)
        nn.init.uniform_(self.bn.bias, 0.0, 2.0)
        self.bn.running_mean.uniform_(-0.3, 0.3)
        self.bn.running_var.uniform_(0.5, 1.5)

    def forward(self, x):
        bn, conv = self.bn, self.conv
        return dw.dw_bn_relu6(x.contiguous(), conv.weight, bn.running_mean, bn.running_var, bn.weight, bn.bias,
                              conv.stride[0], conv.padding[0], bn.eps)
