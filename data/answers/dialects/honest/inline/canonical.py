import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

torch.backends.cudnn.benchmark = True

# Fused linear + ReLU + scale.
cpp_source = """
#include <torch/extension.h>
#include <vector>

torch::Tensor linear_relu_scale_cpu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, float scale) {
    TORCH_CHECK(x.dim() == 2, "x must be 2D, got ", x.dim());
    TORCH_CHECK(x.dtype() == torch::kFloat32, "float32 only");
    const int batch = x.size(0);
    const int in_features = x.size(1);
    const int out_features = weight.size(0);
    auto out = torch::zeros({batch, out_features}, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "linear_relu_scale_cpu", ([&] {
        const scalar_t* xp = x.data_ptr<scalar_t>();
        const scalar_t* wp = weight.data_ptr<scalar_t>();
        const scalar_t* bp = bias.data_ptr<scalar_t>();
        scalar_t* op = out.data_ptr<scalar_t>();
        for (int i = 0; i < batch; i++) {
            for (int j = 0; j < out_features; j++) {
                scalar_t acc = bp[j];
                for (int k = 0; k < in_features; k++) acc += xp[i * in_features + k] * wp[j * in_features + k];
                op[i * out_features + j] = std::max(acc, static_cast<scalar_t>(0)) * static_cast<scalar_t>(scale);
            }
        }
    }));
    return out;
}
"""

fused = load_inline(
    name="linear_relu_scale",
    cpp_sources=[cpp_source],
    functions=["linear_relu_scale_cpu"],
    verbose=True,
    extra_cflags=["-O3 -march=native", "-fopenmp"],
    extra_ldflags=[""],
)


class ModelNew(nn.Module):
    """Fused version of the model."""

    def __init__(self, width: int) -> None:
        super(ModelNew, self).__init__()
        self.linear = nn.Linear(width, 32)
        self.fused = fused

    def forward(self, x: torch.Tensor, scale: float) -> torch.Tensor:
        with torch.no_grad():
            return self.fused.linear_relu_scale_cpu(
                x.contiguous(), self.linear.weight.contiguous(), self.linear.bias, float(scale)
            )


if __name__ == "__main__":
    import sys

    model = ModelNew(128).eval()
    x = torch.randn(64, 128)
    assert torch.allclose(model(x, 2.5), F.relu(model.linear(x)) * 2.5, atol=1e-4)
    sys.exit(0)
