"""All families of composition of the starter suite, one function for each category."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from data.starter.blueprint import Blueprint, Tensor
from data.starter.ops import (
    ADD,
    BINARY,
    IDENTITY,
    MUL,
    REDUCE,
    UNARY,
    Chain,
    Reduce,
    Unary,
    combine,
    then,
)

X, Y = Tensor(name="x", shape=("R", "C")), Tensor(name="y", shape=("R", "C"))
ROW, COLUMN = Tensor(name="b", shape=("C",)), Tensor(name="c", shape=("R",))
AT = "x[i * x_1 + j]"
Y_AT = "y[i * x_1 + j]"
ROWS = "Each row is read once, in memory order."


def steps(chain: Chain, indent: int, load: str) -> str:
    """`float v = …;` and the chain's steps, one statement a line."""
    pad = " " * indent
    return "".join(f"{pad}{line}\n" for line in (f"float v = {load};", *chain.steps))


def plan(chain: Chain) -> str:
    """The chain in words and code: each operator by its PyTorch name, then what it becomes."""
    named = zip(chain.names, chain.steps, strict=True)
    return " ".join(("v = x;", *(f"{name.replace('_', ' ')}: {step}" for name, step in named)))


def nested(chain: Chain, result: str = "v") -> str:
    """A loop over rows and columns that stores `result` for each element."""
    return (
        "  for (int64_t i = 0; i < x_0; ++i) {\n    for (int64_t j = 0; j < x_1; ++j) {\n"
        f"{steps(chain, 6, AT)}      out[i * x_1 + j] = {result};\n    }}\n  }}\n"
    )


def elementwise() -> Iterator[Blueprint]:
    def make(chain: Chain, dropped: tuple[str, ...]) -> Blueprint:
        inputs = (X, Y) if Y_AT in " ".join(chain.steps) else (X,)
        return Blueprint(
            category="elementwise",
            family=f"elementwise_{chain.label}",
            inputs=inputs,
            expression=chain.torch,
            output_dims=(2,),
            output_types=("float",),
            plan=plan(chain),
            bodies=((ROWS, nested(chain)),),
            dropped=dropped,
        )

    for op in UNARY:
        for pair in BINARY:
            inner = combine(IDENTITY, pair, ("y", Y_AT), "y")
            yield make(then(inner, op), (inner.torch, op.torch.format("x")))
            outer = combine(then(IDENTITY, op), pair, ("y", Y_AT), "y")
            yield make(outer, (inner.torch, op.torch.format("x")))
        scaled = combine(then(IDENTITY, op), MUL, ("0.5", "0.5f"), "half")
        yield make(scaled, (op.torch.format("x"),))
    for first, second in _pairs():
        chain = then(then(IDENTITY, first), second)
        yield make(chain, (first.torch.format("x"), second.torch.format("x")))


def _pairs() -> Iterator[tuple[Unary, Unary]]:
    """Every other ordered pair that stays in float32's range and well-conditioned."""
    for i, first in enumerate(UNARY):
        for j, second in enumerate(UNARY):
            wild = first.name == "exp" and second.name == "sin"
            if (i + j) % 2 and first.growth + second.growth <= 2 and not wild:
                yield first, second


def broadcast() -> Iterator[Blueprint]:
    for op in UNARY:
        for pair in (ADD, MUL):
            for vector, torch, load in ((ROW, "b", "b[j]"), (COLUMN, "c[:, None]", "c[i]")):
                inner = combine(IDENTITY, pair, (torch, load), vector.name)
                outer = combine(then(IDENTITY, op), pair, (torch, load), vector.name)
                yield _broadcast(then(inner, op), vector, (inner.torch, op.torch.format("x")))
                yield _broadcast(outer, vector, (inner.torch, op.torch.format("x")))


def _broadcast(chain: Chain, vector: Tensor, dropped: tuple[str, ...]) -> Blueprint:
    loop = "  for (int64_t i = 0; i < x_0; ++i) {\n"
    pointers = "    const float* row = x + i * x_1;\n    float* to = out + i * x_1;\n"
    pointed = nested(chain).replace(AT, "row[j]").replace("out[i * x_1 + j]", "to[j]")
    return Blueprint(
        category="broadcast",
        family=f"broadcast_{chain.label}",
        inputs=(X, vector),
        expression=chain.torch,
        output_dims=(2,),
        output_types=("float",),
        plan=plan(chain),
        bodies=(
            (ROWS, nested(chain)),
            (
                ROWS + " Row pointers keep the index simple.",
                pointed.replace(loop, loop + pointers),
            ),
        ),
        dropped=dropped,
    )


def row_reduction() -> Iterator[Blueprint]:
    for reduce in REDUCE:
        for op in UNARY:
            chain = then(IDENTITY, op)
            yield _row_reduction(chain, reduce, None, ("x" + reduce.torch.format(1),))
            if reduce.name != "mean" and op.growth == 0:
                yield _row_reduction(IDENTITY, reduce, op, ("x" + reduce.torch.format(1),))
        product = combine(IDENTITY, MUL, ("y", Y_AT), "y")
        dropped = ("x" + reduce.torch.format(1),)
        yield _row_reduction(product, reduce, None, dropped)


def _row_reduction(
    chain: Chain, reduce: Reduce, after: Unary | None, dropped: tuple[str, ...]
) -> Blueprint:
    expression = chain.as_operand() + reduce.torch.format(1)
    tail = f"    float v = {reduce.end.format('x_1')};\n    {after.c}\n" if after else ""
    result = "v" if after else reduce.end.format("x_1")
    inner = f"{steps(chain, 6, AT)}      {reduce.step}\n    }}\n"
    body = (
        f"  for (int64_t i = 0; i < x_0; ++i) {{\n    float s = {reduce.start};\n"
        f"    for (int64_t j = 0; j < x_1; ++j) {{\n{inner}{tail}    out[i] = {result};\n  }}\n"
    )
    parts = body.replace("x[i * x_1 + j];", "row[j];").replace(
        f"    float s = {reduce.start};\n",
        f"    const float* row = x + i * x_1;\n    float s = {reduce.start};\n",
    )
    names = [name for name in (chain.label, reduce.name, after.name if after else "") if name]
    words = f"{plan(chain)} {reduce.name} dim=1: {reduce.step} "
    words += f"{after.name}: {after.c} out[i] = v;" if after else f"out[i] = {result};"
    return Blueprint(
        category="row_reduction",
        family="row_" + "_".join(names),
        inputs=(X, Y) if "y[" in body else (X,),
        expression=after.torch.format(expression) if after else expression,
        output_dims=(1,),
        output_types=("float",),
        plan=words,
        bodies=((ROWS, body), (ROWS + " A row pointer keeps the index simple.", parts)),
        dropped=dropped,
    )


def column_reduction() -> Iterator[Blueprint]:
    for reduce in REDUCE:
        for op in UNARY:
            chain = then(IDENTITY, op)
            yield _column_reduction(chain, reduce, ("x" + reduce.torch.format(0),))
        product = combine(IDENTITY, MUL, ("y", Y_AT), "y")
        yield _column_reduction(product, reduce, ("x" + reduce.torch.format(0),))


def _column_reduction(chain: Chain, reduce: Reduce, dropped: tuple[str, ...]) -> Blueprint:
    load, end = steps(chain, 6, AT), reduce.end.format("x_0")
    strided = (
        f"  for (int64_t j = 0; j < x_1; ++j) {{\n    float s = {reduce.start};\n"
        f"    for (int64_t i = 0; i < x_0; ++i) {{\n{load}      {reduce.step}\n    }}\n"
        f"    out[j] = {reduce.end.format('x_0')};\n  }}\n"
    )
    into = reduce.step.replace("s = std::max(s, v)", "out[j] = std::max(out[j], v)")
    into = into.replace("s += v", "out[j] += v")
    finish = (
        "  for (int64_t j = 0; j < x_1; ++j) out[j] = out[j] / x_0;\n"
        if reduce.name == "mean"
        else ""
    )
    ordered = (
        f"  for (int64_t j = 0; j < x_1; ++j) out[j] = {reduce.start};\n"
        "  for (int64_t i = 0; i < x_0; ++i) {\n"
        f"    for (int64_t j = 0; j < x_1; ++j) {{\n{load}      {into}\n    }}\n  }}\n{finish}"
    )
    return Blueprint(
        category="column_reduction",
        family=f"col_{chain.label}_{reduce.name}",
        inputs=(X, Y) if "y[" in load else (X,),
        expression=chain.as_operand() + reduce.torch.format(0),
        output_dims=(1,),
        output_types=("float",),
        plan=f"{plan(chain)} {reduce.name} dim=0: {reduce.step} out[j] = {end};",
        bodies=(
            ("Rows are read in memory order, so every column accumulates in out.", ordered),
            ("Each column is read with a stride.", strided),
        ),
        dropped=dropped,
    )


NORMS: tuple[tuple[str, str, str, str], ...] = (
    # name, PyTorch text for {a}, first pass over v, how v is finished in the second pass
    ("l1", "{a} / torch.abs({a}).sum(dim=1, keepdim=True)", "s += std::fabs(v);", "v = v / s;"),
    (
        "rms",
        "{a} * torch.rsqrt(torch.square({a}).mean(dim=1, keepdim=True) + 1e-5)",
        "s += v * v;",
        "v = v / std::sqrt(s / x_1 + 1e-5f);",
    ),
    ("center", "{a} - {a}.mean(dim=1, keepdim=True)", "s += v;", "v = v - s / x_1;"),
    (
        "l2",
        "{a} / torch.sqrt(torch.square({a}).sum(dim=1, keepdim=True))",
        "s += v * v;",
        "v = v / std::sqrt(s);",
    ),
)


def normalisation() -> Iterator[Blueprint]:
    inner = [then(IDENTITY, op) for op in UNARY if op.growth == 0 and op.name != "relu"]
    for norm in NORMS:
        for chain in (IDENTITY, *inner):
            yield _normalisation(chain, norm)
    for chain in (IDENTITY, *inner):
        yield _softmax(chain)


def _softmax(chain: Chain) -> Blueprint:
    loop = "    for (int64_t j = 0; j < x_1; ++j) {\n"
    body = (
        "  for (int64_t i = 0; i < x_0; ++i) {\n    float m = -INFINITY;\n    float s = 0.0f;\n"
        f"{loop}{steps(chain, 6, AT)}"
        "      m = std::max(m, v);\n      out[i * x_1 + j] = v;\n    }\n"
        f"{loop}      float v = std::exp(out[i * x_1 + j] - m);\n"
        "      s += v;\n      out[i * x_1 + j] = v;\n    }\n"
        "    for (int64_t j = 0; j < x_1; ++j) out[i * x_1 + j] /= s;\n  }\n"
    )
    return Blueprint(
        category="normalisation",
        family="norm_" + "_".join((*chain.names, "softmax")),
        inputs=(X,),
        expression=f"torch.softmax({chain.torch}, dim=1)",
        output_dims=(2,),
        output_types=("float",),
        plan=f"{plan(chain)} softmax: max m; v = std::exp(v - m); s += v; out = v / s;",
        bodies=(("The row maximum keeps std::exp in range.", body),),
        dropped=(chain.torch, *(("torch.softmax(x, dim=1)",) if chain.steps else ())),
    )


def _normalisation(chain: Chain, norm: tuple[str, str, str, str]) -> Blueprint:
    name, torch, accumulate, finish = norm
    text = chain.as_operand()
    load = steps(chain, 6, AT)
    loop = "    for (int64_t j = 0; j < x_1; ++j) {\n"
    body = (
        "  for (int64_t i = 0; i < x_0; ++i) {\n    float s = 0.0f;\n"
        f"{loop}{load}      {accumulate}\n    }}\n"
        f"{loop}{load}      {finish}\n      out[i * x_1 + j] = v;\n    }}\n  }}\n"
    )
    store = body.replace(f"      {accumulate}", f"      out[i * x_1 + j] = v;\n      {accumulate}")
    second = store.rindex(load)
    again = "      float v = out[i * x_1 + j];\n"
    store = store[:second] + again + store[second + len(load) :]
    words = f"{plan(chain)} first: {accumulate} second: {finish}"
    bodies = [("Each row is read twice, the second time from cache.", body)]
    if chain.steps:
        bodies.append(("The first pass keeps v in out, so nothing is computed twice.", store))
    return Blueprint(
        category="normalisation",
        family="norm_" + "_".join((*chain.names, name)),
        inputs=(X,),
        expression=torch.format(a=text),
        output_dims=(2,),
        output_types=("float",),
        plan=words,
        bodies=tuple(bodies),
        dropped=(text,) + ((torch.format(a="x"),) if chain.steps else ()),
    )


def matmul() -> Iterator[Blueprint]:
    left, right = Tensor(name="x", shape=("M", "K")), Tensor(name="w", shape=("K", "N"))
    bias = Tensor(name="b", shape=("N",))
    product = Chain(torch="x @ w", steps=(), names=("matmul",))
    for op in UNARY:
        if op.name == "exp":
            continue
        yield _matmul(then(product, op), (left, right), ("x @ w",))
        biased = combine(product, ADD, ("b", "b[j]"), "b")
        yield _matmul(then(biased, op), (left, right, bias), (op.torch.format("x @ w"),))
    yield _matmul(combine(product, ADD, ("b", "b[j]"), "b"), (left, right, bias), ("x @ w",))
    yield _matmul(combine(product, MUL, ("b", "b[j]"), "b"), (left, right, bias), ("x @ w",))


def _matmul(chain: Chain, inputs: tuple[Tensor, ...], dropped: tuple[str, ...]) -> Blueprint:
    rest = "".join(f"      {line}\n" for line in chain.steps)
    dot = (
        "  for (int64_t i = 0; i < x_0; ++i) {\n    for (int64_t j = 0; j < w_1; ++j) {\n"
        "      float v = 0.0f;\n      for (int64_t k = 0; k < x_1; ++k)\n"
        "        v += x[i * x_1 + k] * w[k * w_1 + j];\n"
        f"{rest}      out[i * w_1 + j] = v;\n    }}\n  }}\n"
    )
    rows = (
        "  for (int64_t i = 0; i < x_0; ++i) {\n    float* to = out + i * w_1;\n"
        "    for (int64_t j = 0; j < w_1; ++j) to[j] = 0.0f;\n"
        "    for (int64_t k = 0; k < x_1; ++k) {\n      const float a = x[i * x_1 + k];\n"
        "      for (int64_t j = 0; j < w_1; ++j) to[j] += a * w[k * w_1 + j];\n    }\n"
        "    for (int64_t j = 0; j < w_1; ++j) {\n      float v = to[j];\n"
        f"{rest}      to[j] = v;\n    }}\n  }}\n"
    )
    after = plan(Chain(torch="", steps=chain.steps, names=chain.names[1:]))
    after = after.replace("v = x;", "matmul: v += x[i * x_1 + k] * w[k * w_1 + j];")
    return Blueprint(
        category="matmul",
        family="_".join(chain.names),
        inputs=inputs,
        expression=chain.torch,
        output_dims=(2,),
        output_types=("float",),
        plan=after,
        bodies=(
            ("The inner loop over j reads w and writes out in memory order.", rows),
            ("Each output is one dot product over k.", dot),
        ),
        sizes=("M", "K", "N"),
        dropped=dropped,
    )


def scan_and_pool() -> Iterator[Blueprint]:
    for op in UNARY:
        if op.growth < 2:
            yield _cumsum(then(IDENTITY, op))
        yield _pool(op, "avg", 2)
        yield _pool(op, "max", 4)
        yield _difference(op)
    yield _cumsum(combine(IDENTITY, MUL, ("y", Y_AT), "y"))


def _cumsum(chain: Chain) -> Blueprint:
    body = (
        "  for (int64_t i = 0; i < x_0; ++i) {\n    float s = 0.0f;\n"
        f"    for (int64_t j = 0; j < x_1; ++j) {{\n{steps(chain, 6, AT)}"
        "      s += v;\n      out[i * x_1 + j] = s;\n    }\n  }\n"
    )
    return _sliding(
        f"cumsum_{chain.label}",
        f"torch.cumsum({chain.torch}, dim=1)",
        chain,
        body,
        ("torch.cumsum(x, dim=1)", chain.torch),
        f"{plan(chain)} cumsum: s += v; out = s;",
    )


def _pool(op: Unary, kind: str, width: int) -> Blueprint:
    chain = then(IDENTITY, op)
    start, step = ("0.0f", "s += v;") if kind == "avg" else ("-INFINITY", "s = std::max(s, v);")
    end = f"s / {width}" if kind == "avg" else "s"
    body = (
        "  for (int64_t i = 0; i < out_0; ++i) {\n    for (int64_t j = 0; j < out_1; ++j) {\n"
        f"      float s = {start};\n      for (int64_t k = 0; k < {width}; ++k) {{\n"
        f"{steps(chain, 8, f'x[i * x_1 + j * {width} + k]')}        {step}\n      }}\n"
        f"      out[i * out_1 + j] = {end};\n    }}\n  }}\n"
    )
    torch = f"nn.functional.{kind}_pool1d({{}}, {width})"
    dropped = (torch.format("x"),)
    words = f"{plan(chain)} {kind}_pool1d {width}: {step} out = {end};"
    return _sliding(
        f"{kind}pool{width}_{op.name}", torch.format(chain.torch), chain, body, dropped, words
    )


def _difference(op: Unary) -> Blueprint:
    chain = Chain(torch="x[:, 1:] - x[:, :-1]", steps=(op.c,), names=("diff", op.name))
    load = "x[i * x_1 + j + 1] - x[i * x_1 + j]"
    body = (
        "  for (int64_t i = 0; i < out_0; ++i) {\n    for (int64_t j = 0; j < out_1; ++j) {\n"
        f"{steps(chain, 6, load)}      out[i * out_1 + j] = v;\n    }}\n  }}\n"
    )
    words = f"v = x[j + 1] - x[j]; {op.name}: {op.c}"
    return _sliding(chain.label, op.torch.format(chain.torch), chain, body, (chain.torch,), words)


def _sliding(
    family: str, expression: str, chain: Chain, body: str, dropped: tuple[str, ...], words: str
) -> Blueprint:
    return Blueprint(
        category="scan_pool",
        family=family,
        inputs=(X, Y) if "y[" in body else (X,),
        expression=expression,
        output_dims=(2,),
        output_types=("float",),
        plan=words,
        bodies=((ROWS, body),),
        dropped=dropped,
    )


def discrete() -> Iterator[Blueprint]:
    """Integer and bool outputs."""
    for op in UNARY[:4]:
        chain = then(IDENTITY, op)
        yield Blueprint(
            category="elementwise",
            family=f"greater_{op.name}",
            inputs=(X, Y),
            expression=f"{chain.torch} > y",
            output_dims=(2,),
            output_types=("bool",),
            plan=f"{plan(chain)} out = v > y.",
            bodies=((ROWS, nested(chain, f"v > {Y_AT}")),),
            dropped=("x > y",),
        )
    for op in UNARY:
        if op.name == "square":
            yield _argmax(op)


def _argmax(op: Unary) -> Blueprint:
    chain = then(IDENTITY, op)
    body = (
        "  for (int64_t i = 0; i < x_0; ++i) {\n    float s = -INFINITY;\n    int64_t best = 0;\n"
        f"    for (int64_t j = 0; j < x_1; ++j) {{\n{steps(chain, 6, AT)}"
        "      if (v > s) {\n        s = v;\n        best = j;\n      }\n    }\n"
        "    out[i] = best;\n  }\n"
    )
    return Blueprint(
        category="row_reduction",
        family=f"row_{op.name}_argmax",
        inputs=(X,),
        expression=f"{chain.torch}.argmax(dim=1)",
        output_dims=(1,),
        output_types=("int64_t",),
        plan=f"{plan(chain)} argmax dim=1: if (v > s) best = j;",
        bodies=((ROWS, body),),
        dropped=("x.argmax(dim=1)",),
    )


CATEGORIES = (
    elementwise,
    broadcast,
    row_reduction,
    column_reduction,
    normalisation,
    matmul,
    scan_and_pool,
    discrete,
)
HELD_OUT_EVERY = 5


@lru_cache
def blueprints() -> tuple[tuple[Blueprint, bool], ...]:
    """(blueprint, held out?) of every family, in a fixed order.

    Every fifth family of each category is held out: all operators and all patterns of the held-out
    families occur in training, their compositions do not.
    """
    return tuple(
        (blueprint, number % HELD_OUT_EVERY == HELD_OUT_EVERY - 1)
        for category in CATEGORIES
        for number, blueprint in enumerate(category())
    )
