"""Matrix products of inputs, and linear layers."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.data.graphs.expr import V, at, dim
from kernelwright.data.graphs.nests import Dim, Pass, Product, Rows, Step, Sum, product
from kernelwright.data.graphs.operator import Node, Operator, Site, SizeOf, Tensor
from kernelwright.data.graphs.operators.reductions import S


@dataclass(frozen=True, slots=True)
class Form:
    """A product: the constants of its factors' shapes, and its spellings."""

    name: str
    left: str
    right: str
    spellings: tuple[str, ...]


FORMS = (
    Form("matmul", "MK", "KN", ("torch.matmul({0}, {1})", "{0} @ {1}", "torch.mm({0}, {1})")),
    Form(
        "matmul_tn",
        "KM",
        "KN",
        ("torch.matmul({0}.T, {1})", "{0}.T @ {1}", "torch.mm({0}.t(), {1})"),
    ),
    Form(
        "matmul_nt", "MK", "NK", ("torch.matmul({0}, {1}.T)", "{0} @ {1}.T", "F.linear({0}, {1})")
    ),
    Form("matmul_tt", "KM", "NK", ("torch.matmul({0}.T, {1}.T)", "{0}.T @ {1}.T")),
    Form("bmm", "BMK", "BKN", ("torch.bmm({0}, {1})", "torch.matmul({0}, {1})", "{0} @ {1}")),
    Form(
        "bmm_nt",
        "BMK",
        "BNK",
        ("torch.bmm({0}, {1}.transpose(1, 2))", "torch.matmul({0}, {1}.transpose(-2, -1))"),
    ),
    Form("bmm_tn", "BKM", "BKN", ("torch.bmm({0}.transpose(1, 2), {1})", "{0}.mT @ {1}")),
    Form("matmul_3d", "BMK", "KN", ("torch.matmul({0}, {1})", "{0} @ {1}")),
    Form("matmul_3d_nt", "BMK", "NK", ("F.linear({0}, {1})", "torch.matmul({0}, {1}.T)")),
    Form("matmul_4d", "BHMK", "BHKN", ("torch.matmul({0}, {1})", "{0} @ {1}")),
    Form("matmul_4d_nt", "BHMK", "BHNK", ("{0} @ {1}.transpose(-2, -1)", "{0} @ {1}.mT")),
)
CLASSES: dict[str, dict[str, tuple[int, ...]]] = {
    "": {"M": (32, 48, 64, 96, 128), "K": (64, 96, 128, 192, 256), "N": (48, 64, 96, 128, 192)},
    "square": {"M": (64, 96, 128, 160), "K": (), "N": ()},
    "tall": {"M": (768, 1024, 1536), "K": (32, 48, 64), "N": (16, 24, 32)},
    "deep": {"M": (16, 24, 32), "K": (768, 1024, 1536), "N": (16, 24, 32)},
    "flat": {"M": (128, 192, 256), "K": (8, 16, 24), "N": (128, 192, 256)},
}
"""Sizes by the letter of a constant; those that have none are like the first."""
BATCHES, HEADS = (4, 6, 8, 16), (2, 4)
OF_BATCHES = ("", "square", "flat")
"""The classes of batched products."""


def _tensor(name: str, letters: str, sizes: dict[str, int], names: dict[str, str]) -> Tensor:
    shape = tuple(Dim(f"{name}_{d}", sizes[one]) for d, one in enumerate(letters))
    return Tensor(name=name, shape=shape, constants=tuple(names[one] for one in letters))


def drawn_product(form: Form, site: Site) -> Node:
    """A product of two inputs, which it makes."""
    left, right = site.inputs[0].name, site.spare.pop(0)
    own = site.rng.choice(OF_BATCHES if "B" in form.left else tuple(CLASSES))
    sizes = {one: site.rng.choice(its or (0,)) for one, its in CLASSES[own].items()}
    sizes = {one: size or sizes["M"] for one, size in sizes.items()}
    sizes |= {"B": site.rng.choice(BATCHES), "H": site.rng.choice(HEADS)}
    long = site.rng.random() < 0.6
    words = {"B": "batch_size", "H": "num_heads", "M": "M", "K": "K", "N": "N"}
    words |= {} if long else {"M": "rows", "K": "inner_size", "N": "columns"}
    site.constants.clear()
    used = dict.fromkeys(form.left + form.right)
    names = {one: site.constant(words[one], sizes[one]) for one in used}
    a, b = (
        _tensor(one, letters, sizes, names)
        for one, letters in ((left, form.left), (right, form.right))
    )
    site.inputs[:] = [a, b]
    of_left = {letter: a.shape[d] for d, letter in enumerate(form.left)}
    of_right = {letter: b.shape[d] for d, letter in enumerate(form.right)}
    batch = tuple(of_left[one] for one in "BH" if one in of_left)
    m, k, n = of_left["M"], of_left["K"], of_right["N"]
    site.saved.clear()
    return Node(
        operator=form.name,
        words="a batched matrix product" if batch else "a matrix product",
        text=site.rng.choice(form.spellings).replace("{1}", right),
        work=Product(
            says="matmul",
            source=left,
            taken=a.shape,
            shape=(*batch, m, n),
            other=right,
            m=m,
            k=k,
            n=n,
            batch=batch,
            left_is_transposed=form.left.endswith("M"),
            right_is_transposed=form.right.endswith("K"),
            shared="B" not in of_right,
        ),
        shape=(*batch, m, n),
        key=own,
    )


def _matmul(form: Form) -> Operator:
    return Operator(
        name=form.name,
        category="matmul",
        draw=lambda site: drawn_product(form, site),
        starts=True,
        fits=lambda site: bool(site.spare),
        ranks=(2,),
    )


def _matvec() -> Operator:
    def draw(site: Site) -> Node:
        vector = site.operand((1,))
        return Node(
            operator="matvec",
            words="a matrix-vector product",
            text=site.rng.choice(
                ("torch.matmul({0}, {1})", "{0} @ {1}", "torch.mv({0}, {1})")
            ).replace("{1}", vector.name),
            work=Rows(
                says="matvec",
                source=site.value,
                taken=site.shape,
                shape=site.shape[:1],
                first=1,
                last=1,
                passes=(Pass((Sum("s", "sum", V * at(vector.name, "j")),)),),
                store=S,
            ),
            shape=site.shape[:1],
        )

    return Operator(
        name="matvec",
        category="matmul",
        variety=1,
        draw=draw,
        starts=True,
        fits=lambda site: site.rank == 2 and bool(site.spare),
    )


def _linear() -> Operator:
    def draw(site: Site) -> Node:
        rank, columns = site.rank, int(site.pick(32, 64, 96, 128, 192, 256))
        k = site.shape[-1]
        given_in = site.input_size(rank - 1)
        assert given_in is not None
        layer = site.named(site.rng.choice(("linear", "fc", "proj", "linear")))
        wanted = [site.named(one) for one in ("in_features", "out_features")]
        given_out = SizeOf(site.constant("out_features", columns), columns)
        has_bias = site.rng.random() < 0.75
        weight, bias = f"{layer}_weight", f"{layer}_bias"
        n = Dim(f"{weight}_0", columns)
        shape = (*site.shape[:-1], n)
        rows = site.shape[:-1]
        m = Dim(product(rows), 0)
        site.sizes[n.text] = given_out
        state = [Tensor(name=weight, shape=(n, Dim(f"{weight}_1", k.size)))]
        state += [Tensor(name=bias, shape=(Dim(f"{bias}_0", columns),))] if has_bias else []
        after = [Step("bias", V + at(bias, dim(rank - 1)))] if has_bias else []
        return Node(
            operator="linear",
            words="a linear layer",
            text=f"self.{layer}({{0}})",
            work=Product(
                says="linear",
                source=site.value,
                taken=site.shape,
                shape=shape,
                after=after,
                other=weight,
                m=m,
                k=k,
                n=n,
                right_is_transposed=True,
            ),
            shape=shape,
            layer=(
                layer,
                f"nn.Linear(<{wanted[0]}>, <{wanted[1]}>{'' if has_bias else ', bias=False'})",
            ),
            attributes={wanted[0]: given_in, wanted[1]: given_out},
            state=tuple(state),
            key="b" if has_bias else "",
        )

    def fits(site: Site) -> bool:
        small = site.shape and site.shape[-1].size <= 512
        return site.rank in (2, 3, 4) and bool(small) and site.input_size(site.rank - 1) is not None

    return Operator(
        name="linear", category="matmul", draw=draw, fits=fits, weight=10, ranks=(2, 2, 3, 4)
    )


OPERATORS = (*map(_matmul, FORMS), _matvec(), _linear())
