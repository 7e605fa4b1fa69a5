"""A kernel before it is in any language: its tensors, and the loop nests in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.data.graphs.expr import tensors
from kernelwright.data.graphs.nests import Nest
from kernelwright.data.graphs.operator import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """The inputs of `forward`, parameters and buffers in `state_dict` order, and the nests; the
    last one writes `out`."""

    inputs: tuple[Tensor, ...]
    state: tuple[Tensor, ...]
    out: Tensor
    nests: tuple[Nest, ...]
    worked_out: tuple[tuple[str, str], ...] = ()
    """Sizes of `out` that no other tensor has, and what they are in terms of the others."""

    @property
    def given(self) -> tuple[Tensor, ...]:
        return (*self.inputs, *self.state)

    @property
    def arguments(self) -> tuple[tuple[str, str], ...]:
        """(C type, name) of each, in the order of envs/abi.py."""
        pointers = [(f"const {one.c_type}*", one.name) for one in self.given]
        pointers += [(f"{self.out.c_type}*", self.out.name)]
        every = (*self.given, self.out)
        sizes = [("int64_t", f"{one.name}_{d}") for one in every for d in range(len(one.shape))]
        return (*pointers, *sizes)

    def signature(self, more: str = "") -> str:
        """The same text as `signature` of envs/abi.py; `more` are arguments of a dialect."""
        given = ", ".join(f"{c_type} {name}" for c_type, name in self.arguments)
        return f'extern "C" void kernel({given}{more})'


def target_of(nests: Sequence[Nest], number: int) -> str:
    """Where a nest writes: into `out` if all that follow work in place and keep the shape."""
    after = nests[number + 1 :]
    read_again = any(f"h{number}" in _read(one) for one in after)
    same = all(one.in_place and one.c_type == "float" for one in after)
    return "out" if same and not read_again else f"h{number}"


def source_of(nests: Sequence[Nest], number: int) -> str:
    return target_of(nests, number - 1) if number else nests[0].source


def _read(nest: Nest) -> set[str]:
    return {one for step in (*nest.before, *nest.after) for one in tensors(step.value)}
