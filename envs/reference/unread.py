"""Finds arguments and buffers whose values never change, so that an answer need not read them.

Trusted code. Found by drawing, as an answer would meet them, at the timed sizes: what varies at
others only can be skipped where it counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernelwright.envs.reference.distributions import judged_cases, same_values
from kernelwright.envs.reference.module import (
    Given,
    Reference,
    array_of,
    flatten,
    forward,
)
from kernelwright.envs.reference.prepare import Known, Ready, prepare
from kernelwright.envs.reference.redraws import REDRAWS
from kernelwright.envs.reference.structure import (
    Number,
    Redrawn,
    is_number,
    other_numbers,
    redraws_of,
)
from kernelwright.envs.types import Problem

DRAWS = 6
"""Draws that show whether a value changes: a random flag may repeat in some of them."""


def never_changing(
    problem: Problem, timed: Ready, known: Known | None = None
) -> tuple[list[str], list[str]]:
    """(names of the arguments, and of the buffers that the module reads, that no draw of the timed
    sizes changes; names of the numbers that cannot, as the outputs' shapes hang on them).

    `known`: what cases of the same sizes share, found before.
    """
    found = _unchanged(timed.reference)
    if not found:
        return [], []
    last = judged_cases(problem, numbers=timed.spec.numbers)[-1]
    other = prepare(problem, last, first=False, known=known).reference
    model, state, arguments = timed.reference.draw(1)
    unread: list[str] = []
    fixed: list[str] = []
    for key in _unchanged(other, found):
        if isinstance(key, str):
            unread += [key] if _is_read(model, (state, arguments), key) else []
        elif key in _numbers(timed.reference, other):
            continue
        else:
            sized = is_number(arguments[key]) and _sizes_outputs(timed.reference, key)
            (fixed if sized else unread).append(timed.reference.names[key])
    return unread, fixed


def _unchanged(reference: Reference, among: set[int | str] | None = None) -> set[int | str]:
    """Numbers of arguments and names of states that are equal in all draws."""
    first = _values(reference, 1)
    found = set(first) if among is None else set(first) & among
    for seed in range(2, 2 + DRAWS):
        if not found:
            break
        again = _values(reference, seed)
        found = {key for key in found if _same(first[key], again[key])}
    return found


def _values(reference: Reference, seed: int) -> dict[int | str, Any]:
    _, state, arguments = reference.draw(seed)
    return dict(enumerate(arguments)) | state


def _same(value: Any, again: Any) -> bool:
    if is_number(value):
        return bool(value == again)
    return same_values(value, again)


def _numbers(timed: Reference, other: Reference) -> set[int]:
    """Arguments that are no tensors and have another value in the other case."""
    pairs = zip(timed.draw(1)[2], other.draw(1)[2], strict=True)
    return {n for n, (a, b) in enumerate(pairs) if is_number(a) and a != b}


def _is_read(model: Any, given: Given, name: str) -> bool:
    """Whether another value of this buffer leads to an error, or to other outputs."""
    state, arguments = given
    before = [array_of(one) for one in flatten(forward(model, state, arguments))]
    names = redraws_of(state[name], state[name], (), ordered=False, unique=False)
    for redraw in names:
        try:
            changed = state | {name: REDRAWS[redraw](state[name])}
            after = [array_of(one) for one in flatten(forward(model, changed, arguments))]
        except Exception:  # noqa: BLE001  anything: the problem's own code ran
            return True
        if any(a.tobytes() != b.tobytes() for a, b in zip(before, after, strict=True)):
            return True
    return False


def _sizes_outputs(reference: Reference, number: int) -> bool:
    """Whether another value of this argument leads to outputs of other shapes."""
    model, state, arguments = reference.draw(1)
    before = [one.shape for one in flatten(forward(model, state, arguments))]
    for value in other_numbers(arguments[number], 0):
        if _shapes_with(reference, number, value) not in (None, before):
            return True
    return False


def _shapes_with(reference: Reference, number: int, value: Number) -> list[Any] | None:
    numbers = (*reference.redrawn.numbers, (number, value))
    redrawn = Redrawn(reference.redrawn.tensors, numbers)
    try:
        found = forward(*replace(reference, redrawn=redrawn).draw(1))
    except Exception:  # noqa: BLE001  anything: the problem's own code ran
        return None
    return [one.shape for one in flatten(found)]
