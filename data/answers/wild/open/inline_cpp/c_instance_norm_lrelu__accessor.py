import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Written with accessors: works for any strides of x.
in_src = '''
#include <torch/extension.h>
#include <vector>
#include <cmath>

std::vector<torch::Tensor> forward(
    torch::Tensor x,
    torch::Tensor weight,
    torch::Tensor bias,
    float eps,
    float slope)
{
    const auto N = x.size(0);
    const auto C = x.size(1);
    const auto H = x.size(2);
    const auto W = x.size(3);

    auto y = torch::zeros({N, C, H, W}, x.options());
    auto avg = torch::zeros({N, C}, x.options());

    auto xa = x.accessor<float, 4>();
    auto ya = y.accessor<float, 4>();
    auto aa = avg.accessor<float, 2>();
    auto wa = weight.accessor<float, 1>();
    auto ba = bias.accessor<float, 1>();

    for (int n = 0; n < N; n++) {
        for (int c = 0; c < C; c++) {
            double mean = 0;
            for (int h = 0; h < H; h++)
                for (int w = 0; w < W; w++)
                    mean += xa[n][c][h][w];
            mean /= (H * W);

            double var = 0;
            for (int h = 0; h < H; h++)
                for (int w = 0; w < W; w++) {
                    double d = xa[n][c][h][w] - mean;
                    var += d * d;
                }
            var /= (H * W);

            double inv_std = 1.0 / std::sqrt(var + eps);
            double total = 0;
            for (int h = 0; h < H; h++)
                for (int w = 0; w < W; w++) {
                    float v = (float)((xa[n][c][h][w] - mean) * inv_std) * wa[c] + ba[c];
                    v = v > 0.0f ? v : v * slope;
                    ya[n][c][h][w] = v;
                    total += v;
                }
            aa[n][c] = (float)(total / (H * W));
        }
    }
    return {y, avg};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Instance norm + leaky relu + spatial mean",
          py::arg("x"), py::arg("weight"), py::arg("bias"),
          py::arg("eps") = 1e-5f, py::arg("slope") = 0.01f);
}
'''

instance_norm_ext = load_inline(name='c_instance_norm_acc', cpp_sources=[in_src], extra_cflags=['-O2'])


class ModelNew(nn.Module):
    def __init__(self, channels, slope):
        super(ModelNew, self).__init__()
        self.norm = nn.InstanceNorm2d(channels, affine=True)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.uniform_(self.norm.bias, -0.2, 0.2)
        self.slope = slope

    def forward(self, x):
        y, avg = instance_norm_ext.forward(x, self.norm.weight, self.norm.bias, slope=self.slope)
        return y, avg
