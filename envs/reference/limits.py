"""Collects the limits in a module's graph that values may never reach.

They are numbers that tensors are compared with or clamped to, sentinels among integers, the point
at which a plain exponential overflows, and zero for rows whose largest or smallest is taken.

Trusted code: it runs the problem's own module. Which values reach them is found by
around_limits.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.envs.reference.distributions import is_float
from kernelwright.envs.reference.module import Drawn, copies
from kernelwright.envs.reference.plain_loops import storage, tensors_in, within

OVERFLOWS = {"torch.float64": 745.0}
USUAL_OVERFLOW = 104.0
"""The exponential of more is infinite, and that of less than its negative zero; of half types, too,
which are computed in float32."""
LARGEST_LIMIT = 2.0**14
"""Numbers beyond stand for no value (a mask's -1e9)."""
EPSILON = 1e-3

COMPARES = frozenset(("gt", "ge", "lt", "le", "eq", "ne"))
HELD_BY = {
    "clamp": ("min", "max"),
    "clamp_min": ("min",),
    "clamp_max": ("max",),
    "hardtanh": ("min_val", "max_val"),
    "threshold": ("threshold",),
    "hardshrink": ("lambd",),
    "softshrink": ("lambd",),
    "histc": ("min", "max"),
    "maximum": ("other",),
    "minimum": ("other",),
    "nll_loss_forward": ("ignore_index",),
    "_embedding_bag": ("padding_idx",),
    "_embedding_bag_forward_only": ("padding_idx",),
} | dict.fromkeys(COMPARES, ("other",))
"""Operators → the arguments that are limits of another argument."""
LIMITED = {"nll_loss_forward": 1, "_embedding_bag": 1, "_embedding_bag_forward_only": 1}
"""Which argument those are limits of, where it is not the first."""
NO_LIMIT = {"nll_loss_forward": -100, "_embedding_bag": -1, "_embedding_bag_forward_only": -1}
"""What stands for none, as PyTorch has it where a problem says nothing."""

EQUALS = frozenset(("eq", "ne", *LIMITED))
"""Operators that only ask whether something is the limit."""

JUMPS = COMPARES | {"bucketize", "searchsorted", "histc", "threshold", "hardshrink"}
"""Operators whose results jump at a limit."""

_SAFE_ABOVE = """
_softmax _safe_softmax _log_softmax logsumexp logcumsumexp logaddexp softplus
binary_cross_entropy_with_logits
"""
SAFE_ABOVE = frozenset(_SAFE_ABOVE.split())
SAFE_BELOW = frozenset(("log_sigmoid_forward", "binary_cross_entropy_with_logits"))
"""Operators that give numbers where a plain exponential overflows, above or below."""
LARGEST_OF = frozenset(("amax", "max"))
"""The same written out begins with one of these, where an exponential follows."""

BELOW, ABOVE = "rows below", "rows above"
OF_ROWS = {"argmax": BELOW, "argmin": ABOVE, "cummax": BELOW, "cummin": ABOVE}
OF_ROWS |= dict.fromkeys(("aminmax", "kthvalue", "sort"), BELOW)
"""Operators whose first result does not show an extreme of whole rows: their rows are looked at."""
BY_KIND = {"amax": BELOW, "amin": ABOVE, 2: BELOW}
"""What operators that reduce in several ways are asked for: `scatter_reduce` by name, a bag of
embeddings by number."""
_POOLS = """
max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool2d adaptive_max_pool3d
fractional_max_pool2d fractional_max_pool3d
"""
EXTREMES = dict.fromkeys(("amax", "max", "topk", *_POOLS.split()), BELOW)
EXTREMES |= dict.fromkeys(("amin", "min"), ABOVE) | OF_ROWS
"""Operators whose loops may start at zero unseen, but where rows lie wholly on this side of it: or
windows of a pool, or all values."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A number that the graph compares a tensor with, or clamps it to."""

    place: tuple[str, int, str]
    """The operator, which of its calls it is, and the name of the limit."""
    value: float
    overflows: bool
    """Whether it is an exponential's, and no literal."""
    whole: bool
    """Whether it is one of integers."""
    of_rows: bool = False
    """Whether it is zero for whole rows, and no literal."""

    @property
    def is_literal(self) -> bool:
        """Whether floats are compared with it, or clamped to it."""
        return not (self.overflows or self.whole or self.of_rows)


@dataclass(frozen=True, slots=True)
class Seen:
    """By limit: the shares of the tensor's values that lie below it, at it and above it."""

    shares: Mapping[Limit, tuple[float, float, float]]

    def lacking(self, least: float) -> set[tuple[Limit, int]]:
        """Limits with a side (-1, 0, 1) that fewer than this share lies on. An exponential has
        only what lies beyond."""
        return {
            (limit, side)
            for limit, shares in self.shares.items()
            for side in _sides(limit)
            if not shares[side + 1] > least
        }


def _sides(limit: Limit) -> tuple[int, ...]:
    if limit.of_rows:
        return (-1,) if limit.place[2] == BELOW else (1,)
    if limit.overflows:
        return (1,) if limit.value > 0 else (-1,)
    return (0,) if limit.place[0] in EQUALS else (-1, 1)


def limits_of(drawn: Drawn) -> Seen:
    """The limits that one run of the module meets. Raises what the module raises."""
    model, state, arguments = drawn
    watch = _Watch()
    within(watch, model, *copies(state, arguments))
    found = dict(watch.found)
    if watch.has_exponential:
        found |= watch.of_largest
    return Seen(found)


class _Watch:
    """Runs operators and notes where tensors lie beside their limits."""

    def __init__(self) -> None:
        self.found: dict[Limit, tuple[float, float, float]] = {}
        self.of_largest: dict[Limit, tuple[float, float, float]] = {}
        """Limits of what the largest is taken of, which are some only before an exponential."""
        self.has_exponential = False
        self._calls: Counter[str] = Counter()
        self._with_epsilon: dict[int, tuple[Any, float, Any]] = {}
        """By storage of a sum: what an epsilon was added to, and that; and the sum, which is kept,
        so that its memory is not used again."""

    def __call__(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        name = func._schema.name.removeprefix("aten::").removesuffix("_")
        number = self._calls[name]
        self._calls[name] += 1
        given = _bound(func, args, kwargs)
        for label, one, value, overflows in self._limits(name, given):
            limit = Limit((name, number, label), value, overflows, not is_float(one))
            into = self.of_largest if overflows and name in LARGEST_OF else self.found
            into[limit] = _beside(one, value)
        self.has_exponential |= name in ("exp", "exp2", "expm1")
        out = func(*args, **kwargs)
        side = _side_of(name, given)
        if side and (shares := _of_one_sign(name, given, out)):
            limit = Limit((name, number, side), 0.0, overflows=False, whole=False, of_rows=True)
            self.found[limit] = shares
        if name == "add" and is_float(out) and out.numel() > 1:
            other = _number(given.get("other"))
            if other is not None and 0 < other <= EPSILON:
                self._with_epsilon[storage(out)] = (args[0].abs(), other, out)
        return out

    def _limits(
        self, name: str, given: Mapping[str, Any]
    ) -> Iterator[tuple[str, Any, float, bool]]:
        """(its name, the tensor, the limit, whether it is an exponential's)."""
        tensors = [one for one in tensors_in(tuple(given.values())) if one.numel()]
        tensors = [one for one in tensors if str(one.dtype) != "torch.bool"]
        if not tensors:
            return
        first = tensors[min(LIMITED.get(name, 0), len(tensors) - 1)]
        for label in HELD_BY.get(name, ()):
            value = _number(given.get(label))
            known = value is not None and abs(value) <= LARGEST_LIMIT
            if known and value != NO_LIMIT.get(name) and first.numel() > 1:
                yield label, first, float(value or 0), False
        if name in ("bucketize", "searchsorted"):
            yield from self._boundaries(name, given)
        if name == "log" and storage(first) in self._with_epsilon:
            before, epsilon, _ = self._with_epsilon[storage(first)]
            yield "epsilon", before, epsilon, False
        most = OVERFLOWS.get(str(first.dtype), USUAL_OVERFLOW)
        if is_float(first) and (name in SAFE_ABOVE or name in LARGEST_OF):
            yield "above", first, most, True
        if is_float(first) and name in SAFE_BELOW:
            yield "below", first, -most, True

    def _boundaries(
        self, name: str, given: Mapping[str, Any]
    ) -> Iterator[tuple[str, Any, float, bool]]:
        values = given["self"] if name == "bucketize" else given.get("self")
        boundaries = given.get("boundaries", given.get("sorted_sequence"))
        if boundaries is None or not hasattr(values, "numel") or boundaries.dim() != 1:
            return
        for number, one in enumerate(boundaries.tolist()[:32]):
            yield f"boundary {number}", values, float(one), False


def _beside(tensor: Any, value: float) -> tuple[float, float, float]:
    """Shares of its values that are smaller than this, equal, and larger."""
    count = max(1, tensor.numel())
    below, above = int((tensor < value).sum()), int((tensor > value).sum())
    return below / count, int((tensor == value).sum()) / count, above / count


def _side_of(name: str, given: Mapping[str, Any]) -> str | None:
    """Where rows have to lie for a loop that starts at zero to be seen; None of other operators."""
    if name in ("scatter_reduce", "_embedding_bag", "_embedding_bag_forward_only"):
        return BY_KIND.get(given.get("reduce", given.get("mode")))
    return EXTREMES.get(name) if given.get("largest", True) else ABOVE


def _of_one_sign(
    name: str, given: Mapping[str, Any], out: Any
) -> tuple[float, float, float] | None:
    """Shares of rows that lie wholly below zero, neither, and wholly above: of largest values only
    those below are known, of smallest ones only those above. None where no row of floats is."""
    of = given.get("self", given.get("weight"))
    if not is_float(of) or not of.numel() or "other" in given:
        return None
    if name not in OF_ROWS:
        extremes = next(tensors_in(out))
        below, above = ((one.float().mean().item()) for one in (extremes < 0, extremes > 0))
    else:
        rows = _rows(of.detach(), given.get("dim"))
        below, above = (one.all(-1).float().mean().item() for one in (rows < 0, rows > 0))
    return below, 1 - below - above, above


def _rows(tensor: Any, dim: int | None) -> Any:
    """The rows along this dimension, as a matrix; of all values where there is none."""
    return tensor.reshape(1, -1) if dim is None else tensor.movedim(dim, -1).flatten(0, -2)


def _bound(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """An operator's arguments by name, with those that it has by default."""
    names = func._schema.arguments
    default = {one.name: one.default_value for one in names if one.has_default_value()}
    given = dict(zip((one.name for one in names), args, strict=False)) | dict(kwargs)
    found = default | given
    return {one.name: found[one.name] for one in names if one.name in found}


def _number(value: Any) -> float | None:
    """A number, also where it is a tensor of one."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    one = hasattr(value, "numel") and value.numel() == 1 and value.dim() == 0
    return float(value) if one else None
