"""Families of modules with parameters and buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernelwright.data.factory.blueprint import Blueprint, Layer, Tensor
from kernelwright.data.factory.loops import (
    AT,
    ROWS,
    X,
    elements,
    nested,
    plan,
    resized,
    simd,
    steps,
)
from kernelwright.data.factory.operators import ADD, IDENTITY, MUL, SUB, Chain, Unary, combine, then
from kernelwright.data.factory.products import TILED, tiles
from kernelwright.data.factory.walk import Elements, Loop, Pass, Rows


def _parameter(name: str) -> Layer:
    line = f"self.{name} = nn.Parameter(torch.randn(c))"
    return Layer(line=line, tensors=(Tensor(name=name, shape=("C",)),))


W, B = _parameter("w"), _parameter("b")
MEAN = Layer(
    line='self.register_buffer("mean", torch.randn(c))',
    tensors=(Tensor(name="mean", shape=("C",)),),
)
VAR = Layer(
    line='self.register_buffer("var", torch.rand(c) + 0.5)',
    tensors=(Tensor(name="var", shape=("C",)),),
)
EMBEDDING = Layer(
    line="self.emb = nn.Embedding(40, c)",
    tensors=(Tensor(name="emb_weight", shape=("40", "C")),),
)
LINEAR = Layer(
    line="self.fc = nn.Linear(k, n)",
    tensors=(
        Tensor(name="fc_weight", shape=("N", "K")),
        Tensor(name="fc_bias", shape=("N",)),
    ),
)
CONV = Layer(
    line="self.conv = nn.Conv1d(1, 4, 3, bias=False)",
    tensors=(Tensor(name="conv_weight", shape=("4", "1", "3")),),
)


def weights(unary: Sequence[Unary]) -> Iterator[Blueprint]:
    for op in unary:
        for chain, layers in ((_affine(IDENTITY), (W, B)), (_batchnorm(IDENTITY), (MEAN, VAR))):
            yield _pointwise(then(chain, op), layers, (op.torch.format("x"), chain.torch))
        yield _rmsnorm(op)
        yield _layernorm(op)
        yield replace(_embedding(op, scaled=False), plain=True)
        yield _embedding(op, scaled=True)
        if op.growth < 2:
            yield _linear(op)
            yield _convolution(op)


def _affine(chain: Chain) -> Chain:
    return combine(_scaled(chain), ADD, ("self.b", "b[j]"), "b")


def _scaled(chain: Chain) -> Chain:
    return combine(chain, MUL, ("self.w", "w[j]"), "w")


def _batchnorm(chain: Chain) -> Chain:
    """Evaluation mode: the statistics are buffers."""
    moved = combine(chain, SUB, ("self.mean", "mean[j]"), "mean")
    return Chain(
        torch=f"({moved.torch}) * torch.rsqrt(self.var + 1e-5)",
        steps=(*moved.steps, "v = v / std::sqrt(var[j] + 1e-5f);"),
        names=(*moved.names, "div_std"),
    )


def _pointwise(chain: Chain, layers: tuple[Layer, ...], dropped: tuple[str, ...]) -> Blueprint:
    return Blueprint(
        category="weights",
        family=f"weights_{chain.label}",
        inputs=(X,),
        layers=layers,
        expression=chain.torch,
        plan=plan(chain),
        bodies=((ROWS, nested(chain)),),
        walk=elements(chain),
        dropped=dropped,
    )


def _rmsnorm(op: Unary) -> Blueprint:
    rms = "x * torch.rsqrt(torch.square(x).mean(dim=1, keepdim=True) + 1e-5)"
    last = Chain(
        torch=f"{rms} * self.w",
        steps=("v = v / std::sqrt(s / x_1 + 1e-5f);", "v = v * w[j];"),
        names=("rmsnorm", "mul_w"),
    )
    sums = ("s += v * v;",)
    return _row_norm(then(last, op), sums, (), (last.torch, op.torch.format(rms)))


def _layernorm(op: Unary) -> Blueprint:
    norm = "nn.functional.layer_norm(x, x.shape[1:], {})"
    last = Chain(
        torch=norm.format("self.w"),
        steps=("v = (v - s) / t * w[j];",),
        names=("layernorm",),
    )
    sums, ends = (
        ("s += v;", "t += v * v;"),
        ("s /= x_1;", "t = std::sqrt(t / x_1 - s * s + 1e-5f);"),
    )
    return _row_norm(then(last, op), sums, ends, (last.torch, op.torch.format(norm.format("None"))))


def _row_norm(
    last: Chain, sums: tuple[str, ...], ends: tuple[str, ...], dropped: tuple[str, ...]
) -> Blueprint:
    """Sums over a row, then the chain on each of its elements."""
    loop = "    for (int64_t j = 0; j < x_1; ++j) {\n"
    starts = "".join(f"    float {line[0]} = 0.0f;\n" for line in sums)
    body = (
        f"  for (int64_t i = 0; i < x_0; ++i) {{\n{starts}{simd(4, *sums)}"
        + loop
        + steps(Chain(torch="", steps=sums, names=()), 6, AT)
        + "    }\n"
        + "".join(f"    {line}\n" for line in ends)
        + simd(4)
        + loop
        + steps(last, 6, AT)
        + "      out[i * x_1 + j] = v;\n    }\n  }\n"
    )
    return Blueprint(
        category="weights",
        family="_".join(("weights", *last.names)),
        inputs=(X,),
        layers=(W,),
        expression=last.torch,
        plan=f"{' '.join(sums)} {plan(last)}",
        bodies=(("Each row is read twice.", body),),
        walk=Rows(
            load=(f"float v = {AT};",),
            passes=(Pass(sums=sums, ends=ends, then=last.steps),),
            keeps=True,
        ),
        dropped=dropped,
    )


def _embedding(op: Unary, *, scaled: bool) -> Blueprint:
    looked_up = Chain(torch="self.emb(x)", steps=(), names=())
    chain = then(looked_up, op)
    chain, layers = (_scaled(chain), (W, EMBEDDING)) if scaled else (chain, (EMBEDDING,))
    load = "emb_weight[x[i] * out_1 + j]"
    body = (
        f"  for (int64_t i = 0; i < out_0; ++i) {{\n{simd(4)}"
        f"    for (int64_t j = 0; j < out_1; ++j) {{\n"
        f"{steps(chain, 6, load)}      out[i * out_1 + j] = v;\n    }}\n  }}\n"
    )
    return Blueprint(
        category="weights",
        family=f"weights_embedding_{chain.label}",
        inputs=(
            Tensor(name="x", shape=("R",), c_type="int64_t", drawn="torch.randint(0, 40, ({},))"),
        ),
        layers=layers,
        expression=chain.torch,
        plan=plan(chain, load),
        bodies=(("Each row of the table is read in memory order.", body),),
        walk=resized(chain, load, "x_0", "emb_weight_1"),
        dropped=(looked_up.torch, op.torch.format(looked_up.torch)) if scaled else ("self.emb(x)",),
    )


def _linear(op: Unary) -> Blueprint:
    chain = then(Chain(torch="self.fc(x)", steps=(), names=()), op)
    term = "v += x[i * x_1 + k] * fc_weight[j * x_1 + k];"
    done = ("v = v + fc_bias[j];", op.c)
    linear = f"linear: {term} {done[0]}"
    return Blueprint(
        category="weights",
        family=f"weights_linear_{op.name}",
        inputs=(Tensor(name="x", shape=("M", "K")),),
        layers=(LINEAR,),
        expression=chain.torch,
        plan=f"{linear} {op.name}: {op.c}",
        bodies=((TILED, tiles("fc_weight[(c + j) * x_1 + k]", "out_1", done)),),
        walk=Elements(
            statements=(
                "float v = 0.0f;",
                Loop("k", "x_1", (term,)),
                *done,
                "out[i * out_1 + j] = v;",
            ),
            shape=("out_0", "out_1"),
            made=("x_0", "fc_weight_0"),
        ),
        sizes=("M", "K", "N"),
        dropped=("self.fc(x)",),
    )


def _convolution(op: Unary) -> Blueprint:
    term = "x[n * x_2 + j + k] * conv_weight[i * 3 + k]"
    body = (
        "  for (int64_t n = 0; n < out_0; ++n) {\n    for (int64_t i = 0; i < out_1; ++i) {\n"
        f"{simd(6)}"
        "      for (int64_t j = 0; j < out_2; ++j) {\n        float v = 0.0f;\n"
        f"        for (int64_t k = 0; k < 3; ++k)\n          v += {term};\n"
        f"        {op.c}\n        out[(n * out_1 + i) * out_2 + j] = v;\n      }}\n    }}\n  }}\n"
    )
    return Blueprint(
        category="weights",
        family=f"weights_conv1d_{op.name}",
        inputs=(Tensor(name="x", shape=("B", "1", "L")),),
        layers=(CONV,),
        expression=op.torch.format("self.conv(x)"),
        output_dims=(3,),
        plan=f"conv1d: v += {term}; {op.name}: {op.c}",
        bodies=(("Each output sums over k.", body),),
        walk=Elements(
            statements=(
                "float v = 0.0f;",
                Loop("k", "3", (f"v += {term};",)),
                op.c,
                "out[(n * out_1 + i) * out_2 + j] = v;",
            ),
            shape=("out_0", "out_1", "out_2"),
            made=("x_0", "conv_weight_0", "x_2 - 2"),
        ),
        sizes=("B", "L"),
        dropped=("self.conv(x)",),
    )
