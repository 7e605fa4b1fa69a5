import logging
import torch
import torch.nn as nn
import triton
import triton.language as tl

logger = logging.getLogger(__name__)


@triton.jit
def _linear_act(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, RELU: tl.constexpr,
                BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    n_tiles = tl.cdiv(N, BN)
    rm = (pid // n_tiles) * BM + tl.arange(0, BM)
    rn = (pid % n_tiles) * BN + tl.arange(0, BN)
    b = tl.load(b_ptr + rn, mask=rn < N, other=0.0)
    acc = tl.zeros((BM, BN), dtype=tl.float32) + b[None, :]
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(x_ptr + rm[:, None] * K + rk[None, :], mask=(rm < M)[:, None] & (rk < K)[None, :], other=0.0)
        w = tl.load(w_ptr + rn[None, :] * K + rk[:, None], mask=(rn < N)[None, :] & (rk < K)[:, None], other=0.0)
        acc += tl.dot(x, w, input_precision="ieee")
    if RELU:
        acc = tl.where(acc > 0, acc, 0.0)
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


class TritonLinear(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, x, weight, bias, relu: bool):
        x = x.contiguous()
        M, K = x.shape
        N = weight.shape[0]
        y = torch.empty((M, N), device=x.device, dtype=torch.float32)
        BM, BN, BK = 16, 32, 32
        _linear_act[(triton.cdiv(M, BM) * triton.cdiv(N, BN),)](
            x, weight, bias, y, M, N, K, RELU=relu, BM=BM, BN=BN, BK=BK)
        ctx.save_for_backward(x, weight, y)
        ctx.relu = relu
        return y

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        x, weight, y = ctx.saved_tensors
        if ctx.relu:
            grad = grad * (y > 0)
        return grad @ weight, grad.t() @ x, grad.sum(0), None


class ModelNew(nn.Module):
    def __init__(self, width, classes, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.head = nn.Linear(width, classes)
        logger.debug("deep mlp with %d layers", depth)

    def forward(self, x):
        for layer in self.layers:
            x = TritonLinear.apply(x, layer.weight, layer.bias, True)
        return TritonLinear.apply(x, self.head.weight, self.head.bias, False)
