import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

segment_cpp = """
std::vector<torch::Tensor> segment_mean(torch::Tensor x, torch::Tensor index, int64_t segments) {
    x = x.contiguous();
    index = index.contiguous();
    int64_t n = x.size(0), dim = x.size(1);
    torch::Tensor mean = torch::zeros({segments, dim}, x.options());
    torch::Tensor count = torch::zeros({segments}, x.options());
    float* m = mean.data_ptr<float>();
    float* cnt = count.data_ptr<float>();
    const float* xp = x.data_ptr<float>();
    const int64_t* ip = index.data_ptr<int64_t>();

    for (int64_t i = 0; i < n; i++) {
        int64_t s = ip[i];
        TORCH_CHECK(s >= 0 && s < segments, "segment index out of range: ", s);
        cnt[s] += 1.0f;
        for (int64_t d = 0; d < dim; d++)
            m[s * dim + d] += xp[i * dim + d];
    }
    for (int64_t s = 0; s < segments; s++) {
        if (cnt[s] <= 1.0f) continue;
        for (int64_t d = 0; d < dim; d++)
            m[s * dim + d] /= cnt[s];
    }
    return {mean, count};
}
"""

segment = load_inline(name="segment_mean_cpu", cpp_sources=segment_cpp, functions=["segment_mean"])


class ModelNew(nn.Module):
    def __init__(self, segments):
        super().__init__()
        self.segments = segments

    def forward(self, x, index):
        return tuple(segment.segment_mean(x, index, self.segments))
