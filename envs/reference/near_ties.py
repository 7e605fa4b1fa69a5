"""Acceptable alternatives where rounding decides an argmax, a comparison, or a step.

Of 768 sines the two largest are often one unit in the last place apart, so the implementation of
sine decides which is the largest. Moving inputs does not show that: a sine is flat at its maximum.
A quantised value near the middle of two steps is up to who divides, and who multiplies by the
reciprocal. Where float64 is exactly at a step, or compares equal numbers, it is as the module has
it: what lies at a limit by design, as the edge of a band does, is no matter of rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

LARGEST = {"argmax": 1, "max": 1, "argmin": -1, "min": -1}
COMPARES = frozenset(("ge", "gt", "le", "lt"))
REST_OF = {"frac": "trunc", "fmod": "trunc", "remainder": "floor"}
"""Operators that give what is left behind a step, by how the quotient is rounded."""
STEPS = {
    **dict.fromkeys(("round", "floor", "ceil", "trunc", "_to_copy", "bucketize", *REST_OF), 0),
    **dict.fromkeys(("floor_divide", "div", *COMPARES), 0),
    "searchsorted": 1,
}
"""Operators that take floats from step to step, `div` where it rounds and `_to_copy` where it makes
integers: which argument they are. A comparison has two steps, false and true."""

ALL = 1 << 30
PICKS = (1, 2, ALL)
"""Which of the near values: the first, the second, the last. Four are hardly ever this near."""
BOTH_WAYS = (1, 2)
"""Less, and more: steps and comparisons have no third way."""
EXACTLY = 4 * torch.finfo(torch.float64).eps
"""A step that this relative distance decides is one that float64 is exactly at."""


class Decisions(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes within it whether floats were compared with something other than zero, ranked, or taken
    to a step: whether `NearTies` can make a difference."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.met = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name, named = func.overloadpacket.__name__, kwargs or {}
        of_zero = name in COMPARES and not isinstance(args[1], torch.Tensor) and args[1] == 0
        self.met |= _is_decision(name.removesuffix("_"), args, named) and not of_zero
        return func(*args, **named)


class NearTies(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Within it the `pick`-th of the values within `relative` of the largest counts as the largest.
    Values that are compared, or taken to a step, are reduced by `relative` for the first pick, and
    increased for the others."""

    def __init__(self, relative: float, pick: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.relative, self.pick = relative, pick

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name, named = func.overloadpacket.__name__, kwargs or {}
        if name.endswith("_") and name[:-1] in STEPS:
            apart = getattr(getattr(torch.ops.aten, name[:-1]), func._overloadname)
            return args[0].copy_(self.__torch_dispatch__(apart, types, args, kwargs))
        if not _is_decision(name, args, named):
            return func(*args, **named)
        if name in REST_OF:
            return self._rest(REST_OF[name], func, args, named)
        if name in STEPS:
            at = STEPS[name]
            return self._step(
                lambda moved: func(*args[:at], moved, *args[at + 1 :], **named), args[at]
            )
        return self._ranked(func(*args, **named), LARGEST[name], args, named)

    def _factor(self) -> float:
        return 1 + (self.relative if self.pick > 1 else -self.relative)

    def _step(self, step: Callable[[Any], Any], of: torch.Tensor) -> Any:
        """The steps of moved values, but of those that are exactly at one."""
        at_one = step(of * (1 - EXACTLY)) != step(of * (1 + EXACTLY))
        return torch.where(at_one, step(of), step(of * self._factor()))

    def _rest(self, rounding: str, func: Any, args: tuple[Any, ...], named: Any) -> Any:
        """What is left behind the steps of moved values."""
        of, by = args[0], args[1] if len(args) > 1 else 1

        def step(moved: torch.Tensor) -> torch.Tensor:
            return torch.div(moved, by, rounding_mode=rounding)

        return func(*args, **named) - (self._step(step, of) - step(of)) * by

    def _ranked(self, found: Any, sign: int, args: tuple[Any, ...], named: Any) -> Any:
        dim = args[1] if len(args) > 1 else named.get("dim")
        if not isinstance(dim, int) or args[0].dim() == 0:
            return found
        values, index = found if isinstance(found, tuple | list) else (None, found)
        keeps = index.dim() == args[0].dim()
        index = self._place(args[0] * sign, dim, index if keeps else index.unsqueeze(dim))
        near = args[0].gather(dim, index)
        if not keeps:
            index, near = index.squeeze(dim), near.squeeze(dim)
        return index if values is None else type(found)((near, index))

    def _place(self, of: torch.Tensor, dim: int, usual: torch.Tensor) -> torch.Tensor:
        """Of the places along `dim` that are all but the largest, the one of this number; the last
        where there are fewer."""
        largest = of.gather(dim, usual)
        near = of >= largest - self.relative * largest.abs()
        number = near.cumsum(dim)
        wanted = number.amax(dim, keepdim=True).clamp(max=self.pick)
        found = (near & (number == wanted)).max(dim, keepdim=True)
        return torch.where(found.values, found.indices, usual)  # NaN is near nothing


def _is_decision(name: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Whether this operator ranks floats, or takes them to a step."""
    at = STEPS.get(name, 0)
    if (
        len(args) <= at
        or not isinstance(args[at], torch.Tensor)
        or not args[at].is_floating_point()
    ):
        return False
    if name == "div":
        return named.get("rounding_mode") is not None
    if name == "_to_copy":
        kind = named.get("dtype")
        return kind is not None and not (kind.is_floating_point or kind.is_complex)
    return name in STEPS or name in LARGEST
