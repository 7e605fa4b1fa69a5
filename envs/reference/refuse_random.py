"""Refuses a module that gives different outputs for the same inputs."""

from __future__ import annotations

import traceback
from typing import Any

from kernelwright.envs.reference.distributions import same_values
from kernelwright.envs.reference.module import (
    ProblemError,
    Reference,
    flatten,
    forward,
    problem_lines,
)


def refuse_random(reference: Reference) -> None:
    """Raises ProblemError, with the line if PyTorch's generator was asked, where the module gives
    other outputs for the same inputs."""
    drawn = reference.draw(0)
    pairs = zip(flatten(forward(*drawn)), flatten(forward(*drawn)), strict=True)
    if not all(same_values(a, b) for a, b in pairs):
        raise ProblemError(
            "the problem's module is random: it gives other outputs for the same inputs, "
            f"so no kernel can be checked against it{first_draw(drawn)}"
        )


def first_draw(drawn: tuple[Any, dict[str, Any], list[Any]]) -> str:
    """`; line 12 draws numbers`: the first line of a module that asks PyTorch's generator for some.

    Empty where none does, and what differs comes from elsewhere.
    """
    import torch

    found: list[int] = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, function: Any, _: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            before = torch.get_rng_state()
            result = function(*args, **(kwargs or {}))
            if not torch.equal(before, torch.get_rng_state()):
                found.extend(line for line in problem_lines(traceback.extract_stack())[-1:])
            return result

    with Watch():
        forward(*drawn)
    return f"; line {found[0]} draws numbers" if found else ""
