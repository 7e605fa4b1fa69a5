"""Runs a problem's module on a GPU while all around it has tensors in ordinary memory: what is
expected of a large problem takes one core minutes.

Only the reference process imports this: it runs PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.utils._pytree import tree_map

MOST_SEEN = 1 << 20
"""Elements of an output, drawn from all of it, that decide how far rounding takes it; of one that
has four times as many."""


def playing_on(
    model_class: Any, device: str, begin: Callable[[], None], *, sampled: bool = False
) -> Any:
    """The same class of modules, whose `forward` runs on the device, in the type that it is given:
    float64 where float64 is asked for, on every card.

    `begin` is called before each run. `sampled`: of large outputs it gives `MOST_SEEN` elements, at
    the same places each time.
    """

    class There(model_class):  # type: ignore[misc]
        kernelwright_is_there = False

        @wraps(model_class.forward)
        def forward(self, *given: Any, **named: Any) -> Any:
            if self.kernelwright_is_there:
                return super().forward(*given, **named)
            begin()
            _seed(device)
            state = dict(self.named_parameters(remove_duplicate=False))
            state |= dict(self.named_buffers(remove_duplicate=False))
            self.kernelwright_is_there = True
            try:
                found = torch.func.functional_call(
                    self, _moved(state, device), *_moved((given, named), device), tie_weights=False
                )
            finally:
                self.kernelwright_is_there = False
            return _moved(tree_map(_some, found) if sampled else found, "cpu")

    return There


def _moved(values: Any, device: str) -> Any:
    """The same with all tensors there."""
    return tree_map(lambda one: one.to(device) if isinstance(one, torch.Tensor) else one, values)


def _some(one: Any) -> Any:
    """A tensor, or some of its elements where it has many."""
    if not isinstance(one, torch.Tensor) or one.numel() <= 4 * MOST_SEEN:
        return one
    own = torch.Generator().manual_seed(one.numel())
    places = torch.randint(one.numel(), (MOST_SEEN,), generator=own)
    return one.reshape(-1)[places.to(one.device)]


def _seed(device: str) -> None:
    """What is drawn on the device hangs on PyTorch's own generator, as everything else."""
    if device != "cpu":
        torch.cuda.manual_seed(int(torch.randint(1 << 62, ())))
