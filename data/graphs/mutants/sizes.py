"""Faults that no size of a problem shows: a last block that is full, a row that one tile holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kernelwright.data.graphs.kernel import Kernel
from kernelwright.data.graphs.lint import cuda_code, triton_code
from kernelwright.data.graphs.lint.code import Block
from kernelwright.data.graphs.lint.formulas import formula, named, replaced, value
from kernelwright.data.graphs.mutants.of_text import Mutant
from kernelwright.envs.types import Case, Dialect

Sizes = Mapping[str, int]
LAUNCHED: dict[Dialect, Callable[[str], list[Block]]] = {
    "cuda": cuda_code.launched,
    "triton": triton_code.launched,
}
"""By dialect, the functions of a source as they are launched."""


def sizes_in(kernel: Kernel, cases: Iterable[Case]) -> list[Sizes]:
    """The sizes of a kernel's tensors in each case. Those of parameters are the same in all."""
    fixed = {dim.text: dim.size for one in kernel.state for dim in one.shape}
    found = list[Sizes]()
    for case in cases:
        constants = dict(case.sizes)
        given = {
            dim.text: constants[constant]
            for one in kernel.inputs
            for dim, constant in zip(one.shape, one.constants, strict=False)
            if constant in constants
        }
        found.append(fixed | given)
    return found


def never_shows(mutant: Mutant, functions: Sequence[Block], sizes: Sequence[Sizes]) -> bool:
    """Whether a fault computes the same in all cases."""
    if not mutant.zero or not sizes:
        return False
    number = formula(mutant.zero.replace(".numel()", ".numel"))
    for block in functions:
        launch = block.launches[0]
        if mutant.function in ("", launch.name):
            number = block.full(replaced(number, launch.given))
    known = named(number) <= set.intersection(*(set(one) for one in sizes))
    return known and all(value(number, one) == 0 for one in sizes)
