import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <vector>

std::vector<torch::Tensor> row_stats(torch::Tensor x) {
    x = x.contiguous();
    std::vector<int64_t> shape = x.sizes().vec();
    int64_t D = shape.back();
    shape.pop_back();
    int64_t rows = x.numel() / D;

    torch::Tensor mean = torch::empty(shape, x.options());
    torch::Tensor var = torch::empty(shape, x.options());
    torch::Tensor mx = torch::empty(shape, x.options());
    torch::Tensor idx = torch::empty(shape, x.options().dtype(torch::kLong));

    const float* xp = x.data_ptr<float>();
    float* mp = mean.data_ptr<float>();
    float* vp = var.data_ptr<float>();
    float* xm = mx.data_ptr<float>();
    int64_t* ip = idx.data_ptr<int64_t>();

    #pragma omp parallel for
    for (int64_t r = 0; r < rows; r++) {
        const float* p = xp + r * D;
        double sum = 0.0;
        float best = p[0];
        int64_t best_i = 0;
        for (int64_t i = 0; i < D; i++) {
            sum += p[i];
            if (p[i] > best) {
                best = p[i];
                best_i = i;
            }
        }
        double mu = sum / D;
        double sq = 0.0;
        for (int64_t i = 0; i < D; i++) {
            double d = p[i] - mu;
            sq += d * d;
        }
        mp[r] = (float)mu;
        vp[r] = (float)(sq / D);
        xm[r] = best;
        ip[r] = best_i;
    }
    return {mean, var, mx, idx};
}
'''

row_stats_mod = load_inline(
    name='h_row_stats_cpu',
    cpp_sources=[source],
    functions=['row_stats'],
    extra_cflags=['-O3', '-fopenmp'],
    extra_ldflags=['-fopenmp'],
    verbose=True,
)


class ModelNew(nn.Module):
    """Mean, biased variance, maximum and its position: two passes over each row."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        return tuple(row_stats_mod.row_stats(x))
