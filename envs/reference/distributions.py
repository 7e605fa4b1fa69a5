"""How the values of a case differ from those that the problem draws: kernels must work on both.

A kernel is trained on and shown one distribution. What it may be tempted to leave out shows on
others: an epsilon where a row is all zeros, a bias where it is not the zero that it was made as, a
branch for small values where all of them are small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SPREAD = 0.3
"""How far a parameter that was made constant is drawn from its value."""
ZEROED_SHARE = 0.125
"""Of the rows, and of the columns, of a tensor with `zeros`."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Floating-point inputs become `x * factor + offset`, then some of their rows zeros.

    `states`: parameters and buffers that were made constant are drawn (`drawn_states`).
    """

    factor: float = 1.0
    offset: float = 0.0
    zeros: bool = False
    states: bool = True

    def changed(self, value: Any) -> Any:
        """An argument of `forward` as this distribution has it; what is no value, as it is."""
        same = (self.factor, self.offset, self.zeros) == (1.0, 0.0, False)
        if same or not is_float(value) or is_mask(value):
            return value
        moved = value * self.factor + self.offset
        return with_zeros(moved) if self.zeros else moved


AS_MADE, GIVEN = "as_made", "given"
DISTRIBUTIONS = {
    AS_MADE: Distribution(states=False),
    GIVEN: Distribution(),
    "scaled": Distribution(factor=3.0),
    "shifted": Distribution(offset=0.5),
    "near_zero": Distribution(factor=0.1),
    "zero_rows": Distribution(zeros=True),
}
"""By the name that a case has for it. Parameters are drawn in timed rounds too: what may be left
out there would make a kernel faster than it is."""


def is_float(value: Any) -> bool:
    """Whether it is a tensor of floats."""
    return hasattr(value, "is_floating_point") and bool(value.is_floating_point())


def is_mask(value: Any) -> bool:
    """Whether a tensor has at most two different values: it chooses, it does not measure."""
    flat = value.reshape(-1)
    others = flat[flat != flat[:1]]
    return bool((others == others[:1]).all())


def with_zeros(value: Any) -> Any:
    """Some rows (of the first dimension) and some columns (of the last) zeros, one at least.

    Zeros, because every order of summation and every precision agrees on them: a row of another
    constant has a variance that is rounding noise.
    """
    import torch

    value = value.clone()
    for dim in {0, value.dim() - 1} if value.dim() > 1 else ():
        count = value.shape[dim]
        if count > 1:
            chosen = torch.randperm(count)[: max(1, int(count * ZEROED_SHARE))]
            value.index_fill_(dim, chosen, 0.0)
    return value


def drawn_states(state: dict[str, Any]) -> dict[str, Any]:
    """Parameters and buffers, anew where they were made constant: weights of ones, zero biases.

    Zeros become normal values; others are multiplied by positive ones, so that a variance stays
    positive. What a constructor drew is drawn already.
    """
    return {name: _drawn(one) for name, one in state.items()}


def has_constant_states(state: dict[str, Any]) -> bool:
    """Whether there is anything to draw."""
    return any(map(_is_constant, state.values()))


def _drawn(tensor: Any) -> Any:
    import torch

    if not _is_constant(tensor):
        return tensor
    noise = torch.randn(tensor.shape) * SPREAD
    zeros = not tensor.any()
    return (noise if zeros else tensor * noise.exp()).to(tensor.dtype)


def _is_constant(tensor: Any) -> bool:
    """Whether it was made as one number, over and over."""
    if not is_float(tensor) or tensor.numel() == 0:
        return False
    first = tensor.reshape(-1)[0]
    return bool(first.isfinite() and (tensor == first).all())
