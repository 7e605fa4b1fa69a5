"""Finds where a module decides by floats: comparisons, maxima, steps. And how far rounding moves
what it decides by.

A decision is an operator whose result jumps where its floats hardly change. These classes note
decisions and repeat them; `near_ties.py` takes them the other way where they are near.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.envs.reference.distributions import is_float
from kernelwright.envs.reference.made_of_steps import MADE_OF_STEPS
from kernelwright.envs.reference.plain_loops import storage, tensors_in, watching

LARGEST = {"argmax": 1, "max": 1, "argmin": -1, "min": -1}
OF_ONE = frozenset(("argmax", "argmin", "max", "min", "median", "nanmedian", "kthvalue", "mode"))
"""Operators that find one value of each row."""
LAST_BY_DEFAULT = frozenset(("sort", "topk", "kthvalue", "mode"))
"""Operators that rank along the last dimension where they are told none."""
RANKING = OF_ONE | LAST_BY_DEFAULT
COMPARES = frozenset(("ge", "gt", "le", "lt"))
REST_OF = {"frac": "trunc", "fmod": "trunc", "remainder": "floor"}
"""Operators that give what is left behind a step, by how the quotient is rounded."""
DIVIDES = frozenset(("fmod", "remainder", "floor_divide", "div"))
STEPS = {
    **dict.fromkeys(("round", "floor", "ceil", "trunc", "sign", "_to_copy", "bucketize"), 0),
    **dict.fromkeys((*REST_OF, *DIVIDES, *COMPARES), 0),
    "searchsorted": 1,
}
"""Operators that take floats from step to step, `div` where it rounds and `_to_copy` where it makes
integers: which argument they are. A comparison has two steps, false and true."""

Named = Mapping[str, Any]
Run = Callable[[], object]
"""Runs the module."""


class Deciding:
    """Runs operators (`watching`): by `decided` those that decide, by `run` the others."""

    def __call__(self, func: Any, args: tuple[Any, ...], named: Named) -> Any:
        import torch

        name = func.overloadpacket.__name__
        if name.endswith("_") and name[:-1] in STEPS.keys() | MADE_OF_STEPS.keys():
            apart = getattr(getattr(torch.ops.aten, name[:-1]), func._overloadname)
            return args[0].copy_(self(apart, args, named))
        if name in MADE_OF_STEPS and is_float(args[0]):
            with watching(self):
                return MADE_OF_STEPS[name](*args, **named)
        decides = _is_decision(name, args, named)
        return self.decided(name, func, args, named) if decides else self.run(func, args, named)

    def run(self, func: Any, args: tuple[Any, ...], named: Named) -> Any:
        return func(*args, **named)

    def decided(self, name: str, func: Any, args: tuple[Any, ...], named: Named) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Decision:
    """What an operator decided, and by what."""

    name: str
    values: Any
    """`values_of` the operator."""
    found: Any
    """Its steps, flags or indices."""


class Recorded(Deciding):
    """Notes within it whether there are decisions, and with `keep` each of them."""

    def __init__(self, *, keep: bool = True) -> None:
        self._keep = keep
        self.decisions: list[Decision] = []
        self.met = False
        """Whether rounding may turn one. The sign of what a module is given stays as it is."""
        self.ranks = False
        """Whether an operator ranks values."""
        self._made = set[int]()
        """By storage: what operators have made within it."""

    def __call__(self, func: Any, args: tuple[Any, ...], named: Named) -> Any:
        self.ranks |= func.overloadpacket.__name__ in RANKING
        return super().__call__(func, args, named)

    def run(self, func: Any, args: tuple[Any, ...], named: Named) -> Any:
        out = func(*args, **named)
        given = {storage(one) for one in tensors_in(args)}
        self._made |= {storage(one) for one in tensors_in(out)} - given
        return out

    def decided(self, name: str, func: Any, args: tuple[Any, ...], named: Named) -> Any:
        of_zero = name == "sign" or (name in COMPARES and _is_zero(args[1]))
        self.met |= not of_zero or storage(args[0]) in self._made
        if not self._keep:
            return self.run(func, args, named)
        values, out = values_of(name, args).clone(), self.run(func, args, named)
        if name in REST_OF:
            of, by = divided(args)
            found = of.div(by, rounding_mode=REST_OF[name])
        else:
            found = (out[1] if isinstance(out, tuple | list) else out).clone()
        self.decisions.append(Decision(name, values, found))
        return out


class OtherCourse(Exception):
    """A run decides other things than the one that was recorded."""


class Held(Deciding):
    """Within it each decision is as it was recorded, whatever its values are now.

    Raises OtherCourse where it is another decision.
    """

    def __init__(self, decisions: Sequence[Decision]) -> None:
        self._decisions = decisions
        self.off: list[Any] = []
        """Of each decision how far its values are from those recorded."""

    def decided(self, name: str, func: Any, args: tuple[Any, ...], named: Named) -> Any:
        values, number = values_of(name, args), len(self.off)
        one = self._decisions[number] if number < len(self._decisions) else None
        if one is None or (one.name, one.values.shape) != (name, values.shape):
            raise OtherCourse
        self.off.append((values - one.values).abs())
        if name in REST_OF:
            of, by = divided(args)
            return of - one.found * by
        found = func(*args, **named)
        if isinstance(found, tuple | list):
            return type(found)((picked(args, named, one.found), one.found.clone()))
        return one.found.clone() if one.found.shape == found.shape else found


def margins_of(decisions: Sequence[Decision], runs: Sequence[Run]) -> list[Any]:
    """For each decision how far these runs of the module move each of its values, as a root mean
    square; 0 of what is not finite. Empty where one of the runs decides other things."""
    held = _repeated(decisions, runs)
    squares = [
        sum(off * off for off in some) for some in zip(*(one.off for one in held), strict=True)
    ]
    return [(one / len(held)).sqrt().nan_to_num(0.0, 0.0, 0.0) for one in squares]


def _repeated(decisions: Sequence[Decision], runs: Sequence[Run]) -> list[Held]:
    found = []
    for run in runs:
        held = Held(decisions)
        try:
            with watching(held):
                run()
        except OtherCourse:
            return []
        found.append(held)
    return found


def values_of(name: str, args: tuple[Any, ...]) -> Any:
    """What an operator decides by: the difference of what it compares, the quotient that it takes
    to a step, else the floats themselves."""
    of = args[STEPS.get(name, 0)]
    if name in COMPARES:
        return of - args[1]
    return of / args[1] if name in DIVIDES else of


def divided(args: tuple[Any, ...]) -> tuple[Any, Any]:
    """(dividend, divisor) of an operator that takes a quotient to a step."""
    return args[0], args[1] if len(args) > 1 else 1


def picked(args: tuple[Any, ...], named: Named, index: Any) -> Any:
    """The values at these indices along the dimension that an operator ranks."""
    dim = dim_of(args, named)
    of = args[0]
    assert dim is not None
    if index.dim() == of.dim():
        return of.gather(dim, index)
    return of.gather(dim, index.unsqueeze(dim)).squeeze(dim)


def dim_of(args: tuple[Any, ...], named: Named) -> int | None:
    """The dimension along which an operator ranks; None where it ranks all, or two tensors."""
    dim = args[1] if len(args) > 1 else named.get("dim")
    return dim if isinstance(dim, int) and args[0].dim() else None


def _is_zero(value: Any) -> bool:
    return isinstance(value, int | float) and value == 0


def _is_decision(name: str, args: tuple[Any, ...], named: Named) -> bool:
    """Whether this operator ranks floats, compares them, or takes them to a step."""
    at = STEPS.get(name, 0)
    of = args[at] if len(args) > at else None
    if not is_float(of):
        return False
    if name == "div":
        return named.get("rounding_mode") is not None
    if name == "_to_copy":
        kind = named.get("dtype")
        return kind is not None and not (kind.is_floating_point or kind.is_complex)
    ranks = name.startswith("arg") or dim_of(args, named) is not None
    return name in STEPS or (name in LARGEST and ranks)
