import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bn_add_hswish(x_ptr, id_ptr, w_ptr, b_ptr, mean_ptr, var_ptr, y_ptr,
                  n_elements, C, HW, eps, n_tiles,
                  BLOCK: tl.constexpr):
    # persistent-style loop over tiles
    for tile in range(tl.program_id(0), n_tiles, tl.num_programs(0)):
        offs = tile * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n_elements
        c = (offs // HW) % C
        x = tl.load(x_ptr + offs, mask=mask)
        r = tl.load(id_ptr + offs, mask=mask)
        mean = tl.load(mean_ptr + c, mask=mask)
        var = tl.load(var_ptr + c, mask=mask, other=1.0)
        w = tl.load(w_ptr + c, mask=mask)
        b = tl.load(b_ptr + c, mask=mask)
        y = (x - mean) * tl.rsqrt(var + eps) * w + b + r
        gate = tl.minimum(tl.maximum(y + 3.0, 0.0), 6.0)
        tl.store(y_ptr + offs, y * gate * (1.0 / 6.0), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.2)
        self.register_buffer("running_mean", torch.randn(channels) * 0.5)
        self.register_buffer("running_var", torch.rand(channels) + 0.5)

    def forward(self, x, identity):
        x = x.contiguous()
        identity = identity.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        C = x.shape[1]
        HW = x.shape[2] * x.shape[3]
        BLOCK = 1024
        n_tiles = triton.cdiv(n, BLOCK)
        num_sms = torch.cuda.get_device_properties(x.device).multi_processor_count
        grid = (min(n_tiles, 4 * num_sms),)
        bn_add_hswish[grid](x, identity, self.weight, self.bias, self.running_mean, self.running_var, y,
                            n, C, HW, self.eps, n_tiles, BLOCK=BLOCK)
        return y
