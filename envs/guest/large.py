"""Keeps traces of large tensors within little memory: they are addresses that nobody writes to.

A trace needs no values, but PyTorch writes zeros and copies where it is asked to. Of a large tensor
that is left out: the tape has the step. It reads as zeros, which takes no memory, and addresses
that cannot be written to count to no limit of memory (`room_bytes` of envs/sandbox/limits.py).
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch.utils._pytree import tree_map

LARGE_BYTES = 64 << 20
"""Tensors from this size on have no values. More than any constant of a plan has."""
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
    """
    clone copy_ _to_copy cat constant_pad_nd repeat stack
    empty empty_like empty_strided new_empty new_empty_strided
    """.split()  # noqa: SIM905
)
"""Operators whose work may be left out: they write one value, copy, or only make a tensor."""


def is_large(tensor: torch.Tensor) -> bool:
    """Whether it is, or is a part of, what has no values."""
    return _bytes(tensor) >= LARGE_BYTES or tensor.untyped_storage().nbytes() >= LARGE_BYTES


def reserved(
    shape: Sequence[int], dtype: torch.dtype, strides: Sequence[int] | None = None
) -> torch.Tensor:
    """A tensor at addresses of its own, which read as zeros and cannot be written to."""
    with torch._C.DisableTorchFunction():
        like = torch.empty_strided(shape, strides or _dense(shape), dtype=dtype, device="meta")
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        memory = mmap.mmap(-1, like.untyped_storage().nbytes(), flags=flags, prot=mmap.PROT_READ)
        return torch.frombuffer(memory, dtype=dtype).as_strided(shape, like.stride())


def without_work(func: Any, name: str, args: Any, named: dict[str, Any]) -> torch.Tensor | None:
    """What an operator of `LEFT_OUT` gives back, without values; None where that is small.

    Shape, strides and type are those that PyTorch says for tensors without memory.
    """
    if name in IN_PLACE:
        return args[0] if is_large(args[0]) else None
    if name not in LEFT_OUT or _at_most(args) * LARGEST_ITEM_BYTES < LARGE_BYTES:
        return None
    if any(one.name == "device" for one in func._schema.arguments):
        named = named | {"device": torch.device("meta")}
    with torch._C.DisableTorchFunction():
        made = func(*tree_map(_on_meta, args), **named)
    return reserved(made.shape, made.dtype, made.stride()) if _bytes(made) >= LARGE_BYTES else None


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _dense(shape: Sequence[int]) -> list[int]:
    return [prod(shape[at + 1 :]) for at in range(len(shape))]


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
