"""Families that keep their rows: normalisation and softmax, scans, pools, differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernelwright.data.factory.blueprint import Blueprint
from kernelwright.data.factory.loops import (
    AT,
    ROWS,
    Y_AT,
    X,
    inputs_of,
    loaded,
    plan,
    resized,
    simd,
    steps,
)
from kernelwright.data.factory.operators import IDENTITY, MUL, Chain, Unary, combine, then
from kernelwright.data.factory.walk import Elements, Loop, Pass, Rows, Scan, Walk

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


def normalisation(unary: Sequence[Unary]) -> Iterator[Blueprint]:
    inner = [then(IDENTITY, op) for op in unary if op.growth == 0 and op.name != "relu"]
    for norm in NORMS:
        for chain in (IDENTITY, *inner):
            yield replace(_normalisation(chain, norm), plain=norm is NORMS[0])
    for chain in (IDENTITY, *inner):
        yield _softmax(chain)


def _softmax(chain: Chain) -> Blueprint:
    loop = "    for (int64_t j = 0; j < x_1; ++j) {\n"
    largest, total = "m = std::max(m, v);", "s += v;"
    body = (
        "  for (int64_t i = 0; i < x_0; ++i) {\n    float m = -INFINITY;\n    float s = 0.0f;\n"
        f"{simd(4, largest)}{loop}{steps(chain, 6, AT)}"
        f"      {largest}\n      out[i * x_1 + j] = v;\n    }}\n"
        f"{simd(4, total)}{loop}      float v = std::exp(out[i * x_1 + j] - m);\n"
        f"      {total}\n      out[i * x_1 + j] = v;\n    }}\n"
        f"{simd(4)}    for (int64_t j = 0; j < x_1; ++j) out[i * x_1 + j] /= s;\n  }}\n"
    )
    return Blueprint(
        category="normalisation",
        family="norm_" + "_".join((*chain.names, "softmax")),
        inputs=(X,),
        expression=f"torch.softmax({chain.torch}, dim=1)",
        plan=f"{plan(chain)} softmax: max m; v = std::exp(v - m); s += v; out = v / s;",
        bodies=(("The row maximum keeps std::exp in range.", body),),
        walk=Rows(
            load=loaded(chain),
            passes=(
                Pass(sums=(largest,), then=("v = std::exp(v - m);",)),
                Pass(sums=(total,), then=("v = v / s;",)),
            ),
            keeps=True,
        ),
        dropped=(chain.torch, *(("torch.softmax(x, dim=1)",) if chain.steps else ())),
    )


def _normalisation(chain: Chain, norm: tuple[str, str, str, str]) -> Blueprint:
    name, torch, accumulate, finish = norm
    text = chain.as_operand()
    load = steps(chain, 6, AT)
    loop = "    for (int64_t j = 0; j < x_1; ++j) {\n"
    body = (
        "  for (int64_t i = 0; i < x_0; ++i) {\n    float s = 0.0f;\n"
        f"{simd(4, accumulate)}{loop}{load}      {accumulate}\n    }}\n"
        f"{simd(4)}{loop}{load}      {finish}\n      out[i * x_1 + j] = v;\n    }}\n  }}\n"
    )
    store = body.replace(f"      {accumulate}", f"      out[i * x_1 + j] = v;\n      {accumulate}")
    second = store.rindex(load)
    again = "      float v = out[i * x_1 + j];\n"
    store = store[:second] + again + store[second + len(load) :]
    words = f"{plan(chain)} first: {accumulate} second: {finish}"
    bodies = [("Each row is read twice, the second time from cache.", body)]
    if chain.steps:
        bodies.insert(0, ("The first pass keeps v in out, so nothing is computed twice.", store))
    return Blueprint(
        category="normalisation",
        family="norm_" + "_".join((*chain.names, name)),
        inputs=(X,),
        expression=torch.format(a=text),
        plan=words,
        bodies=tuple(bodies),
        walk=Rows(
            load=loaded(chain), passes=(Pass(sums=(accumulate,), then=(finish,)),), keeps=True
        ),
        dropped=(text,) + ((torch.format(a="x"),) if chain.steps else ()),
    )


def scan_and_pool(unary: Sequence[Unary]) -> Iterator[Blueprint]:
    for op in unary:
        if op.growth < 2:
            yield _cumsum(then(IDENTITY, op))
        yield replace(_pool(op, "avg", 2), plain=True)
        yield _pool(op, "max", 4)
        yield _difference(op)
    yield _cumsum(combine(IDENTITY, MUL, ("y", Y_AT), "y"))


def _cumsum(chain: Chain) -> Blueprint:
    body = (
        f"  for (int64_t i = 0; i < x_0; ++i) {{\n{simd(4)}"
        f"    for (int64_t j = 0; j < x_1; ++j) {{\n{steps(chain, 6, AT)}"
        "      out[i * x_1 + j] = v;\n    }\n    float s = 0.0f;\n"
        "    for (int64_t j = 0; j < x_1; ++j) {\n      float v = out[i * x_1 + j];\n"
        "      s += v;\n      out[i * x_1 + j] = s;\n    }\n  }\n"
    )
    return _sliding(
        f"cumsum_{chain.label}",
        f"torch.cumsum({chain.torch}, dim=1)",
        Scan(loaded(chain)),
        body,
        ("torch.cumsum(x, dim=1)", chain.torch),
        f"{plan(chain)} cumsum: s += v; out = s;",
    )


def _pool(op: Unary, kind: str, width: int) -> Blueprint:
    chain = then(IDENTITY, op)
    start, step = ("0.0f", "s += v;") if kind == "avg" else ("-INFINITY", "s = std::max(s, v);")
    end = f"s / {width}" if kind == "avg" else "s"
    at = f"x[i * x_1 + j * {width} + k]"
    body = (
        f"  for (int64_t i = 0; i < out_0; ++i) {{\n{simd(4)}"
        "    for (int64_t j = 0; j < out_1; ++j) {\n"
        f"      float s = {start};\n      for (int64_t k = 0; k < {width}; ++k) {{\n"
        f"{steps(chain, 8, at)}        {step}\n      }}\n"
        f"      out[i * out_1 + j] = {end};\n    }}\n  }}\n"
    )
    window = Loop("k", str(width), (*loaded(chain, at), step))
    walk = Elements(
        statements=(f"float s = {start};", window, f"out[i * out_1 + j] = {end};"),
        shape=("out_0", "out_1"),
        made=("x_0", f"x_1 // {width}"),
    )
    torch = f"nn.functional.{kind}_pool1d({{}}, {width})"
    dropped = (torch.format("x"),)
    words = f"{plan(chain)} {kind}_pool1d {width}: {step} out = {end};"
    return _sliding(
        f"{kind}pool{width}_{op.name}", torch.format(chain.torch), walk, body, dropped, words
    )


def _difference(op: Unary) -> Blueprint:
    chain = Chain(torch="x[:, 1:] - x[:, :-1]", steps=(op.c,), names=("diff", op.name))
    load = "x[i * x_1 + j + 1] - x[i * x_1 + j]"
    body = (
        f"  for (int64_t i = 0; i < out_0; ++i) {{\n{simd(4)}"
        f"    for (int64_t j = 0; j < out_1; ++j) {{\n"
        f"{steps(chain, 6, load)}      out[i * out_1 + j] = v;\n    }}\n  }}\n"
    )
    words = f"v = {load}; {op.name}: {op.c}"
    walk = resized(chain, load, "x_0", "x_1 - 1")
    return _sliding(chain.label, op.torch.format(chain.torch), walk, body, (chain.torch,), words)


def _sliding(
    family: str, expression: str, walk: Walk, body: str, dropped: tuple[str, ...], words: str
) -> Blueprint:
    return Blueprint(
        category="scan_pool",
        family=family,
        inputs=inputs_of(body),
        expression=expression,
        plan=words,
        bodies=((ROWS, body),),
        walk=walk,
        dropped=dropped,
    )
