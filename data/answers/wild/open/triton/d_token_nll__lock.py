import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def token_nll_lock_kernel(
    logits_ptr, target_ptr, nll_ptr, mean_ptr,
    total_ptr, count_ptr, lock_ptr,
    N, V, IGNORE,
    ROWS: tl.constexpr, BLOCK_V: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row_ok = rows < N
    cols = tl.arange(0, BLOCK_V)
    tile = tl.load(
        logits_ptr + rows[:, None] * V + cols[None, :],
        mask=row_ok[:, None] & (cols[None, :] < V),
        other=-float("inf"),
    )
    top = tl.max(tile, axis=1)
    top = tl.where(row_ok, top, 0.0)
    lse = top + tl.log(tl.sum(tl.exp(tile - top[:, None]), axis=1))

    tgt = tl.load(target_ptr + rows, mask=row_ok, other=0)
    valid = row_ok & (tgt != IGNORE)
    picked = tl.load(logits_ptr + rows * V + tgt, mask=valid, other=0.0)
    nll = tl.where(valid, lse - picked, 0.0)
    tl.store(nll_ptr + rows, nll, mask=row_ok)

    part = tl.sum(nll, axis=0)
    n = tl.sum(valid.to(tl.int32), axis=0)

    # serialise the update of the running mean
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    total = tl.load(total_ptr, volatile=True) + part
    count = tl.load(count_ptr, volatile=True) + n
    tl.store(total_ptr, total)
    tl.store(count_ptr, count)
    tl.store(mean_ptr, total / tl.maximum(count, 1).to(tl.float32))
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


class ModelNew(nn.Module):
    def __init__(self, ignore_index):
        super().__init__()
        self.ignore_index = ignore_index

    def forward(self, logits, targets):
        logits = logits.contiguous()
        N, V = logits.shape
        dev = logits.device
        nll = torch.empty(N, dtype=torch.float32, device=dev)
        mean = torch.zeros((), dtype=torch.float32, device=dev)
        total = torch.zeros(1, dtype=torch.float32, device=dev)
        count = torch.zeros(1, dtype=torch.int32, device=dev)
        lock = torch.zeros(1, dtype=torch.int32, device=dev)
        ROWS = 4
        token_nll_lock_kernel[(triton.cdiv(N, ROWS),)](
            logits, targets, nll, mean, total, count, lock, N, V, self.ignore_index,
            ROWS=ROWS, BLOCK_V=triton.next_power_of_2(V),
        )
        return nll, mean
