import torch
import torch.nn as nn
import triton
import triton.language as tl

PAD_IDX = 0
BLOCK = 128


@triton.heuristics({"EVEN_D": lambda args: args["D"] % args["BLOCK_D"] == 0})
@triton.jit
def bag_mean_kernel(
    ids_ptr,      # [B, L] int64
    weight_ptr,   # [V, D]
    out_ptr,      # [B, D]
    L, D,
    BLOCK_D: tl.constexpr,
    EVEN_D: tl.constexpr,
    PAD: tl.constexpr = PAD_IDX,
):
    bag = tl.program_id(0)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    acc = tl.zeros((BLOCK_D,), dtype=tl.float32)
    count = 0.0
    for j in range(L):
        tok = tl.load(ids_ptr + bag * L + j)
        if tok != PAD:
            if EVEN_D:
                acc += tl.load(weight_ptr + tok * D + d)
            else:
                acc += tl.load(weight_ptr + tok * D + d, mask=d < D, other=0.0)
            count += 1.0
    acc = acc / tl.maximum(count, 1.0)
    tl.store(out_ptr + bag * D + d, acc, mask=d < D)


class ModelNew(nn.Module):
    def __init__(self, vocab, dim):
        super(ModelNew, self).__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=PAD_IDX)

    def forward(self, ids):
        ids = ids.contiguous()
        w = self.emb.weight
        B, L = ids.shape
        D = w.shape[1]
        out = torch.empty((B, D), device=ids.device, dtype=w.dtype)
        grid = lambda meta: (B, triton.cdiv(D, meta["BLOCK_D"]))
        bag_mean_kernel[grid](ids, w, out, L, D, BLOCK_D=BLOCK)
        return out


if __name__ == "__main__":
    if torch.cuda.is_available():
        m = ModelNew(100, 32).cuda()
        print(m(torch.randint(0, 100, (4, 7), device="cuda")).shape)
