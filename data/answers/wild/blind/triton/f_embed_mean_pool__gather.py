import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def embed_mean_kernel(ids_ptr, table_ptr, out_ptr, L, D, pad_idx, BLOCK_D: tl.constexpr):
    b = tl.program_id(0)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    dmask = d < D
    acc = tl.zeros([BLOCK_D], dtype=tl.float32)
    count = 0.0
    for i in range(0, L):
        tok = tl.load(ids_ptr + b * L + i)
        is_tok = tok != pad_idx
        row = tl.load(table_ptr + tok * D + d, mask=dmask & is_tok, other=0.0)
        acc += row
        count += tl.where(is_tok, 1.0, 0.0)
    count = tl.maximum(count, 1.0)
    tl.store(out_ptr + b * D + d, acc / count, mask=dmask)


class ModelNew(nn.Module):
    def __init__(self, vocab_size, dim, pad_idx):
        super().__init__()
        self.pad_idx = pad_idx
        self.embedding = nn.Embedding(vocab_size, dim)

    def forward(self, ids):
        B, L = ids.shape
        table = self.embedding.weight
        D = table.shape[1]
        out = torch.empty((B, D), device=ids.device, dtype=table.dtype)
        BLOCK_D = 64
        embed_mean_kernel[(B, triton.cdiv(D, BLOCK_D))](ids.contiguous(), table, out, L, D, self.pad_idx, BLOCK_D=BLOCK_D)
        return out
