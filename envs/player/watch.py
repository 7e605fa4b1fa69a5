"""Ends the process when PyTorch itself is asked to compute; and the ways in which it can end."""

from __future__ import annotations

import os
import sys
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

NOT_LOADABLE = 65
OTHER_PARAMETERS, NOT_A_TENSOR, OTHER_SHAPE, OTHER_DTYPE, TORCH_COMPUTE = 70, 71, 72, 73, 74
"""Exit codes that envs/referee.py puts into words."""

MOVES = frozenset(
    """
    alias as_strided chunk clone contiguous copy_ detach diagonal empty empty_like empty_strided
    expand fill_ flatten full full_like lift_fresh narrow new_empty new_empty_strided new_full
    new_ones new_zeros ones ones_like permute reshape resize_ scalar_tensor select set_ slice split
    split_with_sizes squeeze t transpose unbind unfold unsqueeze view view_as_real zero_ zeros
    zeros_like _local_scalar_dense _reshape_alias _to_copy _unsafe_view
    """.split()  # noqa: SIM905
)
"""What PyTorch may do for an answer: make tensors, move them, look at them differently."""


class OnlyMoves(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """As long as it is on, PyTorch moves and does not compute: that is the answer's work."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if func.namespace == "aten" and name not in MOVES:
            leave(TORCH_COMPUTE, f"PyTorch was asked to compute: {func}")
        return func(*args, **(kwargs or {}))


def leave(code: int, why: str = "") -> None:
    """Ends this process, saying why in its log."""
    if why:
        print(why, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
