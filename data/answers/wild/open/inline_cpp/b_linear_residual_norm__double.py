import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp = '''
#include <cmath>
#include <vector>

torch::Tensor fused(torch::Tensor x, torch::Tensor weight, torch::Tensor bias,
                    torch::Tensor gamma, torch::Tensor beta, double eps) {
    TORCH_CHECK(x.dim() == 2, "2-D input expected");
    TORCH_CHECK(x.scalar_type() == torch::kFloat, "float32 only");
    x = x.contiguous();
    int64_t rows = x.size(0);
    int64_t D = x.size(1);
    torch::Tensor out = torch::empty_like(x);

    auto xp = x.data_ptr<float>();
    auto wp = weight.data_ptr<float>();
    auto bp = bias.data_ptr<float>();
    auto gp = gamma.data_ptr<float>();
    auto tp = beta.data_ptr<float>();
    auto op = out.data_ptr<float>();

    std::vector<double> y(D);
    for (int64_t r = 0; r < rows; r++) {
        const float* xr = xp + r * D;
        double mean = 0.0;
        for (int64_t n = 0; n < D; n++) {
            double acc = bp[n];
            for (int64_t k = 0; k < D; k++) acc += (double)xr[k] * wp[n * D + k];
            y[n] = xr[n] + (acc > 0.0 ? acc : 0.0);
            mean += y[n];
        }
        mean /= D;
        double var = 0.0;
        for (int64_t n = 0; n < D; n++) var += (y[n] - mean) * (y[n] - mean);
        var /= D;
        double rstd = 1.0 / std::sqrt(var + eps);
        for (int64_t n = 0; n < D; n++) op[r * D + n] = (float)((y[n] - mean) * rstd * gp[n] + tp[n]);
    }
    return out;
}
'''

fused_ext = load_inline(name='linear_residual_norm_cpu', cpp_sources=cpp, functions=['fused'], extra_cflags=['-O2'])


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super(ModelNew, self).__init__()
        self.fc = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim, eps=eps)
        self.eps = eps

    def forward(self, x):
        return fused_ext.fused(x, self.fc.weight, self.fc.bias, self.norm.weight, self.norm.bias, self.eps)
