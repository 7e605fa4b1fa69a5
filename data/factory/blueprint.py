"""A blueprint: one composition, from which both the PyTorch module and its kernels are made."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.data.factory.walk import Walk
from kernelwright.envs.types import Case, Problem, Role

"""Those that glibc has for whole vectors: `exp` and `sin` from 2.22 on, the others from 2.35."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor argument of a kernel: its name, its shape in terms of the size constants, its type.

    `drawn` is how `get_inputs` makes it, given the shape.
    """

    name: str
    shape: tuple[str, ...]
    c_type: str = "float"
    drawn: str = "torch.randn({})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A number that `forward` takes."""

    name: str
    value: float | int | bool

    @property
    def c_type(self) -> str:
        return {bool: "bool", int: "int64_t", float: "double"}[type(self.value)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A line of `__init__`, and the parameters or buffers that it makes, in `state_dict` order."""

    line: str
    tensors: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """Everything a family of composition needs to become a problem and its triples.

    `bodies` are C++ function bodies, each with the words that say how it goes; the plan comes first
    in every reasoning because it is what the code does, step by step.
    """

    category: str
    family: str
    """Its operators and its loop pattern, a word each, joined with underscores."""
    inputs: tuple[Tensor, ...]
    expression: str
    plan: str
    bodies: tuple[tuple[str, str], ...]
    walk: Walk
    """The same for device code, which is made of it (cuda.py, triton.py)."""
    output_dims: tuple[int, ...] = (2,)
    """How many dimensions each output has."""
    output_types: tuple[str, ...] = ("float",)
    layers: tuple[Layer, ...] = ()
    scalars: tuple[Scalar, ...] = ()
    sizes: tuple[str, ...] = ("R", "C")
    plain: bool = False
    """Whether it is the family that shows its operator in this category: always trained on."""
    dropped: tuple[str, ...] = ()
    """PyTorch expressions that leave one operation out: none may pass as an answer."""

    @property
    def parts(self) -> frozenset[str]:
        """The operators and loop patterns that it is composed of."""
        return frozenset(self.family.split("_"))

    def given(self) -> list[Tensor]:
        """The tensors that a kernel reads, in the order of its arguments."""
        return [*self.inputs, *(one for layer in self.layers for one in layer.tensors)]

    def outputs(self) -> list[tuple[str, str]]:
        """(C type, name) of each output."""
        count = len(self.output_types)
        names = ["out"] if count == 1 else [f"out{i}" for i in range(count)]
        return list(zip(self.output_types, names, strict=True))

    def arguments(self) -> list[tuple[str, str]]:
        """(C type, name) of each argument of a kernel."""
        rows = [(f"const {one.c_type}*", one.name) for one in self.given()]
        rows += [(f"{c_type}*", name) for c_type, name in self.outputs()]
        dims = [(one.name, len(one.shape)) for one in self.given()]
        dims += [
            (name, many) for (_, name), many in zip(self.outputs(), self.output_dims, strict=True)
        ]
        rows += [("int64_t", f"{name}_{dim}") for name, many in dims for dim in range(many)]
        return [*rows, *((one.c_type, one.name) for one in self.scalars)]

    def signature(self, last: str = "") -> str:
        """The line that an answer must define; the same text as `signature` of envs/abi.py."""
        arguments = ", ".join(f"{c_type} {name}" for c_type, name in self.arguments())
        return f'extern "C" void kernel({arguments}{last})'

    def source(self, body: str) -> str:
        """One complete C++ answer."""
        includes = ["cstdint"]
        includes += ["cmath"] if "std::" in body or "INFINITY" in body else []
        includes += ["algorithm"] if "std::max" in body or "std::min" in body else []
        includes += ["vector"] if "std::vector" in body else []
        head = "".join(f"#include <{name}>\n" for name in includes)
        return f"{head}{self.signature()} {{\n{body.rstrip()}\n}}\n"

    def code(self, expression: str | None = None) -> str:
        """The problem in KernelBench's format, or a variant of it with another expression."""
        names = ", ".join([*(one.name for one in self.inputs), *(one.name for one in self.scalars)])
        values = [one.drawn.format(", ".join(one.shape)) for one in self.inputs]
        values += [repr(one.value) for one in self.scalars]
        constants = "\n".join(f"{name} = {size}" for name, size in BASE_SIZES[self.sizes])
        return (
            "import torch\nimport torch.nn as nn\n\n"
            f"{constants}\n\n\n"
            f"class Model(nn.Module):\n{self.init()}"
            f"    def forward(self, {names}):\n"
            f"        return {expression or self.expression}\n\n\n"
            f"def get_inputs():\n    return [{', '.join(values)}]\n\n\n"
            f"def get_init_inputs():\n    return [{', '.join(self._made_with())}]\n"
        )

    def problem(self) -> Problem:
        return Problem(
            name=self.family,
            code=self.code(),
            cases=CASES[self.sizes],
            category=self.category,
            family=self.family,
            source="kernelwright starter suite",
            licence="Apache-2.0",
        )

    def init(self) -> str:
        """The module's `__init__`; nothing where it has no layers."""
        if not self.layers:
            return ""
        arguments = "".join(f", {name.lower()}" for name in self._made_with())
        lines = "".join(f"        {layer.line}\n" for layer in self.layers)
        return f"    def __init__(self{arguments}):\n        super().__init__()\n{lines}\n"

    def _made_with(self) -> list[str]:
        """The sizes that the layers' shapes depend on."""
        shapes = [one.shape for layer in self.layers for one in layer.tensors]
        return [name for name in self.sizes if any(name in shape for shape in shapes)]


BASE_SIZES: dict[tuple[str, ...], tuple[tuple[str, int], ...]] = {
    ("R", "C"): (("R", 512), ("C", 768)),
    ("M", "K", "N"): (("M", 96), ("K", 256), ("N", 192)),
    ("B", "L"): (("B", 64), ("L", 768)),
}


def _cases(sizes: tuple[str, ...], rows: tuple[tuple[int, ...], ...]) -> tuple[Case, ...]:
    """Each on values of its own; every size is larger than the timed one in some case."""
    base, odd, small, long, wide = (tuple(zip(sizes, row, strict=True)) for row in rows)
    return (
        Case(name="small", sizes=small, distribution="near_zero"),
        Case(name="odd", sizes=odd, distribution="special", role=Role.HELD_OUT),
        Case(name="wide", sizes=wide, distribution="scaled", role=Role.HELD_OUT),
        Case(name="long", sizes=long, distribution="shifted"),
        Case(name="time", sizes=base, role=Role.TIME),
    )


CASES: dict[tuple[str, ...], tuple[Case, ...]] = {
    ("R", "C"): _cases(("R", "C"), ((512, 768), (37, 61), (64, 100), (521, 19), (3, 1031))),
    ("M", "K", "N"): _cases(
        ("M", "K", "N"), ((96, 256, 192), (19, 37, 23), (32, 48, 40), (101, 29, 197), (3, 263, 17))
    ),
    ("B", "L"): _cases(("B", "L"), ((64, 768), (5, 61), (8, 100), (67, 30), (3, 1031))),
}
