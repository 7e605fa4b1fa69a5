"""Calls an answer's `ModelNew` on invented inputs, so that the tape records its launches."""

from __future__ import annotations

import math
import traceback
from typing import Any

import torch
from torch.autograd.graph import increment_version

from kernelwright.envs.guest.large import LARGE_BYTES, reserved
from kernelwright.envs.guest.leave import (
    COMPILE_ERROR,
    FORWARD_RAISED,
    NOT_A_TENSOR,
    OTHER_DTYPE,
    OTHER_PARAMETERS,
    OTHER_SHAPE,
    leave,
)
from kernelwright.envs.guest.limits import limit_of


class LimitError(Exception):
    """A call needs a feature that PyTorch or Triton lacks here; the text names it."""


class Rounds:
    """The model of one case, and the arguments of its `forward`."""

    def __init__(self, model_class: Any) -> None:
        self.model_class = model_class
        self.layout: dict[str, Any] = {}
        self.model: Any = None
        self.keys: list[str | None] = []
        """What the model calls each parameter and buffer of the module; None where it has none."""

    def make(self, layout: dict[str, Any]) -> None:
        self.layout = layout
        self.model = self.model_class(*plain(layout["init"])).eval()

    def prepare(self, layout: dict[str, Any]) -> None:
        self.make(layout)
        mine, theirs = self.model.state_dict(), states(layout)
        self.keys = paired(mine, theirs)
        if any(
            key is None and getattr(torch, one["dtype"]).is_floating_point
            for key, one in zip(self.keys, theirs.values(), strict=True)
        ):
            leave(OTHER_PARAMETERS, f"parameters are {list(mine)}, the module's are {list(theirs)}")

    def arranged(
        self, tensors: list[torch.Tensor]
    ) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
        """(parameters and buffers by key, what `forward` is called with, and that by keyword)."""
        named = dict(zip(self.layout["names"], tensors, strict=True))
        arguments = [nested(one, named) for one in self.layout["arguments"]]
        keywords = self.layout.get("keywords", {})
        given = zip(self.keys, tensors[len(tensors) - len(self.keys) :], strict=True)
        state = {key: one for key, one in given if key is not None}
        return state, arguments, {name: nested(one, named) for name, one in keywords.items()}

    def forward(
        self, state: dict[str, Any], arguments: list[Any], keywords: dict[str, Any]
    ) -> list[torch.Tensor]:
        found = _flatten(self._called(state, tuple(arguments), keywords))
        if len(found) != len(self.layout["outputs"]):
            leave(OTHER_SHAPE, f"{len(found)} outputs, {len(self.layout['outputs'])} expected")
        for tensor, spec in zip(found, self.layout["outputs"], strict=True):
            if list(tensor.shape) != spec["shape"]:
                leave(OTHER_SHAPE, f"shape {list(tensor.shape)}, expected {spec['shape']}")
            if str(tensor.dtype) != f"torch.{spec['dtype']}":
                leave(OTHER_DTYPE, f"{tensor.dtype}, expected {spec['dtype']}")
        return found

    def _called(
        self, state: dict[str, Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        try:
            return torch.func.functional_call(
                self.model, state, arguments, keywords, tie_weights=False
            )
        except Exception as error:
            if limit := limit_of(error):
                raise LimitError(limit) from error
            traceback.print_exc()
            compiler = type(error).__module__.startswith("triton.compiler.")
            leave(COMPILE_ERROR if compiler else FORWARD_RAISED)


def states(layout: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The key of each of a module's states → what is known of it: its type, shape and fill."""
    specs = layout["inputs"][len(layout["inputs"]) - len(layout["state"]) :]
    rows = zip(layout["state"], specs, layout["fills"], strict=True)
    return {key: spec | {"fill": fill} for key, spec, fill in rows}


def paired(mine: dict[str, Any], theirs: dict[str, dict[str, Any]]) -> list[str | None]:
    """Pairs each module state with one of the answer's: the same name; else the first left of the
    same shape and dtype, preferring the same fill value. KernelBench gives both modules one seed
    and asks for no names.
    """
    left = {name: one for name, one in mine.items() if name not in theirs}
    found: list[str | None] = []
    for name, spec in theirs.items():
        alike = [
            key
            for key, one in left.items()
            if list(one.shape) == spec["shape"] and str(one.dtype) == f"torch.{spec['dtype']}"
        ]
        alike.sort(key=lambda key: fill_of(left[key]) != spec["fill"])
        found.append(name if name in mine else next(iter(alike), None))
        left.pop(found[-1] or "", None)
    return found


def fill_of(tensor: torch.Tensor) -> float | None:
    """The value that a tensor is full of; None where it has several, or none."""
    with ours():
        first = tensor.reshape(-1)[:1]
        return float(first) if first.numel() and bool((tensor == first).all()) else None


def _flatten(output: Any) -> list[torch.Tensor]:
    if type(output) is torch.Tensor:
        return [output]
    if output is None:
        return []
    if isinstance(output, dict):
        return [tensor for one in output.values() for tensor in _flatten(one)]
    if isinstance(output, list | tuple):
        return [tensor for one in output for tensor in _flatten(one)]
    if isinstance(output, bool | int | float):
        return [torch.tensor(output)]
    leave(NOT_A_TENSOR, f"forward returned a {type(output).__name__}")
    return []


def invented(spec: dict[str, Any], *, with_values: bool = False) -> torch.Tensor:
    """A tensor of this kind, where nothing depends on the values: some around one, which vary and
    have logarithms, and of whole numbers zeros, which are an index into anything. Without
    `with_values` a large one reads as zeros, and cannot be written to."""
    dtype, strides = getattr(torch, spec["dtype"]), spec.get("strides")
    shape, first = spec["shape"], spec.get("first", 0)
    if strides is not None:  # all of what a view is a view of
        steps = zip(shape, strides, strict=True)
        shape = [first + 1 + sum((size - 1) * stride for size, stride in steps)]
    with ours():
        if not with_values and math.prod(shape) * dtype.itemsize >= LARGE_BYTES:
            made = reserved(shape, dtype)
        elif dtype.is_floating_point:
            some = torch.rand(shape, generator=torch.Generator().manual_seed(0))
            made = (some + 0.5).to(dtype)
        else:
            made = torch.zeros(shape, dtype=dtype)
        return made if strides is None else made.as_strided(spec["shape"], strides, first)


def nested(one: dict[str, Any], named: dict[str, torch.Tensor]) -> Any:
    """An argument as `forward` takes it, with these tensors in it (referee/layout.py)."""
    match one:
        case {"name": name}:
            return named[name]
        case {"list": items}:
            return [nested(item, named) for item in items]
        case {"tuple": items}:
            return tuple(nested(item, named) for item in items)
        case {"dict": items}:
            return {name: nested(item, named) for name, item in items.items()}
    return one["value"]


def changed(tensors: list[torch.Tensor]) -> None:
    """Marks these tensors as written to, so that PyTorch takes their values as new."""
    increment_version(tensors)


def ours() -> Any:
    """Within it no mode is asked about PyTorch's functions: neither as_on_device's nor another."""
    return torch._C.DisableTorchFunction()


def plain(value: Any) -> Any:
    """JSON's value with tuples in it, which are written as {"tuple": [...]}."""
    if isinstance(value, dict) and set(value) == {"tuple"}:
        return tuple(plain(one) for one in value["tuple"])
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value
