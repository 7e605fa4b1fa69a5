"""A blueprint's Triton answer: a `@triton.jit` function, and the `ModelNew` that launches it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernelwright.data.factory.blueprint import Blueprint
from kernelwright.data.factory.triton_words import INFINITE, lines_of, spoken, translated
from kernelwright.data.factory.walk import ARGMAX, Elements, Pass, Rows, Scan, Walk, running

WALKED = ("x_0", "x_1")
"""The sizes that are walked where nothing else is said."""
FILLS = {"sum": "0.0", "max": f"-{INFINITE}", "min": INFINITE}
REDUCED = "{} = tl.{}(tl.where(mask, {}, {}), 0)"
PLACE, LARGEST = (
    REDUCED.format(name, kind, "v", FILLS["max"])
    for name, kind in (("best", "argmax"), ("s", "max"))
)
SCANNED = "s = tl.cumsum(v, 0)"
NAMED = {
    "self.conv.weight.shape[0]": "self.conv.out_channels",
    "self.emb.weight.shape[1]": "self.emb.embedding_dim",
    "self.fc.weight.shape[0]": "self.fc.out_features",
}
"""Sizes of weights that a layer has a name for. By their shapes a small model wrote the same of any
parameter (`self.w.shape[1]` of one row: 11 of 19 answers with weights)."""
PIECE = re.compile(r"([\w =]+?: )?([^;]+?)[;.](?: |$)")
"""The words before a statement of a plan, and the statement."""
SIZE = re.compile(r"\b(\w+?)_(\d)\b")
TYPES = {"float": "", "int64_t": ", dtype=torch.int64", "bool": ", dtype=torch.bool"}
HEAD = """\
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice
"""
"""Of each answer, with a `libdevice` call or none: where only the former had its import, a small
model wrote the call without it (29 of 114 answers)."""


def plan(blueprint: Blueprint) -> str:
    """The blueprint's plan in Triton's statements."""
    pieces = PIECE.findall(blueprint.plan)
    return " ".join(f"{words}{_said(text, blueprint.walk)};" for words, text in pieces)


def remark(blueprint: Blueprint) -> str:
    """How the work is shared out."""
    match blueprint.walk:
        case Elements(shape=(_,)):
            return "Each program takes 256 columns."
        case _:
            return "Each program holds one whole row in a block."


def source(blueprint: Blueprint) -> str:
    """One complete Triton answer."""
    body = "".join(f"    {line}\n" for line in _device(blueprint.walk))
    host = _Host(blueprint)
    numbers = [one.name for one in blueprint.scalars]
    pointers = [name for name in host.names if f"{name}_ptr" in body]
    used = {found[0] for found in SIZE.finditer(body)}
    sizes = [name for _, name in blueprint.arguments() if name in used]
    taken = ", ".join((*(f"{name}_ptr" for name in pointers), *sizes, *numbers))
    given = ", ".join((*map(host.tensor, pointers), *map(host.size, sizes), *numbers))
    arguments = ", ".join((*(one.name for one in blueprint.inputs), *numbers))
    grid, block = host.launch()
    return (
        f"{HEAD}\n\n"
        f"@triton.jit\ndef compute({taken}, BLOCK: tl.constexpr):\n{body}\n\n"
        f"class ModelNew(nn.Module):\n{blueprint.init()}"
        f"    def forward(self, {arguments}):\n{host.outputs()}"
        f"        compute[({grid})]({given}, BLOCK={block})\n"
        f"        return {', '.join(name for _, name in blueprint.outputs())}\n"
    )


@dataclass(frozen=True, slots=True)
class _Host:
    """What the Python around a kernel calls tensors and sizes."""

    blueprint: Blueprint

    @property
    def names(self) -> list[str]:
        """The tensors, in the order of the native ABI."""
        results = [name for _, name in self.blueprint.outputs()]
        return [*(one.name for one in self.blueprint.given()), *results]

    def tensor(self, name: str) -> str:
        held = {one.name for layer in self.blueprint.layers for one in layer.tensors}
        return f"self.{name.replace('_', '.', 1)}" if name in held else name

    def size(self, text: str) -> str:
        sized = SIZE.sub(lambda found: f"{self.tensor(found[1])}.shape[{found[2]}]", text)
        return NAMED.get(sized, sized)

    def outputs(self) -> str:
        """The lines that make them, each with its sizes: where those like `x` were made with
        `empty_like`, a small model made all of them so (24 of 60 wrong answers had another shape).
        """
        sizes = ", ".join(map(self.size, _made(self.blueprint.walk)))
        return "".join(
            f"        {name} = torch.empty({sizes}, device=x.device{TYPES[kind]})\n"
            for kind, name in self.blueprint.outputs()
        )

    def launch(self) -> tuple[str, str]:
        """The grid, and the columns of a block: a whole row, where there are rows."""
        walk = self.blueprint.walk
        *outer, last = map(self.size, walk.shape if isinstance(walk, Elements) else WALKED)
        if not outer:
            return f"triton.cdiv({last}, 256),", "256"
        grid = ", ".join(outer) if outer[1:] else f"{outer[0]},"
        return grid, f"triton.next_power_of_2({last})"


def _made(walk: Walk) -> tuple[str, ...]:
    """The sizes of an output."""
    match walk:
        case Elements(shape=shape, made=made):
            return made or shape
        case Rows(keeps=False):
            return ("x_0",)
        case _:
            return WALKED


def _device(walk: Walk) -> list[str]:
    """The lines of the kernel."""
    match walk:
        case Elements(shape=shape):
            lines = [f"{index} = tl.program_id({axis})" for axis, index in enumerate(walk.outer)]
            first = "" if lines else "tl.program_id(0) * BLOCK + "
            lines += [f"j = {first}tl.arange(0, BLOCK)", f"mask = j < {shape[-1]}"]
            return [*lines, *lines_of(walk.statements)]
        case Scan(load=load):
            steps = [*lines_of(load), SCANNED, *translated("out[i * x_1 + j] = s;")]
        case Rows(load=load, passes=passes, keeps=keeps):
            steps = [*lines_of(load), *(line for one in passes for line in _pass(one))]
            steps += translated("out[i * x_1 + j] = v;") if keeps else []
    return ["i = tl.program_id(0)", "j = tl.arange(0, BLOCK)", "mask = j < x_1", *steps]


def _pass(one: Pass) -> list[str]:
    sums = [_reduced(each) for each in one.sums]
    if ARGMAX in one.sums and any(end.endswith("= s;") for end in one.ends):
        sums = [LARGEST, *sums]
    return [*sums, *lines_of((*one.ends, *one.then))]


def _reduced(statement: str) -> str:
    """What takes in one more value, of a whole row at once."""
    if statement == ARGMAX:
        return PLACE
    found = running(statement)
    return REDUCED.format(found.name, found.kind, spoken(found.term), FILLS[found.kind])


def _said(text: str, walk: Walk) -> str:
    """A statement of the plan as the kernel has it."""
    statement = f"{text};"
    match walk:
        case Scan() if text == "s += v":
            return SCANNED
        case Rows(passes=passes):
            if statement in {each for one in passes for each in one.sums}:
                return _reduced(statement)
            if text in ("if (v > s) s = v", "best = j"):
                return LARGEST if text.endswith("v") else PLACE
    return translated(statement)[-1]
