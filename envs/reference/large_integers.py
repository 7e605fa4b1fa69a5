"""Input distribution of integers that are summed or multiplied, as large as the module's result
allows.

A sum of int64 that a kernel keeps in 32 bits is right as long as no value is large. Which integers
are data, and not places or counts, shows where they go: into sums and products alone. How large
they may become is tried: nothing may overflow, nor reach what float64 has no longer exactly.

Functions import torch themselves, so that importing this module costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kernelwright.envs.reference.distributions import (
    SPECIAL_SHARE,
    Distribution,
    is_mask,
    with_few,
)
from kernelwright.envs.reference.module import Drawn, copies
from kernelwright.envs.reference.plain_loops import storage, tensors_in, within

EXACT_BITS = 52
"""Most bits of a result: a kernel that computes it in float64 is right."""

LEFT_BITS = 1
"""Bits of its own type that a result leaves free."""

BITS = (48, 44, 40, 36, 32, 28, 24, 20, 16, 12, 8)
"""How large values may be, the largest first."""

_ADDING = (
    "add sub rsub mul sum cumsum mm bmm addmm baddbmm dot mv scatter_add index_add addcmul neg"
)
ADDING = frozenset(_ADDING.split())

DIVIDING = frozenset(("floor_divide", "remainder", "fmod", "div"))
"""Operators whose second argument divides the first, `div` with a rounding mode."""

_MOVING = """
view _unsafe_view reshape _reshape_alias permute transpose t expand slice select squeeze unsqueeze
clone _to_copy cat stack where masked_fill index gather index_select maximum minimum clamp relu
max min amax amin constant_pad_nd flip roll tril triu unbind split split_with_sizes alias detach
eq ne lt le gt ge zeros_like ones_like full_like empty_like copy repeat unfold diagonal
"""
MOVING = frozenset(_MOVING.split())

DATA_AT = {"index": (0,), "gather": (0,), "index_select": (0,), "where": (1, 2)}
DATA_AT |= {"masked_fill": (0,), "scatter_add": (0, 3), "index_add": (0, 3)}
"""Of operators that take places or flags besides: which arguments are data."""


@dataclass(frozen=True, slots=True)
class LargeBits:
    """Most bits of each integer argument that is data, not indices, by its number: with the others
    as large too (`together`), and `alone`."""

    together: Mapping[int, int]
    alone: Mapping[int, int]

    def changed(self, arguments: Sequence[Any], distribution: Distribution) -> list[Any]:
        """The arguments with such values where a distribution has special ones, or larger ones: of
        all arguments, or of one of them."""
        import torch

        if not (distribution.special or distribution.factor > 1):
            return list(arguments)
        one = int(torch.randint(1 + len(self.alone), ()))
        numbers = sorted(self.alone)
        bits = {numbers[one - 1]: self.alone[numbers[one - 1]]} if one else self.together
        return with_large(arguments, bits, distribution)


def with_large(
    arguments: Sequence[Any], bits: Mapping[int, int], distribution: Distribution
) -> list[Any]:
    """The arguments with these integers as large as that, in magnitude: a few, a share or all."""
    return [
        _enlarged(one, bits[number], distribution) if number in bits else one
        for number, one in enumerate(arguments)
    ]


def _enlarged(value: Any, bits: int, distribution: Distribution) -> Any:
    import torch

    least = int(value.min())

    def large(like: Any) -> Any:
        low = -(1 << bits) if least < 0 else max(0, least)
        drawn = torch.randint(low, 1 << bits, like.shape, dtype=value.dtype)
        return torch.where((like != 0) & (drawn == 0), 1, drawn)

    if distribution.few:
        return with_few(value, large)
    if not distribution.special:
        return large(value)
    return torch.where(torch.rand(value.shape) < SPECIAL_SHARE, large(value), value)


def large_bits(drawn: Drawn) -> LargeBits | None:
    """How large integers may become; None where there are none that may."""
    _, _, arguments = drawn
    given = [n for n, one in enumerate(arguments) if _is_integers(one) and not is_mask(one)]
    data = _data(drawn, given) if given else []
    alone = {n: bits for n in data for bits in [_most(drawn, [n]).get(n)] if bits}
    return LargeBits(_most(drawn, list(alone)), alone) if alone else None


def _most(drawn: Drawn, numbers: Sequence[int]) -> dict[int, int]:
    """How large these may become together; empty where not larger than they are."""
    arguments = drawn[2]
    for bits in BITS:
        own = {n: min(bits, _bits_of(arguments[n]) - 1) for n in numbers}
        if all(int(arguments[n].abs().max()) >> own[n] for n in numbers):
            return {}
        largest = [_full(one, own[n]) if n in own else one for n, one in enumerate(arguments)]
        if _bears(drawn, largest):
            return own
    return {}


def _is_flags(tensor: Any) -> bool:
    import torch

    return bool(tensor.dtype == torch.bool)


def _full(tensor: Any, bits: int) -> Any:
    """A tensor of this shape, filled with the largest value of `bits` bits."""
    import torch

    return torch.full_like(tensor, (1 << bits) - 1)


def _is_integers(value: Any) -> bool:
    import torch

    kinds = (torch.int64, torch.int32, torch.int16, torch.int8)
    return isinstance(value, torch.Tensor) and value.dtype in kinds and value.numel() > 1


def _bits_of(tensor: Any) -> int:
    """Of a type's largest value."""
    import torch

    return int(torch.iinfo(tensor.dtype).max).bit_length()


def _data(drawn: Drawn, given: Sequence[int]) -> list[int]:
    """The arguments that only sums, products and quotients are made of, of integers throughout, or
    behind sums."""
    watch = _flow(drawn, given)
    computed = watch.added | watch.divided
    return [n for n in given if n in computed and n not in watch.others]


def divisions(drawn: Drawn) -> tuple[list[int], tuple[tuple[int, int | None, int], ...]]:
    """(the arguments that are divided, or divide, as integers; which of them are divided by what:
    (the dividend, the argument that divides it or None, else the divisor))."""
    arguments = drawn[2]
    given = [n for n, one in enumerate(arguments) if _is_integers(one) and not is_mask(one)]
    watch = _flow(drawn, given) if given else _Flow({})
    divisors = {by for _, by, _ in watch.pairs}
    pairs = sorted(
        (n, by, number)
        for n, by, number in watch.pairs
        if n not in divisors and (by is None or arguments[n].shape == arguments[by].shape)
    )
    return sorted(watch.divided), tuple({one[0]: one for one in pairs}.values())


def _flow(drawn: Drawn, given: Sequence[int]) -> _Flow:
    model, state, arguments = drawn
    state, arguments = copies(state, arguments)
    watch = _Flow({storage(arguments[n]): frozenset((n,)) for n in given})
    within(watch, model, state, arguments)
    return watch


class _Flow:
    """Runs operators and follows where arguments go."""

    def __init__(self, held: dict[int, frozenset[int]]) -> None:
        self.held = held
        """By storage: the numbers of the arguments that it has."""
        self.added: set[int] = set()
        """Arguments that were added up or multiplied."""
        self.sums: set[int] = set()
        """Storages of sums and products of arguments."""
        self.divided: set[int] = set()
        """Arguments of divisions of integers."""
        self.pairs: set[tuple[int, int | None, int]] = set()
        """(an argument, the one that it is divided by or None, else the divisor)."""
        self.given = dict(held)
        self.others: set[int] = set()
        """Arguments that went elsewhere."""

    def __call__(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        whole = func._schema.name.removeprefix("aten::")
        name = whole.removesuffix("_") if func._schema.is_mutable else whole
        given = (*args, *kwargs.values())
        out = func(*args, **kwargs)
        results = list(tensors_in(out))
        tensors = [one for one in tensors_in(given) if self._of(one)]
        found = self._of(given)
        summed = all(storage(one) in self.sums for one in tensors)
        floats = bool(results) and all(one.is_floating_point() for one in results)
        places = DATA_AT.get(name, range(len(given)))
        misplaced = {
            n for place, one in enumerate(given) if place not in places for n in self._of(one)
        }
        self.others |= misplaced
        if name in DIVIDING and results and not floats:
            self._divided(args)
        if not (name in ADDING | MOVING | DIVIDING and not floats) and not (floats and summed):
            self.others |= found
        if name in ADDING:
            self.added |= found
        for one in results:
            kept = set() if one.is_floating_point() or _is_flags(one) else found
            self.held[storage(one)] = frozenset(kept)
            if kept and (name in ADDING or summed):
                self.sums.add(storage(one))
            else:
                self.sums.discard(storage(one))
        return out

    def _divided(self, args: Any) -> None:
        """Notes what is divided by what, where both are as given."""
        self.divided |= self._of(args[:2])
        dividend, divisor = args[0], args[1]
        (whole, *_), by = [*self._given(dividend), None], self._given(divisor)
        if whole is None:
            return
        if by:
            self.pairs.add((whole, by[0], 0))
        elif isinstance(divisor, int) and divisor:
            self.pairs.add((whole, None, divisor))
        elif not _is_integers(divisor) and hasattr(divisor, "numel") and divisor.numel() == 1:
            self.pairs.add((whole, None, int(divisor) or 1))  # a number comes as a tensor

    def _given(self, value: Any) -> list[int]:
        """The number of the argument that this is, if any."""
        return [n for one in tensors_in(value) for n in self.given.get(storage(one), ())]

    def _of(self, value: Any) -> set[int]:
        held = (self.held.get(storage(one), frozenset()) for one in tensors_in(value))
        return set().union(*held)


def _bears(drawn: Drawn, arguments: Sequence[Any]) -> bool:
    """Whether no sum and no product overflows, nor comes near it."""
    model, state, _ = drawn
    fits = [True]
    try:
        within(partial(_beside_float64, fits), model, *copies(state, list(arguments)))
    except Exception:  # noqa: BLE001  anything: the problem's own code ran
        return False
    return all(fits)


def _beside_float64(fits: list[bool], func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """The operator's result; of integers also in float64, to see how large it is."""
    name = func._schema.name.removeprefix("aten::").removesuffix("_")
    wide = None
    if name in ADDING and any(_is_integers(one) for one in tensors_in(args)):
        given = [one.double() if _is_integers(one) else one for one in args]
        types = {key: one for key, one in kwargs.items() if key != "dtype"}
        if name in ("scatter_add", "index_add"):
            given[2] = args[2]  # the places
        wide = func(*given, **types)
    out = func(*args, **kwargs)
    if wide is not None and not out.is_floating_point():
        most = min(EXACT_BITS, _bits_of(out) - LEFT_BITS)
        fits.append(float(wide.abs().max()) < 2.0**most if wide.numel() else True)
    return out
