"""Loop nests with one fault: the same in every language that they are lowered to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kernelwright.data.graphs.expr import Expr, V, accesses, renamed
from kernelwright.data.graphs.kernel import Kernel
from kernelwright.data.graphs.mutants.of_expressions import faults, sum_faults
from kernelwright.data.graphs.mutants.ranges import ANY, POSITIVE, Range, range_of, simplified
from kernelwright.data.graphs.mutants.values import same_values
from kernelwright.data.graphs.nests import (
    Elements,
    Nest,
    Pass,
    Product,
    Rows,
    Scan,
    Step,
    Window,
    product,
)

SAME = "it computes the same for all inputs"
Known = dict[str, Range]


@dataclass(frozen=True, slots=True)
class Fault:
    """A nest with one fault: its kind, and where it is."""

    kind: str
    place: str
    nest: Nest
    same: str = ""
    """Why it computes what the right one does; empty where it does not."""


def nest_faults(kernel: Kernel) -> Iterator[tuple[Fault, Kernel]]:
    """Each fault of each nest, and the kernel that has it."""
    for number, (nest, read) in enumerate(with_what_is_read(kernel)):
        for one in (*_of_steps(nest, read), *_of_rows(nest, read), *_of_loops(nest)):
            nests = (*kernel.nests[:number], one.nest, *kernel.nests[number + 1 :])
            place = f"nest {number + 1}, {one.place}"
            yield replace(one, place=place), replace(kernel, nests=nests)


def with_what_is_read(kernel: Kernel) -> Iterator[tuple[Nest, Range]]:
    """Each nest, and bounds of what it reads."""
    read = ANY
    for nest in kernel.nests:
        yield nest, read
        read = _range_after(nest, read)


def _range_after(nest: Nest, read: Range) -> Range:
    """Bounds of what a nest writes."""
    found = written(nest, read)
    for step in nest.after:
        found = range_of(step.value, {"v": found})
    return found


def _compared(kind: str, right: Expr, wrong: Expr, known: Known, then: Sequence[Expr] = ()) -> str:
    """Why two expressions are the same, once these steps on `v` follow; empty where they may
    differ. What keeps a number from zero has no values to try: it counts at zero alone."""
    if simplified(right, known) == simplified(wrong, known):
        return SAME
    return SAME if kind != "missing_eps" and same_values(right, wrong, known, then) else ""


def _of_steps(nest: Nest, read: Range) -> Iterator[Fault]:
    """Steps on elements: one is dropped, or has a fault of its own."""
    for where, first in (("before", read), ("after", written(nest, read))):
        steps: list[Step] = getattr(nest, where)
        v = first
        for at, step in enumerate(steps):
            known, then = {"v": v}, [one.value for one in steps[at + 1 :]]

            def with_steps(*new: Step, where: str = where, at: int = at) -> Nest:
                old: list[Step] = getattr(nest, where)
                steps = [*old[:at], *new, *old[at + 1 :]]
                is_before = where == "before"
                return replace(nest, before=steps) if is_before else replace(nest, after=steps)

            place, kind = f"{step.says} {where}", "dropped_step"
            kind = "missing_bias" if step.says == "bias" else kind
            yield Fault(kind, place, with_steps(), _compared(kind, step.value, V, known, then))
            for kind, value in faults(step.value):
                if accesses(value) == accesses(step.value):
                    same = _compared(kind, step.value, value, known, then)
                    yield Fault(kind, place, with_steps(replace(step, value=value)), same)
            v = range_of(step.value, known)


def written(nest: Nest, read: Range) -> Range:
    """What a nest's own work makes of what it reads: bounds of `v` where steps after it begin."""
    v = read
    for step in nest.before:
        v = range_of(step.value, {"v": v})
    match nest:
        case Rows() if (last := nest.keep or nest.store) is not None:
            return range_of(last, sums_of(nest, read))
        case Elements() | Window(kind="max"):
            return v
        case Scan() | Window(kind="mean") if v[0] >= 0:
            return POSITIVE
    return ANY


def sums_of(nest: Rows, read: Range, passes: int | None = None) -> Known:
    """Bounds of `v` and of a row's numbers after so many of its passes."""
    known: Known = {"v": read, "size": POSITIVE}
    for step in nest.before:
        known["v"] = range_of(step.value, known)
    for one in nest.passes[:passes]:
        known |= taken_in(one, known)
        for name, expr in one.ends:
            known[name] = range_of(expr, known)
    return known


def taken_in(one: Pass, known: Known) -> Known:
    """Bounds that a pass gives to `v` and to its numbers, before anything is done with them."""
    found = dict(known)
    if one.value is not None:
        found["v"] = range_of(one.value, known)
    for each in one.sums:
        low, high = range_of(each.term, found)
        adds = each.kind in ("sum", "prod")
        found[each.name] = (POSITIVE if low >= 0 else ANY) if adds else (low, high)
    return found


def _of_rows(nest: Nest, read: Range) -> Iterator[Fault]:
    """Passes over a row, and what is made of it at the end."""
    if not isinstance(nest, Rows):
        return
    for number, one in enumerate(nest.passes):
        place = f"pass {number + 1}"
        for kind, changed, same in _of_pass(one, sums_of(nest, read, number)):
            same = same or _undone(kind, nest) or _of_one_element(kind, nest)
            passes = (*nest.passes[:number], changed, *nest.passes[number + 1 :])
            yield Fault(kind, place, replace(nest, passes=passes), same)
    known = sums_of(nest, read)
    for name in ("keep", "store"):
        expr: Expr | None = getattr(nest, name)
        for kind, value in () if expr is None else faults(expr):
            same = "" if expr is None else _compared(kind, expr, value, known)
            is_kept = name == "keep"
            wrong = replace(nest, keep=value) if is_kept else replace(nest, store=value)
            yield Fault(kind, "the end", wrong, same)


def _undone(kind: str, nest: Rows) -> str:
    """Why a wrong sign does not count: the first step after it takes none."""
    if kind != "swapped_operands" or not nest.after:
        return ""
    step = nest.after[0].value
    return _compared(kind, step, renamed(step, {"v": -V}), {})


def _of_one_element(kind: str, nest: Rows) -> str:
    """Why it does not count how the elements of a row are taken in: there is one."""
    is_one = product(nest.size) == "1"
    return (
        "a row has one element" if is_one and kind in ("wrong_accumulator", "min_for_max") else ""
    )


def _of_pass(one: Pass, before: Known) -> Iterator[tuple[str, Pass, str]]:
    """(kind, the pass with a fault, why it is the same); `before` is known where it begins."""
    known = taken_in(one, before)
    for at, each in enumerate(one.sums):
        for kind, new in sum_faults(each):
            same = _compared(kind, each.term, new.term, known) if new.kind == each.kind else ""
            yield kind, replace(one, sums=(*one.sums[:at], new, *one.sums[at + 1 :])), same
    for at, (name, expr) in enumerate(one.ends):
        rest = (*one.ends[:at], *one.ends[at + 1 :])
        yield "dropped_step", replace(one, ends=rest), ""
        for kind, value in faults(expr):
            ends = (*one.ends[:at], (name, value), *one.ends[at + 1 :])
            yield kind, replace(one, ends=ends), _compared(kind, expr, value, known)
    if one.value is not None:
        for kind, value in faults(one.value):
            yield kind, replace(one, value=value), _compared(kind, one.value, value, before)


def _of_loops(nest: Nest) -> Iterator[Fault]:
    """Windows, factors and directions."""
    match nest:
        case Window():
            yield from _of_windows(nest)
        case Product():
            turned = replace(nest, right_is_transposed=not nest.right_is_transposed)
            yield Fault("wrong_index", "right factor", turned)
        case Scan():
            kind = {"sum": "prod", "prod": "sum"}[nest.kind]
            yield Fault("wrong_accumulator", "running", replace(nest, kind=kind))
            yield Fault("wrong_index", "direction", replace(nest, reverse=not nest.reverse))


def _of_windows(nest: Window) -> Iterator[Fault]:
    yield Fault("wrong_index", "stride", replace(nest, stride=nest.stride - 1 or 2))
    yield Fault("off_by_one", "taps", replace(nest, kernel=nest.kernel - 1))
    if nest.padding:
        yield Fault("wrong_index", "padding", replace(nest, padding=nest.padding - 1))
    if nest.bias:
        yield Fault("missing_bias", "sum", replace(nest, bias=""))
    if nest.kind != "sum":
        kind = {"max": "mean", "mean": "max"}[nest.kind]
        yield Fault("wrong_accumulator", "taps", replace(nest, kind=kind))
