import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

template <typename scalar_t>
__global__ void instance_norm_lrelu_kernel(
    const scalar_t* __restrict__ x,
    const scalar_t* __restrict__ gamma,
    const scalar_t* __restrict__ beta,
    scalar_t* __restrict__ y,
    const int C, const int HW, const float eps, const float slope) {

  extern __shared__ float sdata[];
  float* ssum = sdata;
  float* ssq = sdata + blockDim.x;

  const int nc = blockIdx.x;
  const int c = nc % C;
  const scalar_t* xp = x + (int64_t)nc * HW;
  scalar_t* yp = y + (int64_t)nc * HW;

  // shift by the first element to keep E[x^2] - E[x]^2 well conditioned
  const float shift = static_cast<float>(xp[0]);
  float s = 0.f, q = 0.f;
  for (int i = threadIdx.x; i < HW; i += blockDim.x) {
    const float v = static_cast<float>(xp[i]) - shift;
    s += v;
    q += v * v;
  }
  ssum[threadIdx.x] = s;
  ssq[threadIdx.x] = q;
  __syncthreads();
  for (unsigned int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (threadIdx.x < k) {
      ssum[threadIdx.x] += ssum[threadIdx.x + k];
      ssq[threadIdx.x] += ssq[threadIdx.x + k];
    }
    __syncthreads();
  }
  const float m = ssum[0] / HW;
  const float var = fmaxf(ssq[0] / HW - m * m, 0.f);
  const float mean = m + shift;
  const float g = static_cast<float>(gamma[c]) * rsqrtf(var + eps);
  const float b = static_cast<float>(beta[c]);

  for (int i = threadIdx.x; i < HW; i += blockDim.x) {
    float v = (static_cast<float>(xp[i]) - mean) * g + b;
    v = v > 0.f ? v : v * slope;
    yp[i] = static_cast<scalar_t>(v);
  }
}

torch::Tensor instance_norm_lrelu_forward(torch::Tensor input, torch::Tensor weight, torch::Tensor bias,
                                          double eps, double slope) {
  TORCH_CHECK(input.dim() == 4, "expected a 4D input");
  auto x = input.contiguous();
  auto out = torch::empty_like(x);
  const int N = x.size(0), C = x.size(1), HW = x.size(2) * x.size(3);
  const int threads = 256;
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "instance_norm_lrelu", ([&] {
    instance_norm_lrelu_kernel<scalar_t><<<N * C, threads, 2 * threads * sizeof(float)>>>(
        x.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(), bias.data_ptr<scalar_t>(),
        out.data_ptr<scalar_t>(), C, HW, (float)eps, (float)slope);
  }));
  return out;
}
"""

fused = load_inline(
    name="h_instance_norm_lrelu",
    cpp_sources="torch::Tensor instance_norm_lrelu_forward(torch::Tensor input, torch::Tensor weight, torch::Tensor bias, double eps, double slope);",
    cuda_sources=src,
    functions=["instance_norm_lrelu_forward"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features, negative_slope):
        super().__init__()
        self.norm = nn.InstanceNorm2d(num_features, eps=1e-5, affine=True)
        self.act = nn.LeakyReLU(negative_slope)
        with torch.no_grad():
            self.norm.weight.copy_(torch.rand(num_features) + 0.5)
            self.norm.bias.copy_(torch.randn(num_features) * 0.3)

    def forward(self, x):
        return fused.instance_norm_lrelu_forward(
            x, self.norm.weight, self.norm.bias, self.norm.eps, self.act.negative_slope)
