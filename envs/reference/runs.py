"""Caches a module's outputs on the draws of its case, because several checks need the same runs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from kernelwright.envs.referee.tolerance import Array
from kernelwright.envs.reference.decisions import Recorded
from kernelwright.envs.reference.module import (
    Drawn,
    Reference,
    array_of,
    flatten,
    forward,
    forward_float64,
)
from kernelwright.envs.reference.plain_loops import tensors_in, watching

FIRST_SEED = 1
"""The first draw of a case that is looked at."""

FEW_NUMBERS = 1 << 16
"""Draws of so many numbers are kept; of larger ones the first alone."""


class Run:
    """Outputs of a module on one draw, computed when they are first needed."""

    def __init__(self, drawn: Drawn) -> None:
        import torch

        self.drawn = drawn
        self.random_state = torch.get_rng_state()
        """Of PyTorch's generator, right after the draw."""
        self._decides = self._ranks = False

    @cached_property
    def own(self) -> list[Any]:
        """The outputs in the module's own precision."""
        return flatten(forward(*self.drawn))

    @cached_property
    def exact(self) -> list[Array]:
        """The outputs in float64."""
        recorded = Recorded(keep=False)
        with watching(recorded):
            found = [array_of(one) for one in flatten(forward_float64(*self.drawn))]
        self._decides, self._ranks = recorded.met, recorded.ranks
        return found

    @property
    def decides(self) -> bool:
        """Whether rounding may turn a decision of the module."""
        _ = self.exact
        return self._decides

    @property
    def ranks(self) -> bool:
        """Whether the module ranks values."""
        _ = self.exact
        return self._ranks

    def restore_generator(self) -> None:
        """PyTorch's generator is where it was right after the draw."""
        import torch

        torch.set_rng_state(self.random_state)


class Runs:
    """The runs of one case."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        self._kept: dict[int, Run] = {}

    def of(self, seed: int) -> Run:
        """The module on the draw of this seed."""
        if seed in self._kept:
            return self._kept[seed]
        found = Run(self.reference.draw(seed))
        _, state, arguments = found.drawn
        count = sum(one.numel() for one in tensors_in((*state.values(), *arguments)))
        if seed == FIRST_SEED or count <= FEW_NUMBERS:
            self._kept[seed] = found
        return found
