"""Admits a problem to a suite only if every trivial answer fails on it.

A problem that accepts zeros, or the output for other inputs, pays for kernels that compute nothing.
One that does not tell its module from a mutant of it (mutants.py) pays for kernels that leave
something out: it keeps the kinds of values that tell them apart, or it is refused.
Run on the problem's own module, which says what is right; no candidate is involved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelwright.envs.referee.tolerance import Array, Expected
from kernelwright.envs.reference.admitted import Admission, without_kept
from kernelwright.envs.reference.distributions import GIVEN
from kernelwright.envs.reference.module import (
    Reference,
    array_of,
    flatten,
    forward,
    forward_float64,
    load_reference,
)
from kernelwright.envs.reference.mutant_search import fewest, judge_mutants, row_of
from kernelwright.envs.reference.prepare import Known, Ready, prepare
from kernelwright.envs.reference.regions import dead_inputs
from kernelwright.envs.reference.unread import never_changing
from kernelwright.envs.types import Problem, content_hash

Answer = tuple[str, list[Array]]
FIRST_SEED, ROUNDS = 1, 6
"""The first draw, and the number of draws for answers that pass it, if arguments are redrawn."""


def check_problem(problem: Problem, dropped: Sequence[str] = ()) -> Admission:
    """The battery on the timed case, and what tells the module from its mutants.

    `dropped` are codes of the problem less one operation. Among what it accepts are mutants that
    nothing tells apart (`alive:KIND@PLACE`), inputs a region of which does not matter (`dead:x`)
    and arguments that no draw changes (`unread:x`).
    """
    problem = without_kept(problem)
    known = Known()
    ready = prepare(problem, problem.timed_case(), known=known)
    tried, accepted = _tried(problem, ready, dropped, FIRST_SEED)
    for seed in range(FIRST_SEED + 1, FIRST_SEED + ROUNDS if ready.reference.redrawn else 0):
        if accepted:  # one that is right where a flag is not set is none where it is
            again = _tried(problem, ready, dropped, seed)[1]
            accepted = [name for name in accepted if name in again]
    dead = dead_inputs(ready.reference, ready.tolerances, ready.spreads)
    unread, fixed = never_changing(problem, ready, known)
    fates = judge_mutants(problem, ready, unread, known)
    return Admission(
        problem=problem.name,
        key=problem.key,
        tried=(*tried, "dead_regions", "unread"),
        accepted=(
            *accepted,
            *(f"dead:{name}" for name in dead),
            *(f"unread:{name}" for name in unread),
            *(f"alive:{one.mutant.name}" for one in fates if one.alive and not one.is_tolerated),
        ),
        fixed=tuple(fixed),
        kept=fewest(fates),
        mutants=sum(not one.equivalent for one in fates),
        fates=tuple(map(row_of, fates)),
    )


def _tried(
    problem: Problem, ready: Ready, dropped: Sequence[str], seed: int
) -> tuple[list[str], list[str]]:
    """(names of the trivial answers, of those that pass), on one draw."""
    drawn = ready.reference.draw(seed)
    expected = _arrays(forward_float64(*drawn))
    kinds = [one.dtype for one in _arrays(forward(*drawn))]
    tried, accepted = [], []
    for name, answer in _battery(problem, ready.reference, drawn, expected, dropped, seed):
        tried.append(name)
        if _passes(answer, expected, kinds, ready):
            accepted.append(name)
    return tried, accepted


def fingerprint(problem: Problem) -> str:
    """Equal for two problems that compute the same function of the same inputs, to four digits."""
    given = replace(problem.cases[0], distribution=GIVEN)
    drawn = load_reference(problem, given).draw(1)
    shapes = [tuple(one.shape) if hasattr(one, "shape") else one for one in drawn[2]]
    heads = [
        np.round(one.reshape(-1)[:64].astype(np.float64), 4) + 0.0
        for one in _arrays(forward(*drawn))
    ]
    return content_hash(repr(shapes), repr([head.tolist() for head in heads]))


def _battery(
    problem: Problem,
    reference: Reference,
    drawn: tuple[Any, dict[str, Any], list[Any]],
    expected: list[Array],
    dropped: Sequence[str],
    seed: int,
) -> Iterable[Answer]:
    import torch

    model, state, arguments = drawn
    yield "zeros", [np.zeros_like(one) for one in expected]
    others = _arrays(forward_float64(*reference.draw(seed + 1)))
    yield "constant", [np.full_like(one, one.mean()) for one in others]
    tensors = [array_of(one) for one in arguments if isinstance(one, torch.Tensor)]
    for number, tensor in enumerate(tensors):
        yield f"input_{number}", [_fit(tensor, one) for one in expected]
    yield "other_inputs", others
    if state:
        other = reference.draw(seed + 1)[1]
        yield "other_weights", _arrays(forward_float64(model, other, arguments))
    rounded = [_to_bfloat16(one) for one in arguments]
    if any(one is not kept for one, kept in zip(rounded, arguments, strict=True)):
        yield "bfloat16_inputs", _arrays(forward_float64(model, state, rounded))
    for number, code in enumerate(dropped):
        smaller = load_reference(replace(problem, code=code), reference.case)
        smaller = replace(reference, namespace=smaller.namespace)
        yield f"dropped_{number}", _arrays(forward_float64(*smaller.draw(seed)))


def _to_bfloat16(value: Any) -> Any:
    """A tensor of higher precision rounded; anything else itself."""
    import torch

    if getattr(value, "dtype", None) in (torch.float32, torch.float64):
        return value.to(torch.bfloat16).to(value.dtype)
    return value


def _fit(tensor: Array, like: Array) -> Array:
    """An input where it has the output's shape; else its values, cut or repeated to fill it."""
    return np.resize(tensor, like.shape)


def _passes(
    answer: list[Array],
    expected: list[Array],
    kinds: list[Any],
    ready: Ready,
) -> bool:
    allowed = zip(ready.tolerances, ready.spreads, strict=True)
    for got, exact, kind, one in zip(answer, expected, kinds, allowed, strict=True):
        kind = np.dtype(np.float64) if kind.kind == "f" else kind
        if not Expected.of([exact.astype(kind)], *one).accepts(got.astype(kind)):
            return False
    return True


def _arrays(output: Any) -> list[Array]:
    return [array_of(one) for one in flatten(output)]
