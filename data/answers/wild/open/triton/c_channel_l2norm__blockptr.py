import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def l2_kernel(x_ptr, y_ptr, scale_ptr, C, P, eps, BC: tl.constexpr, BP: tl.constexpr):
    n = tl.program_id(1)
    pid = tl.program_id(0)
    xb = tl.make_block_ptr(base=x_ptr + n * C * P, shape=(C, P), strides=(P, 1),
                           offsets=(0, pid * BP), block_shape=(BC, BP), order=(1, 0))
    yb = tl.make_block_ptr(base=y_ptr + n * C * P, shape=(C, P), strides=(P, 1),
                           offsets=(0, pid * BP), block_shape=(BC, BP), order=(1, 0))
    x = tl.load(xb, boundary_check=(0, 1), padding_option="zero")
    norm = tl.sqrt(tl.sum(x * x, axis=0))
    scale = tl.load(scale_ptr)
    inv = scale / tl.maximum(norm, eps)
    tl.store(yb, x * inv[None, :], boundary_check=(0, 1))


class ModelNew(nn.Module):
    """Channel-wise L2 norm with Triton block pointers."""

    def __init__(self, scale):
        super().__init__()
        self.register_buffer("scale", torch.tensor(float(scale)))

    def forward(self, x):
        if x.dim() != 4:
            raise ValueError(f"expected NCHW, got {tuple(x.shape)}")
        x = x.contiguous()
        N, C, H, W = x.shape
        y = torch.empty_like(x)
        P = H * W
        BP = 32
        l2_kernel[(triton.cdiv(P, BP), N)](x, y, self.scale, C, P, 1e-12,
                                           BC=triton.next_power_of_2(C), BP=BP)
        return y


if __name__ == "__main__":
    m = ModelNew(10.0).cuda()
    x = torch.randn(2, 60, 8, 9, device="cuda")
    print((m(x) - torch.nn.functional.normalize(x, dim=1) * 10).abs().max())
