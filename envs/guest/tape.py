"""Records an answer's launches, copies and allocations without a device, as steps of a plan
(envs/plan/plan.py).

Tensors are real and lie in ordinary memory; kernels are not run, so nothing that depends on what
they would have computed can be written down. `left_out` is then the first thing that was not.
"""

from __future__ import annotations

import base64
import ctypes
import zlib
from collections.abc import Iterable
from typing import Any

import torch

from kernelwright.envs.guest.leave import TORCH_COMPUTE, leave
from kernelwright.envs.guest.library import TYPES, LeftOut

FILL_BYTES = (1, 2, 4, 8)
MOST_CONSTANT_BYTES, MOST_LISTED = 8 << 20, 256
"""The same as in envs/plan/plan.py and envs/plan/steps.py."""


class Tape:
    """The steps of one call. Places are (name, bytes into it); every tensor met stays alive."""

    def __init__(self, named: dict[str, torch.Tensor]) -> None:
        self.names = {address(one): name for name, one in named.items()}
        self._inputs = {address(one) for one in named.values() if one.nbytes}
        self.buffers: dict[str, int] = {}
        self.constants: dict[str, str] = {}
        self.steps: list[dict[str, Any]] = []
        self.left_out: str | None = None
        self.on_host: set[int] = set()
        """Where tensors lie that a library made on the host."""
        self.made: set[int] = set()
        """Where tensors lie that PyTorch made in these calls."""
        self.inputs: dict[str, str] = {}
        """For each buffer of the first call, the input in whose place it is."""
        self.calls: list[dict[str, Any]] = []
        """Where each ended."""
        self.tuned = False
        """Whether a kernel was tried in the first call before it was launched."""
        self._kept: list[torch.Tensor] = list(named.values())

    def ended(self, outputs: list[torch.Tensor]) -> None:
        """A call has given back its outputs."""
        places = [self.place(self._contiguous(one)) for one in outputs]
        self._kept += outputs
        counts = {"steps": len(self.steps), "buffers": len(self.buffers)}
        self.calls.append({**counts, "outputs": places, "left_out": self.left_out})
        self.left_out = None

    def new(self, result: torch.Tensor, given: Iterable[Any]) -> None:
        """What an operator gives back: a tensor of these calls, unless it is part of an older."""
        where = address(result)
        if all(where != address(one) for one in given if isinstance(one, torch.Tensor)):
            self.made.add(where)

    def is_input(self, tensor: torch.Tensor) -> bool:
        """Whether it is, or is part of, what the call was given."""
        return address(tensor) in self._inputs

    def is_older(self, tensor: torch.Tensor) -> bool:
        """Whether the model has kept it since it was made: no input decides what is in it."""
        where = address(tensor)
        return where not in self.made and self.names.get(where, "") in ("", *self.constants)

    def given_before(self, name: str, tensor: torch.Tensor) -> None:
        """What the first call is given as the input of this name."""
        self.made.add(address(tensor))
        if tensor.nbytes:
            self.inputs[self.place(tensor)["tensor"]] = name

    def place(self, tensor: torch.Tensor) -> dict[str, Any]:
        where = address(tensor)
        if not tensor.untyped_storage().nbytes():  # all of those lie nowhere
            return {"tensor": self._buffer(0), "offset": 0}
        if where not in self.names:
            if where not in self.made:
                self._was_there(tensor, f"new.{len(self.buffers)}")
            self.names[where] = self._buffer(tensor.untyped_storage().nbytes())
            self._kept.append(tensor)
        offset = tensor.storage_offset() * tensor.element_size()
        return {"tensor": self.names[where], "offset": offset}

    def _buffer(self, size_bytes: int) -> str:
        name = f"new.{len(self.buffers)}"
        self.buffers[name] = size_bytes
        return name

    def _was_there(self, tensor: torch.Tensor, name: str) -> None:
        """A tensor that the model has kept since it was made: no input decides what is in it."""
        storage = tensor.untyped_storage()
        if storage.nbytes() > MOST_CONSTANT_BYTES:
            return self.leave_out("a large tensor of constants")
        content = ctypes.string_at(storage.data_ptr(), storage.nbytes())
        self.constants[name] = base64.b64encode(zlib.compress(content, 1)).decode()

    def allocated(self, where: int, size_bytes: int) -> None:
        """Memory that a library took, and that nothing else will be given."""
        self.names[where] = self._buffer(size_bytes)

    def filled(self, tensor: torch.Tensor, operator: str) -> None:
        """A tensor into which one value was written everywhere, or what Python said."""
        if tensor.numel() == 0:
            return
        everything = _bytes(tensor)
        value = everything[: tensor.element_size()]
        if value * tensor.numel() == everything:
            self._fill(tensor, value, operator)
        else:
            self.constant(tensor)

    def filled_with(self, tensor: torch.Tensor, value: Any, operator: str) -> None:
        """The same of a value that is known: the tensor itself is not looked at."""
        if tensor.numel():
            element = torch.full((1,), value, dtype=tensor.dtype)
            self._fill(tensor, _bytes(element), operator)

    def constant(self, tensor: torch.Tensor) -> None:
        """A new tensor of values that Python said."""
        self.made.discard(address(tensor))
        self.place(tensor)

    def _fill(self, tensor: torch.Tensor, value: bytes, operator: str) -> None:
        """An element's bytes, written to each of a tensor's."""
        if address(tensor) in self.on_host:
            return
        # The driver fills with up to four bytes: zeros of eight are zeros of one.
        pattern = value[:1] if len(set(value)) == 1 else value
        if len(pattern) not in FILL_BYTES:
            return self.leave_out(operator)
        to = tensor if tensor.is_contiguous() else torch.empty(1, dtype=tensor.dtype)
        if to is not tensor:
            self.made.add(address(to))
        self.steps.append({"at": self.place(to), "fill": pattern.hex(), "bytes": to.nbytes})
        if to is not tensor:
            self.copied(to, tensor, operator)

    def copied(self, source: torch.Tensor, to: torch.Tensor, operator: str) -> None:
        if {address(source), address(to)} & self.on_host:
            return self.leave_out(operator)
        source = source.expand(to.shape)
        if source.is_contiguous() and to.is_contiguous() and source.dtype is to.dtype:
            step = {"source": self.place(source), "to": self.place(to), "bytes": to.nbytes}
            return self.steps.append(step)
        if source.is_floating_point() and not to.is_floating_point():
            leave(TORCH_COMPUTE, "PyTorch was asked to make whole numbers of others")
        if unknown := {source.dtype, to.dtype} - TYPES.keys():
            return self.leave_out(f"a tensor of {unknown.pop()}")
        sides = {"source": self.side(source), "to": self.side(to)}
        self.steps.append({"shape": list(to.shape), **sides})

    def side(self, tensor: torch.Tensor) -> dict[str, Any]:
        strides = list(tensor.stride())
        return {"at": self.place(tensor), "dtype": _dtype(tensor), "strides": strides}

    def given(self, one: Any) -> dict[str, Any]:
        """An argument of a C++ function, as `Argument` of envs/plan/steps.py reads it."""
        if isinstance(one, int) and one and one in self.names:
            self.leave_out("an address as a number")
        match one:
            case None:
                return {}
            case torch.Tensor():
                return {"tensor": self.view(one)}
            case bool():
                return {"truth": one}
            case int():
                return {"whole": one}
            case float():
                return {"real": one.hex()}
            case str():
                return {"text": one}
            case torch.dtype():
                return {"whole": TYPES[one]}
            case _:
                return {"left_out": True} if one is LeftOut else self._listed(list(one))

    def _listed(self, items: list[Any]) -> dict[str, Any]:
        if len(items) > MOST_LISTED:
            self.leave_out(f"a list of more than {MOST_LISTED}")
            return {}
        if any(isinstance(item, torch.Tensor) for item in items):
            return {"tensors": [None if item is None else self.view(item) for item in items]}
        if any(isinstance(item, float) for item in items):
            return {"reals": [float(item).hex() for item in items]}
        return {"wholes": items}

    def view(self, tensor: torch.Tensor) -> dict[str, Any]:
        return {
            "storage": self.place(tensor)["tensor"],
            "dtype": _dtype(tensor),
            "shape": list(tensor.shape),
            "strides": list(tensor.stride()),
            "offset": tensor.storage_offset(),
        }

    def called(self, library: str, function: str, arguments: list[Any], found: list[Any]) -> None:
        """A function of C++ was called, and gave that back (guest/library.py)."""
        results: list[Any] = []
        for one in found:
            if isinstance(one, tuple):
                tensor, wire = one
                new = address(tensor) not in self.names
                self.made.add(address(tensor))
                made = wire.made if new and wire.made >= 0 else None
                results.append({"view": self.view(tensor), "made": made})
            else:
                results.append(None)
                if one is not None:
                    self.leave_out("a number that a function of C++ gives back")
        step = {"library": library, "function": function}
        self.steps.append({**step, "arguments": arguments, "results": results})

    def leave_out(self, what: str) -> None:
        self.left_out = self.left_out or what

    def written(self) -> dict[str, Any]:
        """The calls but for their code, as envs/plan/calls.py reads them."""
        return {
            "steps": self.steps,
            "buffers": self.buffers,
            "constants": self.constants,
            "record": {"inputs": self.inputs, "calls": self.calls, "tuned": self.tuned},
        }

    def _contiguous(self, output: torch.Tensor) -> torch.Tensor:
        if output.is_contiguous():
            return output
        made = torch.empty(output.shape, dtype=output.dtype)
        self.made.add(address(made))
        self.copied(output, made, "an output that is not contiguous")
        return made


def address(tensor: torch.Tensor) -> int:
    """Where the memory begins that it is part of."""
    return tensor.untyped_storage().data_ptr()


def _bytes(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
