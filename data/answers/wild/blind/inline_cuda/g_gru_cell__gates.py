import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

# cuBLAS is already optimal for the two projections; fuse everything after them.
gru_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ __forceinline__ float sigm(float x) { return 1.f / (1.f + __expf(-x)); }

__global__ void gru_gates(const float* __restrict__ gi, const float* __restrict__ gh,
                          const float* __restrict__ h, float* __restrict__ out, int total, int H) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int b = i / H, j = i - b * H;
    const float* pi = gi + (size_t)b * 3 * H + j;
    const float* ph = gh + (size_t)b * 3 * H + j;
    float r = sigm(pi[0] + ph[0]);
    float z = sigm(pi[H] + ph[H]);
    float n = tanhf(pi[2 * H] + r * ph[2 * H]);
    out[i] = (1.f - z) * n + z * h[i];
}

torch::Tensor gru_pointwise(torch::Tensor gi, torch::Tensor gh, torch::Tensor h) {
    gi = gi.contiguous(); gh = gh.contiguous(); h = h.contiguous();
    TORCH_CHECK(gi.size(1) == 3 * h.size(1), "gate size mismatch");
    auto out = torch::empty_like(h);
    int total = h.numel();
    int threads = 128;
    gru_gates<<<(total + threads - 1) / threads, threads>>>(gi.data_ptr<float>(), gh.data_ptr<float>(),
        h.data_ptr<float>(), out.data_ptr<float>(), total, (int)h.size(1));
    return out;
}
"""

gru_ext = load_inline(
    name="g_gru_gates_ext",
    cpp_sources="torch::Tensor gru_pointwise(torch::Tensor gi, torch::Tensor gh, torch::Tensor h);",
    cuda_sources=gru_src,
    functions=["gru_pointwise"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.cell = nn.GRUCell(input_size, hidden_size)

    def forward(self, x, h):
        gi = F.linear(x, self.cell.weight_ih, self.cell.bias_ih)
        gh = F.linear(h, self.cell.weight_hh, self.cell.bias_hh)
        return gru_ext.gru_pointwise(gi, gh, h)
