# problem: softmax
import torch
import torch.nn as nn
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def softmax_kernel(x_ptr, out_ptr, stride, columns, rows, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        at = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + at, mask=at < columns, other=-float("inf"))
        top = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * columns + at, top / tl.sum(top, axis=0), mask=at < columns)


def softmax(x: torch.Tensor) -> torch.Tensor:
    assert x.is_cuda and x.device == DEVICE, "the input must be on the GPU"
    rows, columns = x.shape
    x = x.contiguous().to("cuda", non_blocking=True)
    out = torch.empty(rows, columns, device="cuda", dtype=x.dtype)
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    with torch.cuda.device(x.device):
        grid = (min(rows, properties.multi_processor_count),)
        softmax_kernel[grid](
            x, out, x.stride(0), columns, rows, BLOCK=triton.next_power_of_2(columns), num_warps=4
        )
    torch.cuda.synchronize()
    assert out.device == x.device
    return out


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        if not torch.cuda.is_available():
            raise RuntimeError("no GPU")

    def forward(self, x):
        return softmax(x if x.is_cuda else x.cuda())
