"""A Python that has imported torch, as a zygote: each job is a clone of it, hardened.

main.main(PYJAIL, CONTROL)     (inside bubblewrap; see envs/sandbox/rootfs.py)
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import sys
import traceback
import warnings
from types import ModuleType
from typing import Any

import torch
import torch.utils.cpp_extension

from kernelwright.envs.guest.compute_guard import (
    INFERENCE,
    NOT_LOADABLE,
    forbid_compute,
    leave,
    only_moves,
    without_guards,
)
from kernelwright.envs.guest.load_inline import Recorder, prebuilt
from kernelwright.envs.guest.rounds import Rounds, invented, plain

CHANNEL = 3


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
    without_guards()
    module = load_candidate()
    if not hasattr(module, "ModelNew"):
        leave(NOT_LOADABLE, "the answer defines no class ModelNew")
    return module.ModelNew


def record(words: list[str]) -> None:
    """Writes the answer's calls of `load_inline` to the channel; with CUDA in them the answer finds
    a device."""
    from kernelwright.envs.guest.fake_cuda import pretend

    init, with_cuda = map(json.loads, words)
    if with_cuda:
        pretend()
    torch.utils.cpp_extension.load_inline = recorder = Recorder()
    model_class()(*plain(init))
    with os.fdopen(CHANNEL, "w") as file:
        json.dump(recorder.calls, file)


def trace(words: list[str]) -> None:
    """Writes what the answer asks of such a device in each case, and its kernels."""
    from kernelwright.envs.guest.fake_cuda import as_on_device
    from kernelwright.envs.guest.triton_trace import compiled_kernels, without_device

    layouts, device = scratch("layouts.json"), without_device(int(words[0]))
    made = as_on_device(model_class())
    # A module of its own for each case: what one has kept of an earlier call is of no other.
    plans = [call_on(device, Rounds(made, CHANNEL), layout) for layout in layouts]
    with os.fdopen(CHANNEL, "w") as file:
        json.dump({"plans": plans, "kernels": compiled_kernels()}, file)


def launches(words: list[str]) -> None:
    """Writes what the answer's libraries ask of a device in one case, and where its tensors lay."""
    from kernelwright.envs.guest.fake_cuda import as_on_device, pretend
    from kernelwright.envs.guest.inline_trace import Recording

    pretend()
    recording, layout = Recording(), scratch("layout.json")
    torch.utils.cpp_extension.load_inline = recording.loader(scratch("libraries.json"))
    plan = call_on(recording, Rounds(as_on_device(model_class()), CHANNEL), layout)
    with os.fdopen(CHANNEL, "w") as file:
        json.dump({**plan, "addresses": recording.addresses()}, file)


def call_on(device: Any, rounds: Rounds, layout: dict[str, Any]) -> dict[str, Any]:
    """What two calls in this layout ask of the device, as the tape has it. The first is on inputs
    of its own: what the second then returns of the first's is not what the second was asked."""
    from kernelwright.envs.guest.launch_recorder import Moves, Tape

    tensors, earlier = ([invented(one) for one in layout["inputs"]] for _ in range(2))
    first_of_state = len(tensors) - len(layout["state"])
    rounds.prepare(layout)
    device.tape = tape = Tape(dict(zip(layout["names"], tensors, strict=True)))
    for tensor in earlier[:first_of_state]:
        tape.zeros(tensor)
    with INFERENCE(), only_moves(), Moves(tape):
        rounds.forward(*rounds.arranged([*earlier[:first_of_state], *tensors[first_of_state:]]))
        tape.begin()
        outputs = rounds.forward(*rounds.arranged(tensors))
    plan: dict[str, Any] = tape.written(outputs)
    return plan


def play(words: list[str]) -> None:
    """Loads the answer with its prebuilt libraries and answers the referee until it hangs up."""
    torch.utils.cpp_extension.load_inline = prebuilt(json.loads(words[0]))
    Rounds(model_class(), CHANNEL).serve()


def start(mode: bytes, words: Any, length: int) -> None:
    """In the job's process, hardened: does what the mode says, and never returns."""
    # The jail cloned us and Python was not told: what it knows of threads is the parent's.
    ctypes.pythonapi.PyOS_AfterFork_Child()
    arguments = ctypes.string_at(words, length).decode().split("\0")[:-1]
    try:
        {"record": record, "trace": trace, "launches": launches, "play": play}[mode.decode()](
            arguments
        )
    except BaseException:  # noqa: BLE001  the named boundary: an answer's own code ran
        traceback.print_exc()
        leave(1)
    leave(0)


def main(library: str, control: int) -> None:
    warnings.filterwarnings("ignore", message="The given buffer is not writable")
    torch.set_num_threads(1)
    with torch.inference_mode():  # what PyTorch does once, it does here for all jobs
        torch.nn.functional.linear(torch.ones(2, 2), torch.ones(2, 2))
    warnings.filterwarnings("ignore", message="Warning only once for all operators")
    forbid_compute()
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    # Global: a traced library is not linked against torch, and finds its C interface here.
    ctypes.CDLL(os.path.join(folder, "libtorch_cpu.so"), mode=ctypes.RTLD_GLOBAL)
    # No char pointer for the words: ctypes would end it at the first NUL in them.
    kind = ctypes.PYFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int)
    callback = kind(start)
    # PyDLL keeps the GIL during the call: the one thread of a clone is the one that holds it.
    ctypes.PyDLL(library).kernelwright_serve(control, callback)
