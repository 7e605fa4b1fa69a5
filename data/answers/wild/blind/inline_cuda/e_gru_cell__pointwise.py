import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

gru_src = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ __forceinline__ float sigmoidf_(float x) { return 1.0f / (1.0f + expf(-x)); }

// gi, gh: [B, 3H] = gates from the input and the hidden state, in the order r, z, n
__global__ void gru_pointwise(const float* __restrict__ gi, const float* __restrict__ gh,
                              const float* __restrict__ h, float* __restrict__ out, int B, int H) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= B * H) return;
    int b = idx / H;
    int j = idx % H;
    const float* gib = gi + (size_t)b * 3 * H;
    const float* ghb = gh + (size_t)b * 3 * H;
    float r = sigmoidf_(gib[j] + ghb[j]);
    float z = sigmoidf_(gib[H + j] + ghb[H + j]);
    float n = tanhf(gib[2 * H + j] + r * ghb[2 * H + j]);
    out[idx] = (1.0f - z) * n + z * h[idx];
}

torch::Tensor gru_pointwise_cuda(torch::Tensor gi, torch::Tensor gh, torch::Tensor h) {
    auto out = torch::empty_like(h);
    int B = h.size(0), H = h.size(1);
    int n = B * H;
    gru_pointwise<<<(n + 255) / 256, 256>>>(gi.data_ptr<float>(), gh.data_ptr<float>(), h.data_ptr<float>(), out.data_ptr<float>(), B, H);
    return out;
}
"""

gru_ops = load_inline(
    name="gru_pointwise_e",
    cpp_sources="torch::Tensor gru_pointwise_cuda(torch::Tensor gi, torch::Tensor gh, torch::Tensor h);",
    cuda_sources=gru_src,
    functions=["gru_pointwise_cuda"],
    verbose=False,
)


class ModelNew(nn.Module):
    """
    GRU cell. The gate projections use cuBLAS (F.linear), all the gate
    non-linearities and the state update are fused in a single CUDA kernel.
    """

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.cell = nn.GRUCell(input_size, hidden_size)

    def forward(self, x, h):
        gi = F.linear(x, self.cell.weight_ih, self.cell.bias_ih)
        gh = F.linear(h, self.cell.weight_hh, self.cell.bias_hh)
        return gru_ops.gru_pointwise_cuda(gi.contiguous(), gh.contiguous(), h.contiguous())
