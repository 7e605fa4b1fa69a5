import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

patchify_source = r"""
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>

struct Dims { int C, H, W, P, GW; };
__constant__ Dims dims;

__global__ void patchify_kernel(
    const torch::PackedTensorAccessor32<float, 4, torch::RestrictPtrTraits> x,
    torch::PackedTensorAccessor32<float, 3, torch::RestrictPtrTraits> out)
{
    const int patch = blockIdx.x;
    const int b = blockIdx.y;
    const int P = dims.P;
    const int gy = patch / dims.GW;
    const int gx = patch % dims.GW;
    const int n = dims.C * P * P;
    for (int e = threadIdx.x; e < n; e += blockDim.x) {
        const int c = e / (P * P);
        const int r = e % (P * P);
        const int y = gy * P + r / P;
        const int xx = gx * P + r % P;
        out[b][patch][e] = (y < dims.H && xx < dims.W) ? x[b][c][y][xx] : 0.0f;
    }
}

torch::Tensor patchify(torch::Tensor x, int64_t p) {
    TORCH_CHECK(x.dim() == 4, "expected NCHW");
    const int B = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), P = (int)p;
    const int GH = (H + P - 1) / P, GW = (W + P - 1) / P;
    Dims host{C, H, W, P, GW};
    cudaError_t err = cudaMemcpyToSymbol(dims, &host, sizeof(Dims));
    TORCH_CHECK(err == cudaSuccess, cudaGetErrorString(err));
    auto out = torch::empty({B, GH * GW, C * P * P}, x.options());
    dim3 grid(GH * GW, B);
    patchify_kernel<<<grid, 128>>>(
        x.packed_accessor32<float, 4, torch::RestrictPtrTraits>(),
        out.packed_accessor32<float, 3, torch::RestrictPtrTraits>());
    return out;
}
"""

patchify_module = load_inline(
    name="patchify_pad_module",
    cpp_sources="torch::Tensor patchify(torch::Tensor x, int64_t p);",
    cuda_sources=patchify_source,
    functions=["patchify"],
    verbose=True,
)


class ModelNew(nn.Module):
    """Padding, unfolding and the transposed copy in one gather (strided inputs welcome)."""

    def __init__(self, patch):
        super().__init__()
        self.patch = patch

    def forward(self, x):
        return patchify_module.patchify(x, self.patch)
