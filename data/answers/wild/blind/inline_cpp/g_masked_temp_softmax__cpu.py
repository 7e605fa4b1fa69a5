import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

softmax_cpp = '''
#include <torch/extension.h>
#include <cmath>
#include <limits>

torch::Tensor masked_softmax(torch::Tensor scores, torch::Tensor mask, float temperature) {
    TORCH_CHECK(!scores.is_cuda(), "CPU tensors only");
    auto s = scores.contiguous();
    auto k = mask.contiguous();
    auto out = torch::empty_like(s);

    const int64_t B = s.size(0), H = s.size(1), Q = s.size(2), N = s.size(3);
    const float inv_t = 1.0f / temperature;
    const float* sp = s.data_ptr<float>();
    const bool* kp = k.data_ptr<bool>();
    float* op = out.data_ptr<float>();

    #pragma omp parallel for collapse(2)
    for (int64_t b = 0; b < B; b++) {
        for (int64_t hq = 0; hq < H * Q; hq++) {
            const float* in = sp + (b * H * Q + hq) * N;
            const bool* keep = kp + b * N;
            float* o = op + (b * H * Q + hq) * N;
            float mx = -std::numeric_limits<float>::max();
            for (int64_t j = 0; j < N; j++) {
                float v = keep[j] ? in[j] * inv_t : -1e4f;
                o[j] = v;
                if (v > mx) mx = v;
            }
            float sum = 0.0f;
            for (int64_t j = 0; j < N; j++) {
                o[j] = expf(o[j] - mx);
                sum += o[j];
            }
            const float inv = 1.0f / sum;
            for (int64_t j = 0; j < N; j++) o[j] *= inv;
        }
    }
    return out;
}
'''

masked_softmax = load_inline(
    name='g_masked_softmax_cpu',
    cpp_sources=softmax_cpp,
    functions=['masked_softmax'],
    extra_cflags=['-O3', '-fopenmp'],
    extra_ldflags=['-lgomp'],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self, temperature):
        super(ModelNew, self).__init__()
        self.temperature = temperature
        self.masked_softmax = masked_softmax

    def forward(self, scores, mask):
        return self.masked_softmax.masked_softmax(scores, mask, self.temperature)
