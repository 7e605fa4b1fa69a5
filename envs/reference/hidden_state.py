"""Detects state that no kernel is given: tensors in plain attributes of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernelwright.envs.reference.distributions import same_values
from kernelwright.envs.reference.module import ProblemError, Reference, flatten, forward


def refuse_hidden_state(reference: Reference) -> None:
    """Raises ProblemError, with the attributes' names, where the module gives other outputs for the
    same state and inputs when it is made again: its constructor draws what is neither."""
    model, state, arguments = reference.draw(0)
    again = reference.draw(1)[0]
    pairs = zip(
        flatten(forward(model, state, arguments)),
        flatten(forward(again, state, arguments)),
        strict=True,
    )
    if all(same_values(a, b) for a, b in pairs):
        return
    others = dict(_plain(again))
    names = [
        name
        for name, one in _plain(model)
        if name not in others or not same_values(one, others[name])
    ]
    what = " and ".join(names) or "something"
    raise ProblemError(
        f"the problem's constructor draws {what}, which is neither a parameter nor a buffer: no "
        "kernel is given it, so none can be right; `self.register_buffer` makes it an argument"
    )


def _plain(model: Any) -> Iterator[tuple[str, Any]]:
    """(name, tensor) of the attributes of all of its modules that are tensors by themselves, and of
    buffers that are not saved."""
    import torch

    saved = set(model.state_dict())
    for owner, module in model.named_modules():
        for name, one in (*vars(module).items(), *module.named_buffers(recurse=False)):
            whole = f"{owner}.{name}" if owner else name
            if isinstance(one, torch.Tensor) and whole not in saved:
                yield f"self.{whole}", one
