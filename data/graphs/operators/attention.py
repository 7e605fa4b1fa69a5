"""Scaled dot-product attention of three inputs."""

from __future__ import annotations

from kernelwright.data.graphs.nests import Attention, Dim
from kernelwright.data.graphs.operator import Node, Operator, Site, Tensor

BATCHES, HEADS, LENGTHS, DEPTHS = (1, 2, 4), (2, 4, 8), (64, 96, 128, 192, 256), (32, 48, 64)
SPELLINGS = (
    "F.scaled_dot_product_attention({0}, {1}, {2})",
    "torch.softmax({0} @ {1}.transpose(-2, -1) / math.sqrt({0}.size(-1)), dim=-1) @ {2}",
    "torch.matmul(F.softmax(torch.matmul({0}, {1}.transpose(-2, -1)) * {0}.shape[-1] ** -0.5,"
    " dim=-1), {2})",
)
CAUSAL = (
    "F.scaled_dot_product_attention({0}, {1}, {2}, is_causal=True)",
    "F.scaled_dot_product_attention({0}, {1}, {2}, attn_mask=None, dropout_p=0.0, is_causal=True)",
)


def _attention(*, causal: bool) -> Operator:
    name = "causal_attention" if causal else "attention"

    def draw(site: Site) -> Node:
        names = (site.inputs[0].name, site.spare.pop(0), site.spare.pop(0))
        has_heads = site.rng.random() < 0.75
        sizes = [int(site.pick(*one)) for one in (BATCHES, HEADS, LENGTHS, DEPTHS)]
        words = ["batch_size", "num_heads", "seq_len", "head_dim"]
        if not has_heads:
            words.pop(1)
            sizes = [sizes[0] * sizes[1], *sizes[2:]]
        is_cross = not causal and site.rng.random() < 0.4
        site.constants.clear()
        constants = tuple(site.constant(one, n) for one, n in zip(words, sizes, strict=True))
        kept, sizes_kept = constants, sizes
        if is_cross:
            length = int(site.pick(*(one for one in LENGTHS if one != sizes[-2])))
            kept = (*constants[:-2], site.constant("kv_len", length), constants[-1])
            sizes_kept = [*sizes[:-2], length, sizes[-1]]
        wanted = ((sizes, constants), (sizes_kept, kept), (sizes_kept, kept))
        site.inputs[:] = [
            Tensor(
                name=one,
                shape=tuple(Dim(f"{one}_{d}", n) for d, n in enumerate(its)),
                constants=called,
            )
            for one, (its, called) in zip(names, wanted, strict=True)
        ]
        query, key, value = site.inputs
        shape = (*query.shape[:-1], value.shape[-1])
        site.saved.clear()
        text = site.rng.choice(CAUSAL if causal else SPELLINGS)
        return Node(
            operator=name,
            words=f"{'causal ' if causal else ''}scaled dot-product attention",
            text=text.replace("{1}", key.name).replace("{2}", value.name),
            work=Attention(
                says=name,
                source=query.name,
                taken=query.shape,
                shape=shape,
                key=key.name,
                value=value.name,
                causal=causal,
            ),
            shape=shape,
            key="cross" if is_cross else "",
        )

    return Operator(
        name=name,
        category="attention",
        draw=draw,
        fits=lambda site: len(site.spare) > 1,
        starts=True,
        ranks=(4,),
    )


OPERATORS = (_attention(causal=False), _attention(causal=True))
