"""May a problem enter a suite? Only if every trivial answer fails on it.

A problem that accepts zeros, or the output for other inputs, pays for kernels that compute nothing.
Run on the problem's own module, which says what is right; no candidate is involved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelwright.envs.referee.tolerance import Array, Expected
from kernelwright.envs.reference.distributions import GIVEN
from kernelwright.envs.reference.module import (
    Reference,
    array_of,
    flatten,
    forward,
    forward_float64,
    load_reference,
)
from kernelwright.envs.reference.prepare import Ready, prepare
from kernelwright.envs.reference.regions import dead_inputs
from kernelwright.envs.types import Problem, content_hash

Answer = tuple[str, list[Array]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Which trivial answers were tried on a problem, and which of them it accepts.

    `failed` says why nothing could be tried; it is empty where the problem's own module ran.
    """

    problem: str
    key: str
    tried: tuple[str, ...]
    accepted: tuple[str, ...]
    failed: str = ""
    rules: str = ""
    """By which rules it was checked (`rules` of data/suite_check.py)."""

    @property
    def admitted(self) -> bool:
        return not self.accepted and not self.failed


def check_problem(problem: Problem, dropped: Sequence[str] = ()) -> Admission:
    """The battery on the timed case, and whether every region of its inputs matters (`dead:x` where
    one does not). `dropped` are codes of the problem less one operation."""
    ready = prepare(problem, problem.timed_case())
    drawn = ready.reference.draw(1)
    expected = _arrays(forward_float64(*drawn))
    kinds = [one.dtype for one in _arrays(forward(*drawn))]
    tried, accepted = [], []
    for name, answer in _battery(problem, ready.reference, drawn, expected, dropped):
        tried.append(name)
        if _passes(answer, expected, kinds, ready):
            accepted.append(name)
    tried.append("dead_regions")
    dead = dead_inputs(ready.reference, ready.tolerances, ready.spreads)
    accepted += [f"dead:{name}" for name in dead]
    return Admission(
        problem=problem.name, key=problem.key, tried=tuple(tried), accepted=tuple(accepted)
    )


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
) -> Iterable[Answer]:
    import torch

    model, state, arguments = drawn
    yield "zeros", [np.zeros_like(one) for one in expected]
    others = _arrays(forward_float64(*reference.draw(2)))
    yield "constant", [np.full_like(one, one.mean()) for one in others]
    tensors = [array_of(one) for one in arguments if isinstance(one, torch.Tensor)]
    for number, tensor in enumerate(tensors):
        yield f"input_{number}", [_fit(tensor, one) for one in expected]
    yield "other_inputs", others
    if state:
        other = reference.draw(2)[1]
        yield "other_weights", _arrays(forward_float64(model, other, arguments))
    rounded = [_to_bfloat16(one) for one in arguments]
    if any(one is not kept for one, kept in zip(rounded, arguments, strict=True)):
        yield "bfloat16_inputs", _arrays(forward_float64(model, state, rounded))
    for number, code in enumerate(dropped):
        smaller = load_reference(replace(problem, code=code), reference.case)
        yield f"dropped_{number}", _arrays(forward_float64(*smaller.draw(1)))


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
