"""The trusted process that replays a plan on a GPU, with its own buffers, launches, events and
clock.

An answer's host code is not in it, and its device code reaches no memory but this process's: inputs
that came a moment ago, poisoned outputs, and what the plan allocates. What is expected is not here.
It speaks the protocol of candidates ('P' says what to run, 'G' runs it once) and adds to 'D' how
long the device took, in nanoseconds. 'E' is answered with how long a step without work takes it,
'T' asks for rounds by CUDA graphs, or not, and is answered with whether they are.

    python -m kernelwright.envs.device.process LIBRARY

The socket of the referee is its standard input.
"""

from __future__ import annotations

import base64
import ctypes
import json
import mmap
import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, TypeAlias

from kernelwright.envs.device.driver import OUT_OF_MEMORY as CUDA_OUT_OF_MEMORY
from kernelwright.envs.device.driver import Driver, DriverError
from kernelwright.envs.device.flush import FLUSH_FACTOR, FLUSHES
from kernelwright.envs.device.graphs import Graph, recorded
from kernelwright.envs.device.memory import RESERVED_BYTES, loaded_bytes, taken_bytes
from kernelwright.envs.referee.exit_codes import (
    DEVICE_FULL,
    DEVICE_LOST,
    DEVICE_TOO_SMALL,
    ILLEGAL_ADDRESS,
    INPUTS_CHANGED,
    LAUNCH_FAILED,
    NO_PLAN,
    OUT_OF_BOUNDS,
    OUT_OF_MEMORY,
    RESULT_REUSED,
)
from kernelwright.envs.referee.layout import GUARD_BYTES, GUARDS, NONCE_BYTES, NS_BYTES, POISON
from kernelwright.envs.system.memfd import Mapped, mapped

MESSAGE_BYTES = 1 << 12
PIECE_BYTES = 64 << 20
"""What is compared or downloaded at once."""
Reader: TypeAlias = Callable[[int, int], bytes]
"""(where to begin, how many bytes) → the bytes."""
OURS = frozenset(
    """
    CUDA_ERROR_ECC_UNCORRECTABLE CUDA_ERROR_DEVICE_UNAVAILABLE CUDA_ERROR_SYSTEM_NOT_READY
    CUDA_ERROR_NVLINK_UNCORRECTABLE CUDA_ERROR_CONTAINED CUDA_ERROR_UNSUPPORTED_PTX_VERSION
    CUDA_ERROR_INVALID_IMAGE CUDA_ERROR_NO_BINARY_FOR_GPU
    """.split()  # noqa: SIM905
)
"""What no kernel can bring about; binaries are our assembler's."""
RECORDING = "CUDA_ERROR_STREAM_CAPTURE"
"""How errors begin that only a recording of ours can bring about."""
ILLEGAL = frozenset(
    """
    CUDA_ERROR_ILLEGAL_ADDRESS CUDA_ERROR_MISALIGNED_ADDRESS CUDA_ERROR_INVALID_ADDRESS_SPACE
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Called:
    """The actions of one call, and its results: region, offset, bytes, and their place among the
    outputs."""

    run: list[Callable[[], None]] = field(default_factory=list)
    results: list[list[Any]] = field(default_factory=list)


class Replayer:
    """Runs one plan again and again, each time on other inputs."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.flush_bytes = FLUSH_FACTOR * driver.l2_bytes
        self.flush_at = driver.allocate(self.flush_bytes)
        self.most_bytes = driver.total_bytes() - RESERVED_BYTES
        self.modules: dict[str, Any] = {}
        self.code_bytes = 0
        """Of all modules."""
        self.local_bytes = 0
        """Of the kernel with most local memory."""
        self.regions: dict[str, tuple[int, int]] = {}
        """Name → (address, bytes); a guard lies behind each."""
        self.variables: dict[str, int] = {}
        """Where those of the device code lie."""
        self.contents: dict[str, bytes] = {}
        """What is in a buffer before the first round."""
        self.kept: set[str] = set()
        """Where a round finds what the one before has left."""
        self.bare = False
        """Whether regions are without guards and poison, which a sanitizer would take for memory of
        the answer's, and for set."""
        self.guards: dict[str, bytes] = {}
        """By region, every byte behind it."""
        self.inputs: list[list[Any]] = []
        """Regions for inputs: where each of them begins in a round's file, and how long it is."""
        self.first: Called | None = None
        """What is played in place of `later` when it is the first time."""
        self.later = Called()
        self.graph: Graph | None = None
        """Of the steps of `later`, where rounds are timed so."""
        self.nothing: Graph | None = None
        """Of no step: what an empty step is then."""
        self.watched: list[list[Any]] = []
        """Results of the first call, their copies, and how many bytes they have."""

    def prepare(self, told: dict[str, Any]) -> None:
        """What rounds run from now on, step by step."""
        self.time_by(graphs=False)
        for at, _ in self.regions.values():
            self.driver.free(at)
        new = {
            code: base64.b64decode(binary)
            for code, binary in told["modules"].items()
            if code not in self.modules
        }
        self.bare, self.inputs = told["bare"], told["inputs"]
        self.code_bytes += sum(map(loaded_bytes, new.values()))
        self._refuse_too_large(told)
        self.regions = self._allocated(told["regions"]) | self._allocated(told["buffers"])
        self.modules |= {code: self.driver.module(binary) for code, binary in new.items()}
        self.variables = {
            name: self.driver.variable(self.modules[code], symbol)
            for name, (code, symbol) in told["variables"].items()
        }
        self.contents = {
            name: base64.b64decode(content) for name, content in told["contents"].items()
        }
        self.kept, self.watched = set(told["kept"]), told["watched"]
        for name in self.kept:
            self._reset(name, self.contents.get(name))
        self.first = self._called(told["first"]) if told["first"] else None
        self.later = self._called(told["later"])
        self._refuse_too_large(told)

    def _refuse_too_large(self, told: dict[str, Any]) -> None:
        """Leaves where this would not fit on the device if nobody else were on it.

        So an answer's verdict does not depend on who is: what fits and finds no room is waited for.
        The problem's tensors are there twice: its own module is timed in turns with the answer.
        """
        ours = 2 * _size_bytes(told["regions"])
        needed = ours + _size_bytes(told["buffers"]) + self.code_bytes + self.local_bytes
        there = f"of the device's memory {self.most_bytes >> 20} MB are for an answer"
        if ours > self.most_bytes:
            leave(DEVICE_TOO_SMALL, f"{there}, its problem's tensors take {ours >> 20} MB")
        if needed > self.most_bytes:
            leave(OUT_OF_MEMORY, f"{there}, it asks for {needed >> 20} MB")

    def _allocated(self, sizes: dict[str, int]) -> dict[str, tuple[int, int]]:
        return {
            name: (self.driver.allocate(size + GUARD_BYTES * (not self.bare)), size)
            for name, size in sizes.items()
        }

    def round(self, inputs: Mapped, outputs: Mapped) -> int:
        """Device time of one run in nanoseconds; its results are in `outputs`."""
        given = {name: _part(inputs, start, size) for name, start, size in self.inputs}
        for name in self.regions.keys() - self.kept:
            self._reset(name, given.get(name, self.contents.get(name)))
        called, self.first = self.first or self.later, None
        graph = self.graph if called is self.later else None
        duration_ns = self._marked_ns([graph.launch] if graph else called.run)
        self._look_at_guards(given)
        for name, offset, size, place in called.results:
            there = _reader(self.driver.download, self.regions[name][0] + offset)
            # By way of memory of our own: a driver that held a page of the file would keep the
            # referee from sealing it.
            for start, piece in _pieces(size):
                to = ctypes.addressof(outputs) + place + start
                ctypes.memmove(to, there(start, piece), piece)
        self._look_again()
        return duration_ns

    def time_by(self, *, graphs: bool) -> bool:
        """Whether rounds of this plan are launches of a CUDA graph from now on, as an empty step is
        of one without work. Where that is not wanted, or cannot be, each step is launched."""
        self.graph = self.nothing = None
        try:
            if graphs:
                nothing, graph = self._recorded([]), self._recorded(self.later.run)
                nothing.launch()
                self.driver.wait()
                self.nothing, self.graph = nothing, graph
        except DriverError as error:
            print(f"no CUDA graph: {error}", file=sys.stderr, flush=True)
        return self.graph is not None

    def _recorded(self, steps: Sequence[Callable[[], None]]) -> Graph:
        def launches() -> None:
            for step in steps:
                step()

        return recorded(self.driver, self.driver.stream, launches)

    def _look_again(self) -> None:
        """No call may change what the first gave back: who called still has it."""
        for at, copied, size in self.watched:
            places = self._address(at), self._address(copied)
            if not _same(size, *(_reader(self.driver.download, one) for one in places)):
                leave(RESULT_REUSED, "a later call changed what the first gave back")

    def _called(self, told: dict[str, Any]) -> Called:
        return Called([self._step(one) for one in told["steps"]], told["results"])

    def empty_ns(self) -> int:
        """Device time between marks around nothing, after what comes before a run too."""
        return self._marked_ns([self.nothing.launch] if self.nothing else [])

    def _marked_ns(self, steps: Sequence[Callable[[], None]]) -> int:
        self.driver.reset_persisting()
        self.driver.wait()
        for _ in range(FLUSHES):
            self.driver.fill(self.flush_at, b"\0", self.flush_bytes)
        self.driver.mark(0)
        for step in steps:
            step()
        self.driver.mark(1)
        self.driver.wait()
        return self.driver.between_marks_ns()

    def _reset(self, name: str, content: bytes | Mapped | None) -> None:
        """A region has this in it, or poison; behind it lies one of GUARDS."""
        at, size = self.regions[name]
        if not self.bare:
            self.guards[name] = bytes([secrets.choice(GUARDS)])
            self.driver.fill(at, bytes([POISON]), size + GUARD_BYTES)
            self.driver.fill(at + size, self.guards[name], GUARD_BYTES)
        if content is not None:
            self.driver.wait()  # the upload is not in our stream, and could overtake the poison
            self.driver.upload(content, at, size)

    def _look_at_guards(self, given: dict[str, Mapped]) -> None:
        for name, (at, size) in () if self.bare else self.regions.items():
            if self.driver.download(at + size, GUARD_BYTES) != self.guards[name] * GUARD_BYTES:
                leave(OUT_OF_BOUNDS, f"something was written behind {name}")
        for name, content in given.items():
            there = _reader(self.driver.download, self.regions[name][0])
            if not _same(len(content), there, _reader(ctypes.string_at, ctypes.addressof(content))):
                leave(INPUTS_CHANGED, "an input was written")

    def _step(self, told: dict[str, Any]) -> Callable[[], None]:
        driver = self.driver
        if "fill" in told:
            pattern = bytes.fromhex(told["fill"])
            return partial(driver.fill, self._address(told["at"]), pattern, told["bytes"])
        if "source" in told:
            places = self._address(told["source"]), self._address(told["to"])
            return partial(driver.copy, *places, told["bytes"])
        module = self.modules[told["code"]]
        function = driver.function(module, told["kernel"], told["shared_bytes"])
        self.local_bytes = max(self.local_bytes, driver.local_bytes(function))
        arguments = [self._argument(one) for one in told["arguments"]]
        shape = told["grid"], told["block"], told["shared_bytes"], told["cluster"]
        return partial(driver.launch, driver.prepared(function, *shape, arguments))

    def _argument(self, told: Any) -> bytes:
        if isinstance(told, str):
            return bytes.fromhex(told)
        if isinstance(told, list):
            return self._address(told).to_bytes(8, "little")
        content = bytearray.fromhex(told["bytes"])
        for at, place in told["pointers"]:
            content[at : at + 8] = self._address(place).to_bytes(8, "little")
        return bytes(content)

    def _address(self, place: list[Any]) -> int:
        name, offset = place
        start = self.variables[name] if name in self.variables else self.regions[name][0]
        return start + int(offset)


def _size_bytes(sizes: dict[str, int]) -> int:
    """Of regions with their guards, as the driver takes memory for them."""
    return sum(taken_bytes(size + GUARD_BYTES) for size in sizes.values())


def _part(whole: Mapped, start: int, size_bytes: int) -> Mapped:
    """Some bytes of a file, where they are."""
    return (ctypes.c_char * size_bytes).from_buffer(whole, start)


def _reader(read: Callable[[int, int], bytes], at: int) -> Reader:
    """Reads memory from this address on."""
    return lambda start, size: read(at + start, size)


def _same(size_bytes: int, one: Reader, other: Reader) -> bool:
    """Whether both read the same."""
    return all(one(*piece) == other(*piece) for piece in _pieces(size_bytes))


def _pieces(size_bytes: int) -> Iterator[tuple[int, int]]:
    """(start, bytes) of each part of something that may have gigabytes."""
    for start in range(0, size_bytes, PIECE_BYTES):
        yield start, min(PIECE_BYTES, size_bytes - start)


def serve(channel: socket.socket, replayer: Replayer) -> None:
    """Answers the referee until it hangs up."""
    while True:
        message, files, _, _ = socket.recv_fds(channel, MESSAGE_BYTES, 2)
        if not message:
            return
        kind, said = _answered(replayer, message, files)
        channel.send(kind + message[1 : 1 + NONCE_BYTES] + said)


def _answered(replayer: Replayer, message: bytes, files: list[int]) -> tuple[bytes, bytes]:
    """(the answer's letter, what is behind its nonce). Nothing of the files is mapped any more."""
    kind = message[:1]
    if kind == b"E":
        return kind, replayer.empty_ns().to_bytes(NS_BYTES, "little")
    if kind == b"T":
        return kind, bytes([replayer.time_by(graphs=message[1 + NONCE_BYTES :] == b"\1")])
    if kind == b"P":
        _prepare(replayer, bytes(_map(files[0], writable=False)))
        return kind, b""
    inputs, outputs = (_map(one, writable=number == 1) for number, one in enumerate(files))
    return b"D", replayer.round(inputs, outputs).to_bytes(NS_BYTES, "little")


def _prepare(replayer: Replayer, message: bytes) -> None:
    """A plan was written beside an answer: that it makes no sense is no fault of the device's."""
    try:
        replayer.prepare(json.loads(message))
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        leave(NO_PLAN, f"{type(error).__name__}: {error}")


def _map(descriptor: int, *, writable: bool) -> Mapped:
    protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
    found = mapped(descriptor, protection)
    os.close(descriptor)
    return found


def exit_code(name: str) -> int:
    """What the process ends with when a call fails for this reason."""
    if name == CUDA_OUT_OF_MEMORY:  # what would never fit was refused before
        return DEVICE_FULL
    if name in OURS or name.startswith(RECORDING):
        return DEVICE_LOST
    return ILLEGAL_ADDRESS if name in ILLEGAL else LAUNCH_FAILED


def leave(code: int, why: str) -> NoReturn:
    """At once: after a fault of the device nothing of it can be put in order."""
    print(why, file=sys.stderr, flush=True)
    os._exit(code)


def main() -> None:
    channel = socket.socket(fileno=sys.stdin.fileno())
    try:
        replayer = Replayer(Driver(sys.argv[1]))
    except (DriverError, OSError) as error:
        full = isinstance(error, DriverError) and error.name == CUDA_OUT_OF_MEMORY
        leave(DEVICE_FULL if full else DEVICE_LOST, str(error))
    channel.send(b"R" + bytes(NONCE_BYTES))
    try:
        serve(channel, replayer)
    except DriverError as error:
        leave(exit_code(error.name), str(error))


if __name__ == "__main__":
    main()
