"""A blueprint: one composition, from which both the PyTorch module and its C++ kernels are made."""

from __future__ import annotations

from dataclasses import dataclass

from envs.types import Case, Problem, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """An argument of `forward`: its name and its shape in terms of the size constants."""

    name: str
    shape: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """Everything a family of composition needs to become a problem and its triples.

    `bodies` are C++ function bodies, each with the words that say how it goes; the plan comes first
    in every reasoning because it is what the code does, step by step.
    """

    category: str
    family: str
    inputs: tuple[Tensor, ...]
    expression: str
    output_dims: tuple[int, ...]
    """How many dimensions each output has."""
    output_types: tuple[str, ...]
    plan: str
    bodies: tuple[tuple[str, str], ...]
    sizes: tuple[str, ...] = ("R", "C")
    dropped: tuple[str, ...] = ()
    """PyTorch expressions that leave one operation out: none may pass as an answer."""

    def signature(self) -> str:
        """The line that an answer must define; the same text as `envs.abi.signature` gives."""
        pointers = [f"const float* {one.name}" for one in self.inputs]
        pointers += [f"{c_type}* {name}" for c_type, name in self._outputs()]
        sizes = [f"{one.name}_{dim}" for one in self.inputs for dim in range(len(one.shape))]
        for (_, name), dims in zip(self._outputs(), self.output_dims, strict=True):
            sizes += [f"{name}_{dim}" for dim in range(dims)]
        arguments = ", ".join(pointers + [f"int64_t {size}" for size in sizes])
        return f'extern "C" void kernel({arguments})'

    def source(self, body: str) -> str:
        """One complete C++ answer."""
        includes = ["cstdint"]
        includes += ["cmath"] if "std::" in body or "INFINITY" in body else []
        includes += ["algorithm"] if "std::max" in body or "std::min" in body else []
        head = "".join(f"#include <{name}>\n" for name in includes)
        return f"{head}{self.signature()} {{\n{body.rstrip()}\n}}\n"

    def code(self, expression: str | None = None) -> str:
        """The problem in KernelBench's format, or a variant of it with another expression."""
        names = ", ".join(one.name for one in self.inputs)
        values = ", ".join(f"torch.randn({', '.join(one.shape)})" for one in self.inputs)
        constants = "\n".join(f"{name} = {size}" for name, size in BASE_SIZES[self.sizes])
        return (
            "import torch\nimport torch.nn as nn\n\n"
            f"{constants}\n\n\n"
            "class Model(nn.Module):\n"
            f"    def forward(self, {names}):\n"
            f"        return {expression or self.expression}\n\n\n"
            f"def get_inputs():\n    return [{values}]\n\n\n"
            "def get_init_inputs():\n    return []\n"
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

    def _outputs(self) -> list[tuple[str, str]]:
        count = len(self.output_types)
        names = ["out"] if count == 1 else [f"out{i}" for i in range(count)]
        return list(zip(self.output_types, names, strict=True))


BASE_SIZES: dict[tuple[str, ...], tuple[tuple[str, int], ...]] = {
    ("R", "C"): (("R", 512), ("C", 768)),
    ("M", "K", "N"): (("M", 96), ("K", 256), ("N", 192)),
}


def _cases(sizes: tuple[str, ...], rows: tuple[tuple[int, ...], ...]) -> tuple[Case, ...]:
    base, odd, small, thin = (tuple(zip(sizes, row, strict=True)) for row in rows)
    return (
        Case(name="small", sizes=small),
        Case(name="odd", sizes=odd, role=Role.HELD_OUT),
        Case(name="thin", sizes=thin, distribution="scaled", role=Role.HELD_OUT),
        Case(name="small_shifted", sizes=small, distribution="shifted"),
        Case(name="time", sizes=base, role=Role.TIME),
    )


CASES: dict[tuple[str, ...], tuple[Case, ...]] = {
    ("R", "C"): _cases(("R", "C"), ((512, 768), (37, 61), (64, 100), (3, 257))),
    ("M", "K", "N"): _cases(
        ("M", "K", "N"), ((96, 256, 192), (19, 37, 23), (32, 48, 40), (3, 129, 17))
    ),
}
