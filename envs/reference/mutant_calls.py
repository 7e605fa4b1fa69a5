"""Mutations of one PyTorch call: for each function, the faults that a kernel may have.

A fault computes something near the function that is less work, or none of its care: the mean of
half a row, a norm without its epsilon, a product of rounded numbers. Functions import torch
themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

Change = Callable[["Call"], Any]
"""What is computed in a call's place."""
Fault = tuple[str, Change]
"""Its kind, and what it computes."""

EPSILON = 1e-3
"""A number up to this that is added, or that bounds from below, keeps a division or a root safe."""
TAIL_SHARE = 64
"""A tail is one element of this many, and at least one."""
FEWEST = 4
"""A row of fewer elements has no blocks."""
TF32_BITS, BF16_BITS, FLOAT32_BITS = 11, 8, 24
PARTS = 3
"""Most parts of a concatenation that are left out one by one."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function of PyTorch and the arguments of a call to it."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def in_place(self) -> bool:
        """Whether it changes its first argument."""
        name = getattr(self.function, "__name__", "")
        written = name.endswith("_") != name.startswith("__") or name[2:-2] in IN_PLACE
        return written or self.kwargs.get("inplace") is True

    def run(self) -> Any:
        """Its result; what works in place does so on a copy."""
        first = self.args[0].clone() if self.in_place else None
        args = self.args if first is None else (first, *self.args[1:])
        return self.function(*args, **self.kwargs)

    def value(self, place: int, name: str, default: Any = None) -> Any:
        """The argument of this name, which also has a place."""
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[place] if place < len(self.args) else default

    def having(self, place: int, name: str, value: Any) -> Call:
        """The same call with another argument there."""
        if place < len(self.args):
            return replace(self, args=(*self.args[:place], value, *self.args[place + 1 :]))
        return replace(self, kwargs={**self.kwargs, name: value})


IN_PLACE = ("iadd", "isub", "imul", "itruediv", "idiv", "ipow")


def name_of(function: Any) -> str:
    """The function's name without what says that it is a method, or works in place.

    >>> name_of("x".__add__), name_of(iter([]).__next__)
    ('add', 'next')
    """
    name = getattr(function, "__name__", "").strip("_")
    return SAME.get(name, name)


SAME = {
    **dict.fromkeys(("radd", "iadd"), "add"),
    **dict.fromkeys(("rmul", "imul", "multiply"), "mul"),
    **dict.fromkeys(("isub", "subtract"), "sub"),
    **dict.fromkeys(("truediv", "true_divide", "divide", "itruediv", "idiv"), "div"),
    **dict.fromkeys(("rtruediv", "rdiv"), "rdiv"),
    **dict.fromkeys(("mm", "bmm", "mv", "dot"), "matmul"),
    **dict.fromkeys(("clip", "clamp_min", "clamp_max"), "clamp"),
    **dict.fromkeys(("vector_norm",), "norm"),
    **dict.fromkeys(("absolute",), "abs"),
    **dict.fromkeys(("concat", "concatenate"), "cat"),
}


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_tensor(value: Any) -> bool:
    return hasattr(value, "is_floating_point") and hasattr(value, "shape")


def is_epsilon(value: Any) -> bool:
    return is_number(value) and 0 < abs(value) <= EPSILON


def rounded(value: Any, bits: int) -> Any:
    """A tensor of floats rounded to `bits` binary digits; anything else as it is."""
    import torch

    if not (is_tensor(value) and value.is_floating_point()):
        return value
    mantissa, exponent = torch.frexp(value)
    return torch.ldexp((mantissa * 2**bits).round() / 2**bits, exponent)


def low_precision(
    call: Call, places: tuple[int, ...], most_bits: int = TF32_BITS
) -> Iterator[Fault]:
    """With these arguments rounded, below the precision that they come in; for float32 to the bits
    of TF32 and of bfloat16, or to no more than `most_bits`."""
    first: Any = call.args[places[0]] if len(call.args) > places[0] else None
    if not is_tensor(first) or str(first.dtype) not in LESS_BITS:
        return
    for bits in LESS_BITS[str(first.dtype)]:
        if bits > most_bits and str(first.dtype) == "torch.float32":
            continue

        def change(one: Call, bits: int = bits) -> Any:
            for place in places:
                if place < len(one.args):
                    one = one.having(place, "", rounded(one.args[place], bits))
            return one.run()

        yield "low_precision", change


LESS_BITS = {"torch.float32": (TF32_BITS, BF16_BITS), "torch.float64": (FLOAT32_BITS,)}


# Of two operands, of several parts


def binary(call: Call) -> Iterator[Fault]:
    """One operand alone; an epsilon that is no longer added."""
    first, other = call.args[0], call.value(1, "other")
    name = name_of(call.function)
    if is_number(first) or is_number(other):
        number = other if is_number(other) else first
        place = 0 if is_number(other) else 1
        if name in ("add", "sub", "maximum") and is_epsilon(number):
            yield "dropped_epsilon", only(place, name)
        elif number != (0 if name in ("add", "sub", "rsub") else 1):
            yield "dropped_operand", only(place, name)
    elif is_tensor(first) and is_tensor(other):
        yield "dropped_operand", only(0, name)
        yield "dropped_operand", only(1, name)


def only(place: int, name: str) -> Change:
    """This operand alone, with the sign and the power that it has."""

    def change(call: Call) -> Any:
        import torch

        whole = call.run()
        kept = call.value(1, "other") if place == 1 else call.args[0]
        kept = torch.as_tensor(kept).to(whole.dtype)
        if (name, place) in (("sub", 1), ("rsub", 0)):
            kept = -kept
        if (name, place) in (("div", 1), ("rdiv", 0)):
            kept = 1 / kept
        return kept.expand(whole.shape).clone()

    return change


def select(call: Call) -> Iterator[Fault]:
    """`where`: what is chosen where the condition holds, everywhere; and the other."""
    if len(call.args) >= 3:
        for place in (1, 2):

            def change(one: Call, place: int = place) -> Any:
                import torch

                whole = one.run()
                return torch.as_tensor(one.args[place]).to(whole.dtype).expand(whole.shape).clone()

            yield "dropped_branch", change


def concatenated(call: Call) -> Iterator[Fault]:
    """Zeros in place of a part."""
    for number in range(min(PARTS, len(call.args[0]))):

        def change(one: Call, number: int = number) -> Any:
            import torch

            parts = list(one.args[0])
            parts[number] = torch.zeros_like(parts[number])
            return one.having(0, "tensors", parts).run()

        yield "dropped_operand", change


# Of one operand


def first_as_it_is(call: Call) -> Any:
    """The first argument, in the type of the result."""
    whole = call.run()
    return call.args[0].to(whole.dtype).expand(whole.shape).clone()


def branch(_: Call) -> Iterator[Fault]:
    """What is not bounded, not masked, not made positive."""
    yield "dropped_branch", first_as_it_is


def negative_branch(_: Call) -> Iterator[Fault]:
    """Zero below zero, whatever the function does there."""
    yield "dropped_branch", lambda one: one.args[0].relu()


def bounded(call: Call) -> Iterator[Fault]:
    """`clamp` without bounds, and with one of two."""
    name = call.function.__name__.strip("_")
    if name in ("clamp_min", "clamp_max"):
        safe = name == "clamp_min" and is_epsilon(call.value(1, "min"))
        yield "dropped_epsilon" if safe else "dropped_branch", first_as_it_is
        return
    low, high = call.value(1, "min"), call.value(2, "max")
    safe = is_epsilon(low) and high is None
    yield "dropped_epsilon" if safe else "dropped_branch", first_as_it_is
    if low is not None and high is not None:
        yield "dropped_branch", lambda one: one.having(1, "min", None).run()
        yield "dropped_branch", lambda one: one.having(2, "max", None).run()


def masked_write(call: Call) -> Iterator[Fault]:
    """`x[mask] = y` that does nothing."""
    if is_tensor(call.args[1]) and "bool" in str(call.args[1].dtype):
        yield "dropped_branch", lambda _: None


def last_wins(call: Call) -> Iterator[Fault]:
    """Of several numbers that are added at one place, the last one alone: updates are lost."""
    name = name_of(call.function)

    def change(one: Call) -> Any:
        value, dim, index, source = one.args[:4]
        write = value.scatter if name == "scatter_add" else value.index_copy
        return write(dim, index, source)

    if len(call.args) >= 4 and all(is_tensor(call.args[place]) for place in (2, 3)):
        yield "dropped_operand", change


# Sums and the like


def kept_tail(size: int) -> list[slice]:
    return [slice(0, size - max(1, size // TAIL_SHARE))]


def kept_half(size: int) -> list[slice]:
    return [slice(0, size // 2)]


def kept_quarters(size: int) -> list[slice]:
    return [slice(0, size * 3 // 8), slice(size * 5 // 8, size)]


Kept = Callable[[int], list[slice]]
BLOCKS: tuple[tuple[str, Kept], ...] = (
    ("dropped_tail", kept_tail),
    ("dropped_block", kept_half),
    ("dropped_block", kept_quarters),
)


def thinner(value: Any, dim: int, kept: Kept) -> Any:
    """A tensor less what is not kept of this dimension."""
    import torch

    parts = [value.movedim(dim, 0)[one] for one in kept(value.shape[dim])]
    return torch.cat(parts).movedim(0, dim)


def fewer(size: int) -> list[tuple[str, Kept]]:
    """What can be left of a row of this length."""
    if size < 2:
        return []
    return [one for one in BLOCKS if size >= FEWEST or one[0] == "dropped_tail"]


def reduced_dims(call: Call) -> list[int] | None:
    """The dimensions that a reduction sums over, the longest first; None where it is no reduction
    of one tensor."""
    value, name = call.args[0], name_of(call.function)
    if not is_tensor(value) or value.dim() == 0:
        return None
    dims = call.value(2 if name == "norm" else 1, "dim", call.kwargs.get("axis"))
    if is_tensor(dims) or isinstance(dims, bool | float):
        return None
    wanted = range(value.dim()) if dims is None or dims == () else dims
    wanted = [wanted] if isinstance(wanted, int) else list(wanted)
    return sorted(wanted, key=lambda dim: -int(value.shape[dim]))


def reduction(call: Call) -> Iterator[Fault]:
    """Of fewer elements, scaled up to all of them; and of rounded ones."""
    dims = reduced_dims(call)
    if not dims:
        return
    for kind, kept in fewer(int(call.args[0].shape[dims[0]])):

        def change(one: Call, kept: Kept = kept, kind: str = kind) -> Any:
            dim = (reduced_dims(one) or [0])[0]
            less = thinner(one.args[0], dim, kept)
            found = one.having(0, "input", less).run()
            share = one.args[0].shape[dim] / less.shape[dim]
            return scaled_up(one, found, share) if kind == "dropped_block" else found

        yield kind, change
    if name_of(call.function) in SUMS:
        yield from low_precision(call, (0,), BF16_BITS)


SUMS = ("sum", "nansum", "mean", "norm", "var", "std", "logsumexp", "cumsum")


def scaled_up(call: Call, found: Any, share: float) -> Any:
    """A sum of some as if they were all: `share` times as many."""
    name = name_of(call.function)
    if not is_tensor(found) or not found.is_floating_point():
        return found
    if name in ("sum", "nansum"):
        return found * share
    if name == "logsumexp":
        return found + math.log(share)
    order: Any = call.value(1, "p", call.kwargs.get("ord", 2)) if name == "norm" else None
    if is_number(order) and 0 < order < math.inf:
        return found * share ** (1 / order)
    return found


def cumulative(call: Call) -> Iterator[Fault]:
    """A running sum that begins anew on the way."""
    dim = call.value(1, "dim")
    if isinstance(dim, int) and call.args[0].dim() and call.args[0].shape[dim] >= FEWEST:
        for share in STEPS:

            def change(one: Call, share: int = share) -> Any:
                dim = one.value(1, "dim")
                return in_two(one, 0, dim, one.args[0].shape[dim] // share)

            yield "dropped_step", change
        yield from low_precision(call, (0,), BF16_BITS)


STEPS = (2, 8)
"""What comes before the half, or before the first eighth, is forgotten."""


def in_two(call: Call, place: int, dim: int, cut: int) -> Any:
    """The results for what comes before the cut and for what comes after, side by side."""
    import torch

    value = call.args[place]
    size = value.shape[dim]
    parts = [
        call.having(place, "input", value.narrow(dim, start, count)).run()
        for start, count in ((0, cut), (cut, size - cut))
    ]
    if is_tensor(parts[0]):
        return torch.cat(parts, dim)
    return type(parts[0])([torch.cat(pair, dim) for pair in zip(*parts, strict=True)])


def recurrent(call: Call) -> Iterator[Fault]:
    """LSTM, GRU, RNN: the state of the beginning again on the way."""
    if len(call.args) < 9 or is_tensor(call.args[3]):
        return  # a packed sequence
    dim = 1 if call.args[8] else 0
    if call.args[0].dim() > dim and call.args[0].shape[dim] >= FEWEST:
        for share in STEPS:

            def change(one: Call, share: int = share) -> Any:
                import torch

                dim, value = 1 if one.args[8] else 0, one.args[0]
                cut = value.shape[dim] // share
                early = one.having(0, "", value.narrow(dim, 0, cut)).run()
                late = one.having(0, "", value.narrow(dim, cut, value.shape[dim] - cut)).run()
                return (torch.cat([early[0], late[0]], dim), *late[1:])

            yield "dropped_step", change
