"""Ends the process when PyTorch itself is asked to compute; and the ways in which it can end.

A kernel is registered for every computing operator under a dispatch key that is active while an
answer runs, and that kernel ends the process: operators that only move tensors have none.

Holds: operators called from Python or C++ in the answer's own thread, values read one by one
(`Looks`), and libraries that would switch the key off. Does not hold: other threads (`Starts` and
policy/symbols.py keep them from Python), Python's own arithmetic on up to `LOOKS` values a round,
and kernels called by address.
"""

from __future__ import annotations

import os
import sys
import typing
from collections.abc import Callable
from typing import Any

import torch
import torch.library

from kernelwright.envs.guest.movement_ops import MOVES

NOT_LOADABLE = 65
OTHER_PARAMETERS, NOT_A_TENSOR, OTHER_SHAPE, OTHER_DTYPE, TORCH_COMPUTE = 70, 71, 72, 73, 74
NOT_COMPILED, FORBIDDEN_CODE = 75, 76
"""Exit codes that envs/referee/exit_codes.py puts into words."""

LOOKS = 16
"""Single values that an answer may turn into numbers of Python in one round: its own scalars."""

_KEY = "FuncTorchVmapMode"
"""A dispatch key of PyTorch's own that every operator falls through, unless vmap is at work."""

_RAW = ("choose_qparams", "fbgemm_", "tensor_split")
"""Operators whose names begin so are compositions to PyTorch, and read values all the same."""

INFERENCE = torch.inference_mode
"""The real one; an answer finds another (`without_guards`)."""

_libraries: dict[str, Any] = {}
"""Keeps what was registered: it ends with these."""


class Inference(torch.no_grad):
    """What an answer finds as `torch.inference_mode`. The real one puts back, when it is left, all
    dispatch keys as they were when it was entered: one entered before the watch would end it."""

    def __new__(cls, mode: Any = True) -> Any:
        # A decorator without parentheses is given the function; no_grad wraps that in __new__.
        return super().__new__(cls, mode if callable(mode) else None)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()


def without_guards() -> None:
    """From here on nothing that an answer may name switches the watch off by putting keys back."""
    torch.inference_mode = Inference  # type: ignore[misc, assignment]
    typing.ForwardRef._evaluate = _no_text  # type: ignore[method-assign]


def _no_text(*_: Any, **__: Any) -> Any:
    leave(FORBIDDEN_CODE, "a text was to be evaluated as a type")


def forbid_compute() -> None:
    """From now on an operator that computes ends the process, wherever `only_moves` holds.

    Called once, before the process is cloned. What it costs elsewhere is nothing: an operator that
    has no kernel for the key is not looked up there.
    """
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, overload = name.partition("::")
        if namespace not in _RESERVED and _computes(name):
            _library(namespace).impl(overload, _ending(name), _KEY)
    _library("aten").impl("_local_scalar_dense", _looks.take, _KEY)


_RESERVED = frozenset(("prim", "_inductor_test"))


def _computes(name: str) -> bool:
    """Whether an operator does work of its own that is more than making and moving tensors.

    One that is only composed of others does none: those are asked in their turn.
    """
    namespace, _, overload = name.partition("::")
    plain = overload.partition(".")[0]
    if namespace == "aten" and plain in MOVES:
        return False
    own = any(_has_kernel(name, key) for key in ("CPU", "CompositeExplicitAutograd"))
    return own or plain.startswith(_RAW) or not _has_kernel(name, "CompositeImplicitAutograd")


def _has_kernel(name: str, key: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, key))


def _library(namespace: str) -> Any:
    if namespace not in _libraries:
        made = torch.library.Library(namespace, "IMPL")  # type: ignore[no-untyped-call]
        _libraries[namespace] = made
    return _libraries[namespace]


class Looks:
    """`Tensor.item` and what else reads one value: a few of them, then the process ends."""

    def __init__(self) -> None:
        self.left = LOOKS
        self.here = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, _KEY))

    def take(self, tensor: torch.Tensor) -> Any:
        self.left -= 1
        if self.left < 0:
            leave(TORCH_COMPUTE, f"more than {LOOKS} values of tensors were read into Python")
        with torch._C._ExcludeDispatchKeyGuard(self.here):
            return torch.ops.aten._local_scalar_dense(tensor)


_looks = Looks()


def only_moves() -> Any:
    """Within it, in this thread, PyTorch moves and does not compute: that is the answer's work."""
    _looks.left = LOOKS
    return torch._C._IncludeDispatchKeyGuard(getattr(torch._C.DispatchKey, _KEY))


def unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of a library; the process ends where it switches the watch off."""
    key = getattr(torch._C.DispatchKey, _KEY)

    def call(*args: Any, **kwargs: Any) -> Any:
        watched = torch._C._dispatch_tls_is_dispatch_key_included(key)
        found = function(*args, **kwargs)
        now = torch._C._dispatch_tls_is_dispatch_key_included(key)
        if now != watched or torch._C._dispatch_tls_is_dispatch_key_excluded(key):
            leave(TORCH_COMPUTE, "a library switched off what forbids PyTorch to compute")
        return found

    return call


def _ending(name: str) -> Callable[..., None]:
    return lambda *_, **__: leave(TORCH_COMPUTE, f"PyTorch was asked to compute: {name}")


def leave(code: int, why: str = "") -> None:
    """Ends this process, saying why in its log."""
    if why:
        print(why, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
