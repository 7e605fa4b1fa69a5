import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def normalize_kernel(img, mean, std, out, HW, C, BLOCK: tl.constexpr):
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # pixel
    c = tl.program_id(1)
    n = tl.program_id(2)
    mask = p < HW
    mu = tl.load(mean + c)
    inv = 1.0 / tl.load(std + c)
    v = tl.load(img + (n * HW + p) * C + c, mask=mask, other=0).to(tl.float32)
    tl.store(out + (n * C + c) * HW + p, (v * (1.0 / 255.0) - mu) * inv, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.register_buffer("mean", torch.linspace(0.4, 0.5, channels).view(1, channels, 1, 1))
        self.register_buffer("std", torch.linspace(0.2, 0.3, channels).view(1, channels, 1, 1))

    def forward(self, img):
        N, H, W, C = img.shape
        out = torch.empty((N, C, H, W), device=img.device, dtype=torch.float32)
        normalize_kernel[(triton.cdiv(H * W, 1024), C, N)](
            img.contiguous(), self.mean, self.std, out, H * W, C, BLOCK=1024)
        return out


if __name__ == "__main__":
    m = ModelNew(3).cuda()
    x = torch.randint(0, 256, (2, 33, 47, 3), dtype=torch.uint8, device="cuda")
    ref = (x.permute(0, 3, 1, 2).float() / 255.0 - m.mean) / m.std
    print("max diff:", (m(x) - ref).abs().max().item())
