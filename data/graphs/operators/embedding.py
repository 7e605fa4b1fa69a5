"""Rows of a table that a layer learns, by their numbers."""

from __future__ import annotations

from kernelwright.data.graphs.nests import Dim, Move
from kernelwright.data.graphs.operator import Node, Operator, Site, SizeOf, Tensor

WIDTHS, TABLES = (64, 96, 128, 192, 256, 384, 512), (256, 512, 1000, 2000)


def _embedding() -> Operator:
    """Rows of a table, by their numbers."""

    def draw(site: Site) -> Node:
        old = site.inputs[0]
        width, many = int(site.pick(*WIDTHS)), int(site.pick(*TABLES))
        seen = 2 if site.rng.random() < 0.75 else 1
        count = max(16, old_size(site) // width)
        names, sizes = ("batch_size", "seq_len")[:seen], [count]
        if seen == 2:
            length = int(site.pick(16, 32, 64, 128))
            sizes = [max(2, count // length), length]
        site.constants.clear()
        constants = tuple(site.constant(one, n) for one, n in zip(names, sizes, strict=True))
        table = site.constant(str(site.rng.choice(("num_embeddings", "vocab_size"))), many)
        dims = site.constant("embedding_dim", width)
        site.inputs[:] = [
            Tensor(
                name=old.name,
                shape=tuple(Dim(f"{old.name}_{d}", n) for d, n in enumerate(sizes)),
                constants=constants,
                c_type="int64_t",
                drawn=f"torch.randint(0, {table}, ({{}},))",
            )
        ]
        layer = site.named(site.rng.choice(("embedding", "embed", "token_embedding")))
        weight = f"{layer}_weight"
        state = Tensor(name=weight, shape=(Dim(f"{weight}_0", many), Dim(f"{weight}_1", width)))
        shape = (*site.inputs[0].shape, state.shape[1])
        site.sizes[state.shape[1].text] = SizeOf(dims, width)
        site.saved.clear()
        given = {site.named("num_embeddings"): SizeOf(table, many)}
        given[site.named("embedding_dim")] = SizeOf(dims, width)
        inner = ", ".join(f"<{one}>" for one in given)
        loops = [(one, dim.text) for one, dim in zip(("n", "c")[:seen], shape, strict=False)]
        return Node(
            operator="embedding",
            words="an embedding lookup",
            text=f"self.{layer}({{0}})",
            work=Move(
                says="embedding",
                source=weight,
                taken=state.shape,
                shape=shape,
                loops=(*loops, ("z", shape[-1].text)),
                places=("row", "z"),
                chosen=old.name,
            ),
            shape=shape,
            layer=(layer, f"nn.Embedding({inner})"),
            attributes=given,
            state=(state,),
            key=str(seen),
        )

    return Operator(
        name="embedding", category="layout", draw=draw, starts=True, variety=1, ranks=(2,)
    )


def old_size(site: Site) -> int:
    """How many elements were drawn."""
    count = 1
    for one in site.shape:
        count *= one.size
    return count


OPERATORS = (_embedding(),)
