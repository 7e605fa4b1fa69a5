"""Faults of what a maximum, or a number that is taken off before `exp`, begins with: some of them
compute the same, by what the values are within."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernelwright.data.graphs.expr import V, call, name
from kernelwright.data.graphs.kernel import Kernel
from kernelwright.data.graphs.lint.formulas import formula, named, value
from kernelwright.data.graphs.mutants.of_nests import (
    sums_of,
    taken_in,
    with_what_is_read,
    written,
)
from kernelwright.data.graphs.mutants.ranges import ANY, Range, range_of
from kernelwright.data.graphs.mutants.sizes import Sizes
from kernelwright.data.graphs.mutants.values import same_values
from kernelwright.data.graphs.nests import (
    Attention,
    Nest,
    Rows,
    Step,
    Window,
    product,
)

NOT_BELOW = "no value is below zero, where it would tell"
NEAR = "no value is so far below zero that `exp` loses digits"
SHORT = "no row has more elements than half a warp has threads"
MAXIMA = ("max", "argmax")
HALF_A_WARP = 16
FALLS = -80.0
"""`exp` of what is not below is a float32 with all its digits."""


def from_zero(kernel: Kernel) -> bool:
    """Whether all maxima of a kernel may start at 0: no value is below, or what follows has the
    same for 0 as for all that is below."""
    lows = [0.0 if clipped else low for (low, _), clipped in _maxima(kernel)]
    return bool(lows) and min(lows) >= 0


def may_start_lower(kernel: Kernel) -> bool:
    """Whether what is taken off before `exp` may start at 0: of no row it is then so far above all
    values that `exp` loses digits, and else it cancels."""
    found = [low for (low, _), _ in _maxima(kernel)]
    return bool(found) and min(found) >= FALLS


def rows_are_short(kernel: Kernel, sizes: Sequence[Sizes]) -> bool:
    """Whether half a warp holds each row in all cases."""
    rows = [one for one in kernel.nests if isinstance(one, Rows)]
    if any(one.total for one in rows) or any(isinstance(one, Attention) for one in kernel.nests):
        return False
    found = _row_sizes(kernel, sizes)
    return bool(found) and max(found or [0]) <= HALF_A_WARP


def _row_sizes(kernel: Kernel, sizes: Sequence[Sizes]) -> list[int] | None:
    """How many elements rows have in each case; None where that is not known."""
    found = []
    for nest in kernel.nests:
        number = formula(product(nest.size)) if isinstance(nest, Rows) else None
        for case in sizes if number is not None else ():
            if number is None or not named(number) <= case.keys():
                return None
            found.append(int(value(number, case)))
    return found


def _maxima(kernel: Kernel) -> Iterator[tuple[Range, bool]]:
    """Bounds of what each maximum is taken of, and whether what follows clips it at 0."""
    for nest, read in with_what_is_read(kernel):
        yield from _of_nest(nest, read)


def _of_nest(nest: Nest, read: Range) -> Iterator[tuple[Range, bool]]:
    match nest:
        case Window(kind="max"):
            yield written(nest, read), _clips(nest.after)
        case Rows():
            for number, one in enumerate(nest.passes):
                known = taken_in(one, sums_of(nest, read, number))
                for each in one.sums:
                    if each.kind in MAXIMA:
                        is_all = each.kind == "max" and nest.store == name(each.name)
                        is_all = is_all and not one.ends and not nest.total
                        yield range_of(each.term, known), is_all and _clips(nest.after)
        case Attention():
            yield ANY, False


def _clips(steps: Sequence[Step]) -> bool:
    """Whether these steps make the same of 0 and of all that is below."""
    then = [one.value for one in steps]
    return bool(then) and same_values(V, call("max", V, 0.0), {}, then)
