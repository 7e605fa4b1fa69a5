import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def squeeze_gate_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr,
    n_planes, C, HW,
    BLOCK: tl.constexpr,
):
    """Each program walks over (n, c) planes; a plane is read twice, the second time from L2."""
    for plane in tl.range(tl.program_id(0), n_planes, tl.num_programs(0), num_stages=1):
        c = plane % C
        base = plane.to(tl.int64) * HW
        acc = tl.zeros([BLOCK], dtype=tl.float32)
        for i in range(0, HW, BLOCK):
            offs = i + tl.arange(0, BLOCK)
            acc += tl.load(x_ptr + base + offs, mask=offs < HW, other=0.0)
        mean = tl.sum(acc, axis=0) / HW
        z = mean * tl.load(w_ptr + c) + tl.load(b_ptr + c)
        gate = 1.0 / (1.0 + tl.exp(-z))
        for i in range(0, HW, BLOCK):
            offs = i + tl.arange(0, BLOCK)
            m = offs < HW
            v = tl.load(x_ptr + base + offs, mask=m)
            tl.store(y_ptr + base + offs, v * gate, mask=m)


class ModelNew(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels))
        self.bias = nn.Parameter(torch.randn(channels) * 0.5)

    @staticmethod
    def _num_sms(device) -> int:
        if torch.cuda.is_available() and device.type == "cuda":
            return torch.cuda.get_device_properties(device).multi_processor_count
        return 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        n, c, h, w = x.shape
        y = torch.empty_like(x)
        grid = (min(n * c, 4 * self._num_sms(x.device)),)
        squeeze_gate_kernel[grid](x, self.weight, self.bias, y, n * c, c, h * w, BLOCK=512)
        return y
