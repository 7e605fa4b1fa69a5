"""Records PyTorch's tensor copies as steps of a tape; PyTorch computes only where
`torch_allowed`."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.envs.guest.large import VALUES, is_large, without_work
from kernelwright.envs.guest.leave import TORCH_COMPUTE, leave
from kernelwright.envs.guest.operators import computed
from kernelwright.envs.guest.tape import Tape, address

UNIFORM = frozenset(
    """
    arange fill_ full full_like lift_fresh new_full new_ones new_zeros ones ones_like
    scalar_tensor zero_ zeros zeros_like
    """.split()  # noqa: SIM905
)
"""Operators of PyTorch that write one value everywhere, or what Python says."""
COPIES = frozenset(("clone", "copy_", "_to_copy"))
JOINS = frozenset(("cat", "constant_pad_nd", "repeat", "stack"))
"""What copies several tensors into one, or one several times."""
COMPOSED = torch._C.DispatchKey.CompositeImplicitAutograd
PYTORCHS = ("aten", "prims")
"""Whose operators are not the answer's, though some are written in Python."""
OF_PYTHON = tuple(
    getattr(torch._C.DispatchKey, name) for name in ("CompositeExplicitAutograd", "CUDA", "CPU")
)
READ = "_local_scalar_dense"
LOST = frozenset((READ,))
"""What reads values, which no step of a plan does."""
VIEWS = frozenset(
    """
    alias as_strided detach detach_ diagonal empty empty_like empty_strided expand new_empty
    new_empty_strided permute resize_ select set_ slice split split_with_sizes squeeze t transpose
    unbind unfold unsqueeze view view_as_real _reshape_alias _unsafe_view
    """.split()  # noqa: SIM905
)
"""What only makes tensors, or looks at them differently."""


class Moves(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Within it PyTorch's copies are written to the tape; allocations and views are not.

    `with_values`: somebody computes with large tensors, so that they have to have their values.
    """

    def __init__(self, tape: Tape, *, torch_allowed: bool, with_values: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tape, self.torch_allowed, self.with_values = tape, torch_allowed, with_values

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: it would import torch's compiler, which takes longer than all the rest."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if key := _asked_again_as(func):
            with self:
                return func._op_dk(key, *args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name not in KNOWN and not self.torch_allowed:
            leave(TORCH_COMPUTE, f"PyTorch was asked to compute: {name}")
        if name not in KNOWN or (self.torch_allowed and _rounds(name, args, kwargs or {})):
            return computed(self.tape, func, args, kwargs or {})
        result = None if self.with_values else without_work(func, name, args, kwargs or {})
        if result is None:
            result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.tape.new(result, args)
        self._write(name, args, result)
        return result

    def _write(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        """What the operator did goes onto the tape."""
        if name == "fill_" and isinstance(args[1], torch.Tensor):
            self.tape.copied(args[1], result, name)
        elif name in VALUES and is_large(result) and not self.with_values:
            self.tape.filled_with(result, VALUES[name](args), name)
        elif name in UNIFORM:
            self.tape.filled(result, name)
        elif name in COPIES:
            copied(self.tape, name, args[1] if name == "copy_" else args[0], result)
        elif name in JOINS:
            joined(self.tape, name, args, result)
        elif name in LOST and not (name == READ and self.tape.is_older(args[0])):
            self.tape.leave_out(name)


def _rounds(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether it makes whole numbers of others, which is more than moving."""
    if name == "copy_":
        return args[1].is_floating_point() and not args[0].is_floating_point()
    kind = named.get("dtype") if name == "_to_copy" else None
    return kind is not None and args[0].is_floating_point() and not kind.is_floating_point


def copied(tape: Tape, name: str, source: torch.Tensor, to: torch.Tensor) -> None:
    """What becomes of one tensor becomes of another; by way of a third where both lie in the same
    memory, and may overlap."""
    if address(source) != address(to):
        return tape.copied(source, to, name)
    places = [(one.storage_offset(), one.shape, one.stride()) for one in (source, to)]
    if places[0] != places[1]:
        between = torch.empty(source.shape, dtype=source.dtype)
        tape.made.add(address(between))
        tape.copied(source, between, name)
        tape.copied(between, to, name)


def joined(tape: Tape, name: str, given: tuple[Any, ...], result: torch.Tensor) -> None:
    """One tensor into which others were copied, side by side, or one several times."""
    match name:
        case "constant_pad_nd":
            _padded(tape, *given, to=result)
        case "repeat":
            source, times = given
            shape = [1] * (len(times) - source.dim()) + list(source.shape)
            pairs = [one for pair in zip(times, shape, strict=True) for one in pair]
            ones = [one for size in shape for one in (1, size)]
            tape.copied(source.reshape(ones), result.view(pairs), name)
        case "stack":
            at = given[1] if len(given) > 1 else 0
            for number, one in enumerate(given[0]):
                tape.copied(one, result.select(at, number), name)
        case _:
            at, first = given[1] if len(given) > 1 else 0, 0
            for one in given[0]:
                if one.dim() == result.dim():  # an empty one of one dimension is passed over
                    tape.copied(one, result.narrow(at, first, one.shape[at]), name)
                    first += one.shape[at]


def _padded(
    tape: Tape, source: torch.Tensor, pads: list[int], value: float = 0, *, to: torch.Tensor
) -> None:
    if min(pads) < 0:
        return tape.leave_out("constant_pad_nd")
    tape.filled_with(to, value, "constant_pad_nd")
    inside = to
    for number, low in enumerate(pads[::2]):
        at = to.dim() - 1 - number
        inside = inside.narrow(at, low, source.shape[at])
    tape.copied(source, inside, "constant_pad_nd")


KNOWN = UNIFORM | COPIES | JOINS | LOST | VIEWS
"""What PyTorch may do for an answer: make tensors, move them, look at them differently."""


@cache
def _asked_again_as(operator: Any) -> Any:
    """The dispatch key of what an operator consists of: others, in C++ as without us, or what the
    answer registered, in Python; None where it is one to look at."""
    if torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), COMPOSED.name):
        return COMPOSED
    if operator.namespace in PYTORCHS:
        return None
    name = operator.name().replace("::", "/")
    return next((key for key in OF_PYTHON if f"{name}/{key.name}" in torch.library._impls), None)
