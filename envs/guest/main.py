"""The Python zygote: a process that has imported torch; each job is a clone of it, hardened.

main.main(PYJAIL, CONTROL)     (inside bubblewrap; see envs/sandbox/rootfs.py)
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import math
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

import torch
import torch.utils.cpp_extension

from kernelwright.envs.guest.large import LARGE_BYTES
from kernelwright.envs.guest.leave import NOT_LOADABLE, leave
from kernelwright.envs.guest.limits import as_written
from kernelwright.envs.guest.load_inline import Recorder, give
from kernelwright.envs.guest.rounds import LimitError, Rounds, changed, invented

CHANNEL = 3
TUNING_S = 30.0
"""Other configurations of autotuned kernels are traced for no longer."""


def load_candidate() -> ModuleType:
    """The answer as a module of its own, from a real file: Triton reads the source of kernels."""
    spec = importlib.util.spec_from_file_location("candidate", "/scratch/candidate.py")
    if spec is None or spec.loader is None:
        raise ImportError("candidate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["candidate"] = module
    spec.loader.exec_module(module)
    return module


def scratch(name: str) -> Any:
    """What a file of the job says, read before the answer could write it."""
    with open(os.path.join("/scratch", name)) as file:
        return json.load(file)


def model_class() -> Any:
    """The answer's `ModelNew`."""
    module = load_candidate()
    if not hasattr(module, "ModelNew"):
        leave(NOT_LOADABLE, "the answer defines no class ModelNew")
    return module.ModelNew


def record(words: list[str]) -> None:
    """Writes the answer's calls of `load_inline` to the channel; with CUDA in them the answer finds
    a device with these properties."""
    from kernelwright.envs.guest.fake_cuda import Properties, pretend

    if words[0]:
        pretend(Properties(**json.loads(words[0])))
    recorder = Recorder()
    give(recorder)
    layout, rounds = scratch("layout.json"), Rounds(model_class())
    rounds.make(layout)
    # Some build when they are called. What others do then needs no memory of this process.
    if not (recorder.calls and is_large_case(layout)):
        with suppress(BaseException), torch.inference_mode():
            tensors = [invented(one, with_values=True) for one in layout["inputs"]]
            _, given, named = rounds.arranged(tensors)
            rounds.model(*given, **named)
    with os.fdopen(CHANNEL, "w") as file:
        json.dump(recorder.calls, file)


def trace(words: list[str]) -> None:
    """Writes what an answer in Triton asks of a device with these properties in each case, and its
    kernels, for the architecture of the third word; with a second word PyTorch may compute. The
    same with at most so many other configurations of autotuned kernels as the fourth word says."""
    from kernelwright.envs.guest.fake_cuda import Properties, as_on_device
    from kernelwright.envs.guest.triton_trace import compiled_kernels, without_device

    properties = Properties(**json.loads(words[0]))
    layouts, device = scratch("layouts.json"), without_device(int(words[2]), properties)
    made = as_on_device(model_class())

    def plans() -> list[Any]:
        # A module of its own for each case: what one has kept of an earlier call is of no other.
        found: list[Any] = [None] * len(layouts)
        # The smallest first, where what an autotuner launches before it has chosen is played, too.
        for number, layout in sorted(enumerate(layouts), key=lambda one: (size_of(one[1]), one[0])):
            device.writes_trials = all(one is None for one in found)
            found[number] = call_on(device, Rounds(made), layout, torch_allowed=bool(words[1]))
        return found

    first, others, ends = plans(), [], time.monotonic() + TUNING_S
    with suppress(Exception):  # one of them fails: the first is an answer all the same
        for passed in range(1, min(device.tuning.most, 1 + int(words[3]))):
            if time.monotonic() > ends:
                break
            device.tuning.again(passed)
            others.append(plans())
    with os.fdopen(CHANNEL, "w") as file:
        json.dump({"plans": first, "others": others, "kernels": compiled_kernels()}, file)


def size_of(layout: dict[str, Any]) -> int:
    """The elements of all tensors of a case."""
    return sum(math.prod(one["shape"]) for one in (*layout["inputs"], *layout["outputs"]))


def is_large_case(layout: dict[str, Any]) -> bool:
    """Whether a tensor of it may have as much as those that are not given values."""
    tensors = (*layout["inputs"], *layout["outputs"])
    sizes = (getattr(torch, one["dtype"]).itemsize * math.prod(one["shape"]) for one in tensors)
    return any(size >= LARGE_BYTES for size in sizes)


def launches(words: list[str]) -> None:
    """Writes what an answer asks of its libraries in each case, and where its tensors lay; with
    CUDA in them it finds a device with these properties. With a second word PyTorch may compute."""
    from kernelwright.envs.guest.fake_cuda import Properties, as_on_device, pretend
    from kernelwright.envs.guest.inline_trace import Recording

    recording, layouts = Recording(scratch("libraries.json")), scratch("layouts.json")
    if recording.with_cuda:
        pretend(Properties(**json.loads(words[0])))
    give(recording.load_inline)
    made = as_on_device(model_class()) if recording.with_cuda else model_class()

    def called(layout: dict[str, Any]) -> dict[str, Any]:
        found = call_on(recording, Rounds(made), layout, torch_allowed=bool(words[1]))
        return found | {"addresses": recording.addresses()}

    plans = [apart(partial(called, layout)) for layout in layouts]
    with os.fdopen(CHANNEL, "w") as file:
        json.dump(plans, file)


def apart(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What it gives in a process of its own, with which this one ends where that does not come to
    its end: what a library keeps in static variables of one case is of no other."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(writer, "w") as file:
            json.dump(work(), file)
        leave(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        written = file.read()
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended < 0:
        os.kill(os.getpid(), -ended)
    if ended:
        leave(ended)
    found: dict[str, Any] = json.loads(written)
    return found


def call_on(
    device: Any, rounds: Rounds, layout: dict[str, Any], *, torch_allowed: bool
) -> dict[str, Any]:
    """What three calls in this layout ask of the device, as the tape has it. The first is on inputs
    of its own: what a later one then returns of the first's is not what it was asked. The last is
    on those of the second, which have other values by then, as parameters have each time."""
    from kernelwright.envs.guest.graphs import Graph
    from kernelwright.envs.guest.moves import Moves
    from kernelwright.envs.guest.tape import Tape

    valued = device.reads_values or torch_allowed
    tensors, earlier = (
        [invented(one, with_values=valued) for one in layout["inputs"]] for _ in range(2)
    )
    first_of_state = len(tensors) - len(layout["state"])
    firsts = [*earlier[:first_of_state], *tensors[first_of_state:]]
    device.tape = Graph.tape = None
    rounds.prepare(layout)
    device.tape = tape = Tape(dict(zip(layout["names"], tensors, strict=True)))
    for name, tensor in zip(layout["names"], earlier[:first_of_state], strict=False):
        tape.given_before(name, tensor)
    Graph.tape = tape
    calls = (firsts, tensors, tensors)
    for given in calls:
        moves = Moves(tape, torch_allowed=torch_allowed, with_values=valued)
        with torch.inference_mode(), moves:
            try:
                tape.ended(rounds.forward(*rounds.arranged(given)))
            except LimitError as limit:  # no later call is any better
                while len(tape.calls) < len(calls):
                    tape.leave_out(str(limit))
                    tape.ended([])
                break
        changed(given)
    return tape.written()


def start(mode: bytes, words: Any, length: int) -> None:
    """In the job's process, hardened: does what the mode says, and never returns."""
    # The jail cloned us and Python was not told: what it knows of threads is the parent's. Before
    # and after come as a pair: since 3.13 the second ends the process where locks are not held.
    ctypes.pythonapi.PyOS_BeforeFork()
    ctypes.pythonapi.PyOS_AfterFork_Child()
    arguments = ctypes.string_at(words, length).decode().split("\0")[:-1]
    try:
        {"record": record, "trace": trace, "launches": launches}[mode.decode()](arguments)
    except BaseException:  # noqa: BLE001  the named boundary: an answer's own code ran
        traceback.print_exc()
        leave(1)
    leave(0)


def main(library: str, control: int) -> None:
    warnings.filterwarnings("ignore", message="The given buffer is not writable")
    # Of a PyTorch for CUDA where the machine has a device that this process cannot see.
    warnings.filterwarnings("ignore", message="CUDA initialization:")
    torch.set_num_threads(1)
    as_written()
    with torch.inference_mode():  # what PyTorch does once, it does here for all jobs
        torch.nn.functional.linear(torch.ones(2, 2), torch.ones(2, 2))
    # No char pointer for the words: ctypes would end it at the first NUL in them.
    kind = ctypes.PYFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int)
    callback = kind(start)
    # PyDLL keeps the GIL during the call: the one thread of a clone is the one that holds it.
    ctypes.PyDLL(library).kernelwright_serve(control, callback)
