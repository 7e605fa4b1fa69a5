"""Acceptable alternatives where rounding decides an argmax or a comparison.

Of 768 sines the two largest are often one unit in the last place apart, so the implementation of
sine decides which is the largest. Moving inputs does not show that: a sine is flat at its maximum.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

LARGEST = {"argmax": 1, "max": 1, "argmin": -1, "min": -1}
COMPARES = frozenset(("ge", "gt", "le", "lt"))


ALL = 1 << 30
PICKS = (1, 2, ALL)
"""Which of the near values: the first, the second, the last. Four are hardly ever this near."""


class NearTies(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Within it the `pick`-th of the values within `relative` of the largest counts as the largest.
    Compared values are reduced by `relative` for the first pick, and increased for the others."""

    def __init__(self, relative: float, pick: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.relative, self.pick = relative, pick

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name, named = func.overloadpacket.__name__, kwargs or {}
        floats = bool(args) and isinstance(args[0], torch.Tensor) and args[0].is_floating_point()
        if name in COMPARES and floats:
            moved = args[0] * (1 + (self.relative if self.pick > 1 else -self.relative))
            return func(moved, *args[1:], **named)
        found = func(*args, **named)
        dim = args[1] if len(args) > 1 else named.get("dim")
        if name not in LARGEST or not floats or not isinstance(dim, int) or args[0].dim() == 0:
            return found
        values, index = found if isinstance(found, tuple | list) else (None, found)
        keeps = index.dim() == args[0].dim()
        index = self._place(args[0] * LARGEST[name], dim, index if keeps else index.unsqueeze(dim))
        near = args[0].gather(dim, index)
        if not keeps:
            index, near = index.squeeze(dim), near.squeeze(dim)
        return index if values is None else type(found)((near, index))

    def _place(self, of: torch.Tensor, dim: int, usual: torch.Tensor) -> torch.Tensor:
        """Of the places along `dim` that are all but the largest, the one of this number; the last
        where there are fewer."""
        largest = of.gather(dim, usual)
        near = of >= largest - self.relative * largest.abs()
        number = near.cumsum(dim)
        wanted = number.amax(dim, keepdim=True).clamp(max=self.pick)
        found = (near & (number == wanted)).max(dim, keepdim=True)
        return torch.where(found.values, found.indices, usual)  # NaN is near nothing
