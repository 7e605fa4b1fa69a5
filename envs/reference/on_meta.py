"""Computes the memory that each case of a problem takes, by running its module without data.

PyTorch's `meta` tensors have shapes and no values, so a case of many gigabytes costs milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kernelwright.envs.reference.distributions import AS_MADE
from kernelwright.envs.reference.module import Shapes, flatten, load_reference
from kernelwright.envs.types import Case, Problem, content_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class OnMeta:
    """Facts about one case: bytes of its inputs, weights and outputs, a hash of its module, and the
    rank of its first input (of its first weight, where it takes none).

    `failed` says why it cannot be run this way; then the others are unknown.
    """

    size_bytes: int | None = None
    module: str | None = None
    rank: int | None = None
    failed: str = ""


def try_on_meta(problem: Problem, case: Case) -> OnMeta:
    """Whatever the problem's own code does is a result."""
    try:
        import torch

        with torch.device("meta"), torch.no_grad():
            reference = load_reference(problem, replace(case, distribution=AS_MADE))
            model, state, arguments = reference.draw(0)
            outputs = flatten(model(*arguments))
        given = [*_tensors(arguments), *state.values()]
        tensors = [*given, *outputs]
        shapes = [(name, tuple(one.shape), str(one.dtype)) for name, one in state.items()]
        return OnMeta(
            size_bytes=sum(one.numel() * one.element_size() for one in tensors),
            module=content_hash(repr(shapes), repr(reference.init())),
            rank=len(given[0].shape) if given else 0,
        )
    except (Exception, SystemExit) as error:  # noqa: BLE001  the named boundary: a problem's own code ran
        return OnMeta(failed=" ".join(f"{type(error).__name__}: {error}".split())[:300])


def shapes_on_meta(problem: Problem) -> Shapes:
    """What the module takes and gives in its timed case, but for what its parameters are full of.

    Raises whatever the problem's own code does.
    """
    import torch

    with torch.device("meta"):
        timed = replace(problem.timed_case(), distribution=AS_MADE)
        reference = load_reference(problem, timed)
        return Shapes(reference.spec(), ", ".join(map(repr, reference.init())))


def _tensors(values: Iterable[Any]) -> list[Any]:
    return [one for one in values if hasattr(one, "element_size")]
