"""Libraries with CUDA in them where there is no device: what they launch goes onto a tape.

Their runtime (native/recording.cpp) tells each event when it happens, in the middle of a call; so
the tape has them in order, beside what PyTorch is asked to move.
"""

from __future__ import annotations

import ctypes
import json
from typing import Any

import torch

from kernelwright.envs.guest.fake_cuda import on_host
from kernelwright.envs.guest.launch_recorder import Tape
from kernelwright.envs.guest.load_inline import bound, light_extension, prebuilt

FIRST_NEW, NEW_BYTES = 0x7E00_0000_0000, 1 << 36
"""Where the device memory of the first library begins (native/recorder.h), and how much it has."""
_SINK = ctypes.CFUNCTYPE(None, ctypes.c_char_p)


class Recording:
    """What is launched while `tape` is a tape, by any of the libraries."""

    def __init__(self) -> None:
        self.tape: Tape | None = None
        self._kept: list[Any] = []

    def addresses(self) -> dict[str, int]:
        """Tensor of the tape → where it lay."""
        assert self.tape is not None
        return {name: address for address, name in self.tape.names.items()}

    def loader(self, libraries: dict[str, Any]) -> Any:
        """What `load_inline` is: it gives the library that was built before."""
        others = prebuilt(libraries)

        def load(name: str, *given: Any, **named: Any) -> Any:
            found = libraries.get(name, {})
            if found.get("parameters") is None:
                return others(name, *given, **named)
            library = ctypes.CDLL(found["path"])
            self._listen(library, name, found["parameters"])
            return light_extension(library, found["functions"], self._bound)

        return load

    def _listen(self, library: ctypes.CDLL, code: str, parameters: str) -> None:
        def hear(line: bytes) -> None:
            if self.tape is not None:
                _put(self.tape, code, json.loads(line))

        first_new = ctypes.c_uint64(FIRST_NEW + len(self._kept) * NEW_BYTES)
        self._kept.append(_SINK(hear))
        library.kernelwright_record(self._kept[-1], first_new, parameters.encode())

    def _bound(self, function: Any, name: str, *first: bytes) -> Any:
        """The function, which is told of the tensors that it is given."""
        call = bound(function, name, *first)

        def recorded(*args: Any) -> Any:
            for one in args:
                for tensor in one if isinstance(one, list | tuple) else [one]:
                    if isinstance(tensor, torch.Tensor) and self.tape is not None:
                        _meet(self.tape, tensor)
            return call(*args)

        return recorded


def _meet(tape: Tape, tensor: torch.Tensor) -> None:
    """From here on the tape knows where it lies."""
    if on_host(tensor):
        tape.leave_out("a tensor on the host that a function of C++ is given")
    else:
        tape.place(tensor)


def _put(tape: Tape, code: str, event: dict[str, Any]) -> None:
    if "allocated" in event:
        tape.allocated(event["at"], event["allocated"])
    elif "on_host" in event:
        tape.on_host.add(event["on_host"])
    elif "left_out" in event:
        tape.leave_out(event["left_out"])
    else:
        tape.steps.append({"event": event, "code": code})
