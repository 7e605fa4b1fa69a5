import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

conv_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void conv2d_hardswish_kernel(
    const float* input, const float* weight, const float* bias, float* output,
    int N, int C_in, int H, int W,
    int C_out, int H_out, int W_out,
    int KH, int KW, int stride, int padding
) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int total = N * C_out * H_out * W_out;
    if (idx >= total) return;

    int ow = idx % W_out;
    int oh = (idx / W_out) % H_out;
    int oc = (idx / (W_out * H_out)) % C_out;
    int n = idx / (W_out * H_out * C_out);

    float sum = bias[oc];
    for (int ic = 0; ic < C_in; ++ic) {
        for (int kh = 0; kh < KH; ++kh) {
            int ih = oh * stride - padding + kh;
            if (ih < 0 || ih >= H) continue;
            for (int kw = 0; kw < KW; ++kw) {
                int iw = ow * stride - padding + kw;
                if (iw < 0 || iw >= W) continue;
                sum += input[((n * C_in + ic) * H + ih) * W + iw] *
                       weight[((oc * C_in + ic) * KH + kh) * KW + kw];
            }
        }
    }
    // hardswish
    float r6 = fminf(fmaxf(sum + 3.0f, 0.0f), 6.0f);
    output[idx] = sum * r6 / 6.0f;
}

torch::Tensor conv2d_hardswish_cuda(torch::Tensor input, torch::Tensor weight, torch::Tensor bias, int stride, int padding) {
    int N = input.size(0);
    int C_in = input.size(1);
    int H = input.size(2);
    int W = input.size(3);
    int C_out = weight.size(0);
    int KH = weight.size(2);
    int KW = weight.size(3);
    int H_out = (H + 2 * padding - KH) / stride + 1;
    int W_out = (W + 2 * padding - KW) / stride + 1;

    auto output = torch::zeros({N, C_out, H_out, W_out}, input.options());
    const int block_size = 256;
    int total = N * C_out * H_out * W_out;
    const int num_blocks = (total + block_size - 1) / block_size;
    conv2d_hardswish_kernel<<<num_blocks, block_size>>>(
        input.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), output.data_ptr<float>(),
        N, C_in, H, W, C_out, H_out, W_out, KH, KW, stride, padding);
    return output;
}
"""

conv_cpp_source = "torch::Tensor conv2d_hardswish_cuda(torch::Tensor input, torch::Tensor weight, torch::Tensor bias, int stride, int padding);"

conv2d_hardswish = load_inline(
    name="conv2d_hardswish",
    cpp_sources=conv_cpp_source,
    cuda_sources=conv_source,
    functions=["conv2d_hardswish_cuda"],
    verbose=True,
    extra_cflags=["-O2"],
    extra_cuda_cflags=["-O2"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding):
        super(ModelNew, self).__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.stride = stride
        self.padding = padding
        self.conv2d_hardswish = conv2d_hardswish

    def forward(self, x):
        return self.conv2d_hardswish.conv2d_hardswish_cuda(
            x.contiguous(), self.conv.weight, self.conv.bias, self.stride, self.padding
        )
