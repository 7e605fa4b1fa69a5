import torch
import torch.nn as nn
import triton
import triton.language as tl


# The recurrence h_t = A_t h_{t-1} + X_t is associative over pairs (A, X).
@triton.jit
def first_order_op(a_l, x_l, a_r, x_r):
    return a_l * a_r, a_r * x_l + x_r


@triton.jit
def scan_kernel(a_ptr, b_ptr, y_ptr, T, D, stride_b, stride_t,
                BLOCK_T: "tl.constexpr", BLOCK_D: "tl.constexpr"):
    pid_d = tl.program_id(0)
    pid_b = tl.program_id(1)
    d = pid_d * BLOCK_D + tl.arange(0, BLOCK_D)
    rows = tl.arange(0, BLOCK_T)

    carry = tl.zeros([BLOCK_D], dtype=tl.float32)
    for t0 in range(0, T, BLOCK_T):
        t = t0 + rows
        off = pid_b * stride_b + t[:, None] * stride_t + d[None, :]
        m = (t[:, None] < T) & (d[None, :] < D)
        g = tl.sigmoid(tl.load(a_ptr + off, mask=m, other=0.0).to(tl.float32))
        x = tl.load(b_ptr + off, mask=m, other=0.0).to(tl.float32)
        # identity element past the end, so the last row always holds the carry
        decay = tl.where(m, g, 1.0)
        inp = tl.where(m, (1.0 - g) * x, 0.0)
        acc_a, acc_x = tl.associative_scan((decay, inp), 0, first_order_op)
        h = acc_a * carry[None, :] + acc_x
        tl.store(y_ptr + off, h, mask=m)
        carry = tl.sum(tl.where(rows[:, None] == BLOCK_T - 1, h, 0.0), axis=0)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        batch, steps, dim = a.shape
        y = torch.empty_like(a)
        BLOCK_D = 16
        grid = (triton.cdiv(dim, BLOCK_D), batch)
        scan_kernel[grid](a, b, y, steps, dim, a.stride(0), a.stride(1),
                          BLOCK_T=64, BLOCK_D=BLOCK_D, num_warps=4)
        return y
