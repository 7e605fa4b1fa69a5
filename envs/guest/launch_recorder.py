"""Writes down what an answer asks of a device that there is not (envs/replay/plan.py).

Tensors are real and lie in ordinary memory; kernels are not run, so nothing that depends on what
they would have computed can be written down. `left_out` is then the first thing that was not.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.envs.guest.movement_ops import COMPOSED, MOVES

INTEGER_BYTES = {"1": 1, "8": 1, "16": 2, "32": 4, "64": 8}
FLOAT_FORMATS = {"fp16": "<e", "fp64": "<d"}
UNIFORM = frozenset(
    """
    fill_ full full_like lift_fresh new_full new_ones new_zeros ones ones_like scalar_tensor zero_
    zeros zeros_like
    """.split()  # noqa: SIM905
)
"""Operators of PyTorch that write one value everywhere, or what Python says."""
COPIES = frozenset(("clone", "contiguous", "copy_", "_to_copy"))
LOST = frozenset(("arange", "_local_scalar_dense"))
"""What makes or reads values that no step of a plan does."""
FILL_BYTES = (1, 2, 4)
SPECIAL = ("global_scratch_size", "profile_scratch_size", "launch_cooperative_grid", "launch_pdl")
"""What Triton's launcher does more than launch, where a kernel's metadata say so."""
NO_SCRATCH = [bytes(8).hex()] * 2
"""Every kernel of Triton's has two parameters of its own behind the answer's: where its scratch
memory and its profiler's lie. Triton's launcher gives null where it wants none."""


class Tape:
    """The steps of one call. Places are (name, bytes into it); every tensor met stays alive."""

    def __init__(self, named: dict[str, torch.Tensor]) -> None:
        self.names = {_address(one): name for name, one in named.items()}
        self.buffers: dict[str, int] = {}
        self.steps: list[dict[str, Any]] = []
        self.left_out: str | None = None
        self.on_host: set[int] = set()
        """Where tensors lie that a library made on the host."""
        self.made: set[int] = set()
        """Where tensors lie that PyTorch made in these calls."""
        self.before: dict[str, Any] = {"steps": 0, "buffers": 0, "left_out": None}
        """Of the first call."""
        self._kept: list[torch.Tensor] = list(named.values())

    def begin(self) -> None:
        """The second call begins."""
        self.before = {
            "steps": len(self.steps),
            "buffers": len(self.buffers),
            "left_out": self.left_out,
        }
        self.left_out = None

    def zeros(self, tensor: torch.Tensor) -> None:
        """A tensor of nothing but zeros that was there before the calls."""
        self.made.add(_address(tensor))
        if tensor.nbytes:
            place = self.place(tensor)
            self.steps.append({"at": place, "fill": "00", "bytes": tensor.nbytes})

    def place(self, tensor: torch.Tensor) -> dict[str, Any]:
        address = _address(tensor)
        if address not in self.names:
            if address not in self.made:
                self.leave_out("a tensor from before the call")
            self.names[address] = f"new.{len(self.buffers)}"
            self.buffers[self.names[address]] = tensor.untyped_storage().nbytes()
            self._kept.append(tensor)
        offset = tensor.storage_offset() * tensor.element_size()
        return {"tensor": self.names[address], "offset": offset}

    def allocated(self, address: int, size_bytes: int) -> None:
        """Memory that a library took, and that nothing else will be given."""
        self.names[address] = f"new.{len(self.buffers)}"
        self.buffers[self.names[address]] = size_bytes

    def launch(
        self, metadata: Any, code: str, grid: list[int], types: list[Any], given: list[Any]
    ) -> None:
        """A kernel of Triton's: what is constant was compiled into it, and is no argument."""
        pairs = zip(types, given, strict=False)
        cluster, (x, y, z) = getattr(metadata, "num_ctas", 1), grid
        arguments = [self.argument(kind, one) for kind, one in pairs if kind != "constexpr"]
        step = {
            "kernel": metadata.name,
            "code": code,
            # A grid of Triton's counts clusters, the driver's blocks.
            "grid": [x * cluster, y, z],
            "block": [32 * metadata.num_warps, 1, 1],
            "shared_bytes": metadata.shared,
            "cluster": cluster,
            "arguments": [*arguments, *NO_SCRATCH],
        }
        if any(getattr(metadata, special, 0) for special in SPECIAL):
            self.leave_out("a kernel that wants scratch memory, or to be launched as one grid")
        self.steps.append(step)

    def argument(self, kind: Any, value: Any) -> Any:
        """The bytes of a value of this type of Triton's, in hexadecimal; or where a tensor lies."""
        if isinstance(value, torch.Tensor):
            return self.place(value)
        if kind in FLOAT_FORMATS:
            return struct.pack(FLOAT_FORMATS[kind], value).hex()
        if kind in ("fp32", "f32", "bf16"):  # as C does it: what is too large is infinite
            # bf16 is the upper half of a float32, cut off and not rounded, as in Triton's launcher.
            return bytes(ctypes.c_float(value))[2 if kind == "bf16" else 0 :].hex()
        if isinstance(kind, str) and kind[:1] in ("i", "u") and kind[1:] in INTEGER_BYTES:
            size = INTEGER_BYTES[kind[1:]]
            return (int(value) % (1 << 8 * size)).to_bytes(size, "little").hex()
        self.leave_out(f"an argument of type {kind}")
        return ""

    def filled(self, tensor: torch.Tensor, operator: str) -> None:
        """A tensor into which one value was written everywhere."""
        if tensor.numel() == 0 or _address(tensor) in self.on_host:
            return
        everything = tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        value = everything[: tensor.element_size()]
        # The driver fills with up to four bytes: zeros of eight are zeros of one.
        pattern = value[:1] if len(set(value)) == 1 else value
        plain = tensor.is_contiguous() and value * tensor.numel() == everything
        if not plain or len(pattern) not in FILL_BYTES:
            return self.leave_out(operator)
        place = self.place(tensor)
        self.steps.append({"at": place, "fill": pattern.hex(), "bytes": tensor.nbytes})

    def copied(self, source: torch.Tensor, to: torch.Tensor, operator: str) -> None:
        places = {_address(source), _address(to)}
        plain = source.is_contiguous() and to.is_contiguous() and source.dtype is to.dtype
        if not plain or source.shape != to.shape or places & self.on_host:
            return self.leave_out(operator)
        step = {"source": self.place(source), "to": self.place(to), "bytes": to.nbytes}
        self.steps.append(step)

    def leave_out(self, what: str) -> None:
        self.left_out = self.left_out or what

    def written(self, outputs: list[torch.Tensor]) -> dict[str, Any]:
        """The plan but for its code, as envs/replay/plan.py reads it."""
        places = [self.place(one) for one in outputs]
        if not all(one.is_contiguous() for one in outputs):
            self.leave_out("an output that is not contiguous")
        return {
            "steps": self.steps,
            "buffers": self.buffers,
            "outputs": places,
            "left_out": self.left_out,
            "before": self.before,
        }


def _address(tensor: torch.Tensor) -> int:
    """Where the memory begins that it is part of."""
    return tensor.untyped_storage().data_ptr()


class Moves(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Within it what PyTorch moves is written to the tape; what only makes or views, is not."""

    def __init__(self, tape: Tape) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tape = tape

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: it would import torch's compiler, which takes longer than all the rest."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = func.overloadpacket.__name__
        if name in COMPOSED:  # asked again as what it is composed of
            with self:
                return func.decompose(*args, **(kwargs or {}))
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.tape.made.add(_address(result))
        if name in UNIFORM:
            self.tape.filled(result, name)
        elif name in COPIES:
            source = args[1] if name == "copy_" else args[0]
            if _address(source) != _address(result):
                self.tape.copied(source, result, name)
        elif name in LOST or name not in MOVES:
            self.tape.leave_out(name)
        return result
