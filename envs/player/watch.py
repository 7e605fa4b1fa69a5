"""Ends the process when PyTorch itself is asked to compute; and the ways in which it can end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.library

NOT_LOADABLE = 65
OTHER_PARAMETERS, NOT_A_TENSOR, OTHER_SHAPE, OTHER_DTYPE, TORCH_COMPUTE = 70, 71, 72, 73, 74
"""Exit codes that envs/referee.py puts into words."""

MOVES = frozenset(
    """
    alias arange as_strided chunk clone contiguous copy_ detach diagonal empty empty_like
    empty_strided expand fill_ flatten full full_like lift_fresh narrow new_empty
    new_empty_strided new_full new_ones new_zeros ones ones_like permute reshape resize_
    scalar_tensor select set_ slice split split_with_sizes squeeze t transpose unbind unfold
    unsqueeze view view_as_real zero_ zeros zeros_like _local_scalar_dense _reshape_alias
    _to_copy _unsafe_view
    """.split()  # noqa: SIM905
)
"""What PyTorch may do for an answer: make tensors, move them, look at them differently."""


_KEY = "FuncTorchVmapMode"
"""A dispatch key of PyTorch's own that every operator falls through, unless vmap is at work."""

_library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]


def forbid_compute() -> None:
    """From now on an operator that computes ends the process, wherever `only_moves` holds.

    Called once, before the process is cloned. What it costs elsewhere is nothing: an operator that
    has no kernel for the key is not looked up there.
    """
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, overload = name.partition("::")
        computes = overload.partition(".")[0] not in MOVES and any(
            torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
            for key in ("CPU", "CompositeExplicitAutograd")
        )
        if namespace == "aten" and computes:
            _library.impl(overload, _ending(name), _KEY)  # type: ignore[no-untyped-call]


def only_moves() -> Any:
    """Within it, in this thread, PyTorch moves and does not compute: that is the answer's work."""
    return torch._C._IncludeDispatchKeyGuard(getattr(torch._C.DispatchKey, _KEY))


def _ending(name: str) -> Callable[..., None]:
    return lambda *_, **__: leave(TORCH_COMPUTE, f"PyTorch was asked to compute: {name}")


def leave(code: int, why: str = "") -> None:
    """Ends this process, saying why in its log."""
    if why:
        print(why, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
