"""Keeps traces of large tensors within little memory: their pages are never touched.

A trace needs no values, but PyTorch writes zeros and copies where it is asked to. Of a large tensor
that is left out: the tape has the step, and the tensor is memory that nobody has written to.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

LARGE_BYTES = 64 << 20
"""Tensors from this size on have no values. More than what is mapped anew whenever it is asked for
(32 MB in glibc), and reads as zeros; and more than any constant of a plan has."""
LARGEST_ITEM_BYTES = 8
IN_PLACE = frozenset(("copy_", "fill_", "zero_"))
VALUES: dict[str, Any] = {
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros", "zero_"), lambda _: 0),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), lambda _: 1),
    **dict.fromkeys(("full", "full_like", "fill_"), lambda args: args[1]),
    "new_full": lambda args: args[2],
}
"""Operator → the one value that it writes everywhere."""
LEFT_OUT = frozenset(VALUES) | frozenset(
    "clone copy_ _to_copy cat constant_pad_nd repeat stack".split()  # noqa: SIM905
)
"""Operators whose work may be left out: they write one value, or copy."""


class WithoutWork(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Within it the operators of `LEFT_OUT` do no work on large tensors."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: it would import torch's compiler, which takes longer than all the rest."""
        return False

    def __torch_dispatch__(
        self, func: Any, _: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        found = without_work(func, func.overloadpacket.__name__, args, named)
        return func(*args, **named) if found is None else found


def is_large(tensor: torch.Tensor) -> bool:
    """Whether its values are nobody's concern."""
    return tensor.numel() * tensor.element_size() >= LARGE_BYTES


def without_work(func: Any, name: str, args: Any, named: dict[str, Any]) -> torch.Tensor | None:
    """What an operator of `LEFT_OUT` gives back, without values; None where that is small.

    Shape, strides and type are those that PyTorch says for tensors without memory.
    """
    if name not in LEFT_OUT or _at_most(args) * LARGEST_ITEM_BYTES < LARGE_BYTES:
        return None
    if name in IN_PLACE:
        return args[0] if is_large(args[0]) else None
    if any(one.name == "device" for one in func._schema.arguments):
        named = named | {"device": torch.device("meta")}
    with torch._C.DisableTorchFunction():
        made = func(*tree_map(_on_meta, args), **named)
        if not is_large(made):
            return None
        return torch.empty_strided(made.shape, made.stride(), dtype=made.dtype)


def _on_meta(one: Any) -> Any:
    if not isinstance(one, torch.Tensor):
        return one
    return torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device="meta")


def _at_most(args: Any) -> int:
    """No fewer elements than the result has: those of all tensors, as often as lists of sizes
    say."""
    parts = [part for one in args for part in (one if isinstance(one, list | tuple) else [one])]
    sizes = [one for one in args if isinstance(one, list | tuple)]
    numbers = [abs(part) for one in sizes for part in one if type(part) is int]
    tensors = sum(one.numel() for one in parts if isinstance(one, torch.Tensor))
    return max(1, tensors) * prod(max(1, one) for one in numbers)
