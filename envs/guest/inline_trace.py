"""Records on the tape what the functions of an answer's own C++ libraries do.

One with CUDA in it has a runtime (native/recording.cpp) that tells each event when it happens, in
the middle of a call. One without is called, on invented numbers, and that call is the step. So
the tape has them in order, beside what PyTorch is asked to move.
"""

from __future__ import annotations

import ctypes
import json
from typing import Any

import torch

from kernelwright.envs.guest.fake_cuda import mark, on_host
from kernelwright.envs.guest.library import CPU, Library
from kernelwright.envs.guest.load_inline import arranged, key_of
from kernelwright.envs.guest.tape import Tape

FIRST_NEW, NEW_BYTES = 0x7E00_0000_0000, 1 << 36
"""Where the device memory of the first library begins (native/recorder.h), and how much it has."""
_SINK = ctypes.CFUNCTYPE(None, ctypes.c_char_p)


class Recording:
    """Records the calls of all libraries while `tape` is a tape."""

    def __init__(self, libraries: dict[str, Any]) -> None:
        self.tape: Tape | None = None
        self.libraries = libraries
        self.with_cuda = any(one["parameters"] is not None for one in libraries.values())
        self.reads_values = any(one["parameters"] is None for one in libraries.values())
        """Whether functions in C++ compute while they are traced."""
        self._kept: list[Any] = []

    def addresses(self) -> dict[str, int]:
        """Tensor of the tape → where it lay."""
        assert self.tape is not None
        return {name: address for address, name in self.tape.names.items()}

    def load_inline(self, *args: Any, **kwargs: Any) -> Extension:
        """The library that was built before."""
        key = key_of(arranged(args, kwargs))
        if key not in self.libraries:
            raise RuntimeError("load_inline was not called so when the answer was built")
        found = self.libraries[key]
        library = Library(found["path"], on_host if self.with_cuda else lambda _: True)
        if found["parameters"] is not None:
            self._listen(library, key, found["parameters"])
        return Extension(self, library, key, traced=found["parameters"] is not None)

    def _listen(self, library: Library, code: str, parameters: str) -> None:
        def hear(line: bytes) -> None:
            if self.tape is not None:
                _put(self.tape, code, json.loads(line))

        first_new = ctypes.c_uint64(FIRST_NEW + len(self._kept) * NEW_BYTES)
        self._kept.append(_SINK(hear))
        library.handle.kernelwright_record(self._kept[-1], first_new, parameters.encode())


class Extension:
    """A library as Python sees it: functions by their names."""

    def __init__(self, recording: Recording, library: Library, name: str, *, traced: bool) -> None:
        self._recording, self._library, self._name, self._traced = recording, library, name, traced

    def __getattr__(self, function: str) -> Any:
        if function.startswith("__"):
            raise AttributeError(function)

        def call(*given: Any, **named: Any) -> Any:
            ordered = self._library.ordered(function, given, named)
            found, is_sequence = self._called(function, ordered)
            plain = [one[0] if isinstance(one, tuple) else one for one in found]
            return plain if is_sequence else plain[0] if plain else None

        setattr(self, function, call)
        return call

    def _called(self, function: str, given: list[Any]) -> tuple[list[Any], bool]:
        tape = self._recording.tape
        if tape is None:
            return self._library.call(function, given)
        if self._traced:
            return self._on_device(tape, function, given)
        if self._recording.with_cuda:
            tape.leave_out("a function of C++ beside kernels")
        arguments = [tape.given(one) for one in given]
        found, is_sequence = self._library.call(function, given)
        tape.called(self._name, function, arguments, found)
        return found, is_sequence

    def _on_device(self, tape: Tape, function: str, given: list[Any]) -> tuple[list[Any], bool]:
        for one in given:
            for tensor in one if isinstance(one, list | tuple) else [one]:
                if isinstance(tensor, torch.Tensor):
                    _meet(tape, tensor)
        found, is_sequence = self._library.call(function, given)
        for one in found:
            if isinstance(one, tuple) and one[1].device == CPU:
                mark(one[0])
        return found, is_sequence


def _meet(tape: Tape, tensor: torch.Tensor) -> None:
    """From here on the tape knows where it lies."""
    if on_host(tensor) and not tape.is_older(tensor):
        tape.leave_out("a tensor on the host that a function of C++ is given")
    elif not on_host(tensor):
        tape.place(tensor)


def _put(tape: Tape, code: str, event: dict[str, Any]) -> None:
    if "allocated" in event:
        tape.allocated(event["at"], event["allocated"])
    elif "on_host" in event:
        tape.on_host.add(event["on_host"])
    elif "read" in event:
        if tape.names.get(event["read"]) not in tape.constants:
            tape.leave_out("a value of a tensor that C++ reads")
    elif "left_out" in event:
        tape.leave_out(event["left_out"])
    else:
        tape.steps.append({"event": event, "code": code})
