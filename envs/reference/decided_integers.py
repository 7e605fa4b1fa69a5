"""Finds integer outputs decided by equal or rounded values, where correct kernels may differ.

A count or a running sum of integers is exact. An index is up to who sorts where values are equal,
unless the sort is stable or the index is judged by what it points at (rankings.py). What a rounded
float is cast, compared or searched to is up to who rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelwright.envs.reference.decisions import RANKING
from kernelwright.envs.reference.distributions import is_float, same_values
from kernelwright.envs.reference.module import Drawn, copies, forward_float64
from kernelwright.envs.reference.plain_loops import floats, storage, tensors_in, within
from kernelwright.envs.reference.rankings import rankings

_STEPS = "round floor ceil trunc frac sign sgn heaviside floor_divide remainder fmod div"
STEPS = frozenset(_STEPS.split())
"""Operators that take floats from step to step, `div` with a rounding mode."""


@dataclass(frozen=True, slots=True)
class Decision:
    """An operator that made integers or flags of these floats, or ranked them."""

    ranks: bool
    """Whether equal values come in any order."""
    values: tuple[Any, ...]


class _Watch:
    """Runs operators and notes those that decide, and what comes of them."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []
        self._reached: dict[int, frozenset[int]] = {}
        """By storage: the numbers of the decisions that it hangs on."""
        self._alive: list[Any] = []
        """Tensors that are kept, so that their memory is not used again."""

    def __call__(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        given = (*args, *kwargs.values())
        values = tuple(one.clone() for one in floats(given))
        out = func(*args, **kwargs)
        name = func._schema.name.removeprefix("aten::").removesuffix("_")
        steps = name in STEPS and (name != "div" or "rounding_mode" in kwargs)
        before = self.of(given)
        results = list(tensors_in(out))
        whole = [one for one in results if not is_float(one)]
        own = frozenset[int]()
        if (whole and (values or name in RANKING)) or (steps and values):
            own = frozenset((len(self.decisions),))
            ranks = name in RANKING and not kwargs.get("stable")
            self.decisions.append(Decision(ranks, values))
        for one in results:
            found = before | (own if steps or not is_float(one) else frozenset())
            if found:
                self._alive.append(one)
            self._reached[storage(one)] = found
        return out

    def of(self, value: Any) -> frozenset[int]:
        """The decisions that these tensors hang on."""
        reached = (self._reached.get(storage(one), frozenset[int]()) for one in tensors_in(value))
        return frozenset[int]().union(*reached)


def are_decided(drawn: Drawn) -> bool:
    """Whether an integer of the outputs is up to who sorts, or who rounds; or another output is up
    to who sorts."""
    model, state, arguments = drawn
    watch, in_float64 = _Watch(), list[_Watch]()
    outputs = within(watch, model, *copies(state, arguments))

    def watched(*given: Any) -> Any:
        in_float64.append(_Watch())  # anew where it runs again, in its own type
        return within(in_float64[-1], *given)

    forward_float64(model, state, arguments, way=watched)
    exact = in_float64[-1].decisions
    if len(exact) != len(watch.decisions):
        return True
    by_value = {one.output for one in rankings(drawn)}
    for number, one in enumerate(outputs):
        reached = watch.of(one)
        ranked = {n for n in reached if watch.decisions[n].ranks}
        if number in by_value:
            its_own = {max(ranked)} if ranked else set()
            ranked, reached = ranked - its_own, reached - its_own
        if ranked or (
            not is_float(one)
            and any(_is_rounded(watch.decisions[n], exact[n]) for n in reached - ranked)
        ):
            return True
    return False


def _is_rounded(own: Decision, exact: Decision) -> bool:
    """Whether float64 has other values there."""
    pairs = zip(own.values, exact.values, strict=False)
    return len(own.values) != len(exact.values) or any(
        not same_values(a.double(), b.double()) for a, b in pairs
    )
