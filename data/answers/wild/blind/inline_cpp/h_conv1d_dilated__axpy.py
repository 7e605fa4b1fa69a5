import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

conv_cpp = '''
#include <torch/extension.h>
#include <algorithm>

torch::Tensor conv1d_relu(torch::Tensor input, torch::Tensor weight, torch::Tensor bias,
                          int64_t padding, int64_t dilation) {
    input = input.contiguous();
    weight = weight.contiguous();
    int64_t B = input.size(0), Ci = input.size(1), L = input.size(2);
    int64_t Co = weight.size(0), K = weight.size(2);
    int64_t Lo = L + 2 * padding - dilation * (K - 1);
    auto output = torch::empty({B, Co, Lo}, input.options());
    const float* in = input.data_ptr<float>();
    const float* w = weight.data_ptr<float>();
    const float* bs = bias.data_ptr<float>();
    float* out = output.data_ptr<float>();

    #pragma omp parallel for
    for (int64_t bc = 0; bc < B * Co; bc++) {
        int64_t b = bc / Co, co = bc % Co;
        float* o = out + bc * Lo;
        std::fill(o, o + Lo, bs[co]);
        for (int64_t ci = 0; ci < Ci; ci++) {
            const float* x = in + (b * Ci + ci) * L;
            for (int64_t k = 0; k < K; k++) {
                // o[l] += w * x[l + off] wherever l + off lies inside the input
                int64_t off = k * dilation - padding;
                int64_t l0 = std::max<int64_t>(0, -off);
                int64_t l1 = std::min<int64_t>(Lo, L - off);
                float wv = w[(co * Ci + ci) * K + k];
                for (int64_t l = l0; l < l1; l++)
                    o[l] += wv * x[l + off];
            }
        }
        for (int64_t l = 0; l < Lo; l++)
            o[l] = o[l] > 0.0f ? o[l] : 0.0f;
    }
    return output;
}
'''

conv_ext = load_inline(name='h_conv1d_relu_cpu', cpp_sources=conv_cpp, functions=['conv1d_relu'],
                       extra_cflags=['-O3', '-fopenmp'])


class ModelNew(nn.Module):
    """
    Dilated 'same' convolution + ReLU: every tap is an axpy over a contiguous row.
    """

    def __init__(self, in_channels, out_channels, kernel_size, dilation):
        super().__init__()
        self.conv = nn.Conv1d(in_channels, out_channels, kernel_size,
                              padding=dilation * (kernel_size - 1) // 2, dilation=dilation)

    def forward(self, x):
        return conv_ext.conv1d_relu(x, self.conv.weight, self.conv.bias,
                                    self.conv.padding[0], self.conv.dilation[0])
