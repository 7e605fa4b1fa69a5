import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def embed_pool_kernel(ids_ptr, tok_ptr, pos_ptr, out_ptr, L, D, BLOCK_D: tl.constexpr):
    b = tl.program_id(0)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    dm = d < D
    acc = tl.zeros([BLOCK_D], dtype=tl.float32)
    cnt = 0.0
    for l in range(L):
        tid = tl.load(ids_ptr + b * L + l)
        w = tl.where(tid != 0, 1.0, 0.0)
        e = tl.load(tok_ptr + tid * D + d, mask=dm, other=0.0)
        p = tl.load(pos_ptr + l * D + d, mask=dm, other=0.0)
        acc += (e + p) * w
        cnt += w
    acc = acc / tl.maximum(cnt, 1.0)
    tl.store(out_ptr + b * D + d, acc, mask=dm)


class ModelNew(nn.Module):
    def __init__(self, vocab_size, dim, max_len):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, dim)
        self.pos = nn.Parameter(torch.randn(max_len, dim) * 0.5)

    def forward(self, ids):
        ids = ids.contiguous()
        B, L = ids.shape
        D = self.tok.weight.shape[1]
        out = torch.empty(B, D, device=ids.device, dtype=self.tok.weight.dtype)
        BLOCK_D = 128
        embed_pool_kernel[(B, triton.cdiv(D, BLOCK_D))](
            ids, self.tok.weight, self.pos, out, L, D, BLOCK_D=BLOCK_D
        )
        return out
