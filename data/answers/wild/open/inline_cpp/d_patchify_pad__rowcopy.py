import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

patch_src = r'''
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <algorithm>

// Rows of a patch are contiguous in the image, so every inner step is one short copy; what lies
// outside the image stays at the zero the output was filled with.
torch::Tensor patchify(torch::Tensor x, int64_t p) {
    x = x.contiguous();
    const int64_t B = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    const int64_t gh = (H + p - 1) / p, gw = (W + p - 1) / p;
    auto out = torch::empty({B, gh * gw, C * p * p}, x.options()).fill_(0);
    const float* src = x.data_ptr<float>();
    float* dst = out.data_ptr<float>();

    at::parallel_for(0, B * gh, 1, [&](int64_t lo, int64_t hi) {
        for (int64_t job = lo; job < hi; ++job) {
            const int64_t b = job / gh, gy = job % gh;
            for (int64_t gx = 0; gx < gw; ++gx) {
                float* patch = dst + ((b * gh + gy) * gw + gx) * C * p * p;
                const int64_t width = std::min(p, W - gx * p);
                const int64_t height = std::min(p, H - gy * p);
                for (int64_t c = 0; c < C; ++c)
                    for (int64_t r = 0; r < height; ++r) {
                        const float* s = src + ((b * C + c) * H + gy * p + r) * W + gx * p;
                        std::copy(s, s + width, patch + (c * p + r) * p);
                    }
            }
        }
    });
    return out;
}
'''


class ModelNew(nn.Module):
    def __init__(self, patch):
        super().__init__()
        self.patch = patch
        self._ext = load_inline(name="patchify_cpu", cpp_sources=patch_src, functions=["patchify"], extra_cflags=["-O3"])

    def forward(self, x):
        return self._ext.patchify(x, self.patch)
