"""The trusted process that runs problems: draws inputs, computes what is expected, is the baseline.

No candidate ever enters it, and it decides nothing. It answers on one socket, in order: requests in
JSON (a method of `ReferenceServer` each), and timed rounds in the very protocol that candidates
speak (a nonce and two descriptors in, the nonce back when the work is done), with how long the
module took.

    python -m kernelwright.envs.reference.process SOCKET_FD
"""

from __future__ import annotations

import json
import math
import mmap
import os
import socket
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import torch

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.codec import from_plain, to_plain
from kernelwright.envs.memfd import Mapped, mapped, memfd
from kernelwright.envs.referee.layout import (
    GUARD_BYTES,
    LEFTOVERS,
    MESSAGE_BYTES,
    NONCE_BYTES,
    NS_BYTES,
    NUMPY_TYPES,
    input_places,
    offsets,
)
from kernelwright.envs.referee.tolerance import Array, Expected, overflowed
from kernelwright.envs.reference.admission import check_problem, fingerprint
from kernelwright.envs.reference.derive_tolerance import NUDGE, nudge
from kernelwright.envs.reference.distributions import judged_cases
from kernelwright.envs.reference.heap import Heap
from kernelwright.envs.reference.least_work import least_work
from kernelwright.envs.reference.module import (
    QUICK_NS,
    Given,
    ProblemError,
    Reference,
    array_of,
    flatten,
    forward,
    forward_float64,
    problem_lines,
    run,
    shapes_of,
    time_ns,
    works_in_place,
)
from kernelwright.envs.reference.near_ties import PICKS, NearTies
from kernelwright.envs.reference.on_meta import try_on_meta
from kernelwright.envs.reference.precision import require_precision, set_precision
from kernelwright.envs.reference.prepare import Ready, prepare
from kernelwright.envs.reference.tf32 import tf32_outputs, with_tf32
from kernelwright.envs.reference.torch_compile import compile_module
from kernelwright.envs.replay.device_memory import says_full
from kernelwright.envs.replay.torch_clock import DeviceClock
from kernelwright.envs.types import Precision, Problem, Tolerance

DEVICE = "cuda"
"""Where PyTorch finds the GPU; a stand-in for one is elsewhere."""


@dataclass(slots=True)
class Aimed:
    """A case's module that timed rounds run."""

    model: Any
    state: list[str]
    """Names of its parameters and buffers."""
    spec: CaseSpec
    in_place: bool
    quickest_ns: float = math.inf
    before: Given | None = None
    """What it was last played on, where it is quick."""

    def took_ns(self, given: Given) -> int:
        """How long it takes, once it is warm."""
        took_ns = time_ns(self.model, given, self.before, in_place=self.in_place)
        self.quickest_ns = min(self.quickest_ns, took_ns)
        self.before = given if self.quickest_ns < QUICK_NS else None
        return took_ns


class ReferenceServer:
    """State of the process: loaded problems, and the case that timed rounds run."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.heap = Heap()
        self.loaded: dict[str, list[Ready]] = {}
        self.precision = Precision.IEEE
        self.aims: dict[tuple[str, int, bool, bool], Aimed] = {}
        self.aimed: Aimed | None = None
        self.clock: DeviceClock | None = None
        """Where rounds run on the GPU: how they are timed."""
        self.device_clock: DeviceClock | None = None
        """The same, kept while rounds run elsewhere: it has the memory that empties the L2 cache.
        Until rounds first run on the GPU there is no CUDA context."""

    def serve(self) -> None:
        """Answers until the referee hangs up."""
        while True:
            message, files, _, _ = socket.recv_fds(self.channel, MESSAGE_BYTES, 2)
            if not message:
                return
            if message[:1] == b"G":
                said = self.run_round(*files).to_bytes(NS_BYTES, "little")
                self.channel.send(b"D" + message[1 : 1 + NONCE_BYTES] + said)
                continue
            request = json.loads(message)
            try:
                answer, sent = getattr(self, request.pop("op"))(**request)
            # The named boundary: a problem's own code ran, and may have called sys.exit.
            except (Exception, SystemExit) as error:  # noqa: BLE001
                answer, sent = _said(error), []
            if "device_full" in answer:
                give_back_device()
            socket.send_fds(self.channel, [json.dumps(answer).encode()], sent)
            for descriptor in sent:
                os.close(descriptor)

    def load(
        self, problem: dict[str, Any], precision: str = Precision.IEEE
    ) -> tuple[dict[str, Any], list[int]]:
        """The spec and the tolerances of every case. Rounds on a GPU have this precision."""
        self.precision = Precision(precision)
        self.loaded.clear()
        self.aims.clear()
        self.aimed = self.clock = self.device_clock = None
        self.heap.give_back()  # what the problem before it needed
        give_back_device()
        noun = from_plain(Problem, problem)
        cases = judged_cases(noun)
        ready = [prepare(noun, case, first=number == 0) for number, case in enumerate(cases)]
        if self.precision is Precision.TF32:
            ready = [with_tf32(noun, one) for one in ready]
        self.loaded = {noun.key: ready}
        self.heap.give_back()  # what preparing it needed: its rounds need less
        plain = {
            "specs": [to_plain(one.spec) for one in ready],
            "tolerances": [to_plain(one.tolerances) for one in ready],
            "spreads": [one.spreads for one in ready],
        }
        return plain, []

    def draw(self, key: str, case: int, seed: int) -> tuple[dict[str, Any], list[int]]:
        """Two files: the inputs as the ABI lays them out, and what is expected of the outputs."""
        ready = self.loaded[key][case]
        spec = ready.spec
        model, state, arguments = ready.reference.draw(seed)
        tensors = [one for one in arguments if isinstance(one, torch.Tensor)] + list(state.values())
        behind = LEFTOVERS[seed % len(LEFTOVERS)]
        inputs = _file([_raw(one) for one in tensors], *input_places(spec), behind)
        tf32 = self.precision is Precision.TF32
        rounded = tf32_outputs(model, state, arguments) if tf32 else []
        expected = _expected(model, state, arguments, ready, rounded)
        arrays = [array for choices in expected for array in choices]
        starts = [0, *accumulate(array.nbytes for array in arrays)]
        answers = _file([array.reshape(-1) for array in arrays], starts[:-1], starts[-1])
        self.heap.gather()
        return {"choices": [len(choices) for choices in expected]}, [inputs, answers]

    def aim(
        self, key: str, case: int, compiled: bool, on_device: bool
    ) -> tuple[dict[str, Any], list[int]]:
        """Makes this case's module the one that timed rounds run: as it is or compiled, on the
        GPU or here."""
        place = (key, case, compiled, on_device)
        if place not in self.aims:
            reference, spec = self.loaded[key][case].reference, self.loaded[key][case].spec
            model, state, arguments = reference.draw(0)
            in_place = works_in_place(model, state, arguments)
            if on_device:
                model = model.to(DEVICE)
                set_precision(self.precision)
                run(model, *_on_gpu(state, arguments))  # what cannot run there is refused here
                require_precision(self.precision)
            if compiled:
                drawn = partial(_drawn_on_gpu, reference, self.precision)
                compile_module(model, drawn if on_device else reference.draw)
            self.aims[place] = Aimed(model, list(state), spec, in_place)
        if on_device:
            self.device_clock = self.device_clock or DeviceClock()
        self.clock = self.device_clock if on_device else None
        self.aimed = self.aims[place]
        return {}, []

    def release(self) -> tuple[dict[str, Any], list[int]]:
        """Gives back what this process keeps of a GPU's memory, but for what its rounds need."""
        give_back_device()
        return {}, []

    def work(
        self, key: str, case: int, tolerances: list[dict[str, float]]
    ) -> tuple[dict[str, Any], list[int]]:
        """The least that a kernel has to do for this case."""
        allowed = [Tolerance(**one) for one in tolerances]
        return to_plain(least_work(self.loaded[key][case].reference, allowed)), []

    def shapes(self, problem: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        """What the module takes and gives, and is made with: all that a model is told of a run."""
        return to_plain(shapes_of(from_plain(Problem, problem))), []

    def on_meta(self, problem: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        """What each case takes."""
        noun = from_plain(Problem, problem)
        return {"cases": [to_plain(try_on_meta(noun, case)) for case in noun.cases]}, []

    def check(
        self, problem: dict[str, Any], dropped: list[str]
    ) -> tuple[dict[str, Any], list[int]]:
        """Which trivial answers it accepts, and a fingerprint of what it computes."""
        noun = from_plain(Problem, problem)
        found = check_problem(noun, dropped)
        return {"admission": to_plain(found), "function": fingerprint(noun)}, []

    def run_round(self, inputs: int, outputs: int) -> int:
        """PyTorch's forward, eager or compiled, on the file's tensors; its result is not needed.

        Returns the nanoseconds that it took, by the device's clock where there is one: the module
        called as a user calls it, without what a round costs by itself. 0: a GPU has no room now.
        """
        os.close(outputs)
        try:
            return self._timed(inputs)
        except RuntimeError as error:
            if not says_full(error):
                raise
        give_back_device()
        return 0

    def _timed(self, inputs: int) -> int:
        if self.aimed is None:
            raise ProblemError("a round before a case was aimed at")
        aimed, given = self.aimed, self._given(self.aimed, inputs)
        if self.clock is not None:
            set_precision(self.precision)  # another model that was made may have set its own
            return self.clock.time_ns(lambda: run(aimed.model, *given))
        return aimed.took_ns(given)

    def _given(self, aimed: Aimed, inputs: int) -> Given:
        """The file's tensors as the module's state and arguments."""
        spec = aimed.spec
        # Not read in before the clock: an answer reads its inputs in while it is timed.
        tensors = views(taken(inputs, mmap.PROT_READ, read_in=False), spec.inputs, GUARD_BYTES)
        if self.clock is not None:
            tensors = [one.to(DEVICE, copy=True) for one in tensors]
        first_state = len(tensors) - len(aimed.state)
        state = dict(zip(aimed.state, tensors[first_state:], strict=True))
        given, scalars = iter(tensors[:first_state]), dict(spec.scalars)
        arguments = [scalars[n] if n in scalars else next(given) for n in spec.arguments]
        return state, arguments


def give_back_device() -> None:
    """Gives freed memory of the GPU back, which PyTorch keeps else; it makes no CUDA context."""
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.empty_cache()


def _said(error: BaseException) -> dict[str, Any]:
    """The error in the words of who wrote the problem: with the line of its module."""
    if says_full(error):
        return {"device_full": f"the GPU has no room now: {error}"[:2000]}
    lines = problem_lines(traceback.extract_tb(error.__traceback__))
    line = lines[-1] if lines else None
    what = f"{error}" if isinstance(error, ProblemError) else f"{type(error).__name__}: {error}"
    where = f"line {line}: " if line else ""
    whole = f"{type(error).__name__}: {where}{error}"
    return {"error": whole[:2000], "what": what[:2000].removesuffix(": "), "line": line}


def taken(descriptor: int, protection: int, *, read_in: bool = True) -> Mapped:
    """The bytes of a file that was sent, and is closed."""
    mapping = mapped(descriptor, protection, read_in=read_in)
    os.close(descriptor)
    return mapping


def views(mapping: Mapped, specs: Sequence[TensorSpec], guard_bytes: int = 0) -> list[torch.Tensor]:
    """The tensors of a file."""
    places = offsets(specs, guard_bytes)[0]
    return [_view(mapping, one, place) for one, place in zip(specs, places, strict=True)]


def _view(mapping: Mapped, one: TensorSpec, place: int) -> torch.Tensor:
    """The tensor that lies there in the file."""
    dtype, count = getattr(torch, one.dtype), _count(one.shape)
    if count == 0:
        return torch.empty(one.shape, dtype=dtype)
    return torch.frombuffer(mapping, dtype=dtype, count=count, offset=place).reshape(one.shape)


def _expected(
    model: Any,
    state: dict[str, Any],
    arguments: list[Any],
    ready: Ready,
    rounded: Sequence[Sequence[Array]],
) -> list[list[Array]]:
    """For each output its acceptable values (`Expected` of envs/referee/tolerance.py).

    `rounded`: what else the module gives in a precision that is allowed.
    """
    kinds = [NUMPY_TYPES[one.dtype] for one in ready.spec.outputs]
    wide = [_array(one) for one in flatten(forward_float64(model, state, arguments))]
    own = [array_of(one.detach()) for one in flatten(forward(model, state, arguments))]
    if any(map(np.may_share_memory, wide, own)):  # the module keeps what it gives back
        own = [one.copy() for one in own]
        wide = [_array(one).copy() for one in flatten(forward_float64(model, state, arguments))]
    exact = [
        overflowed(one, kind) if kind.kind == "f" else one
        for one, kind in zip(wide, kinds, strict=True)
    ]
    whole = any(kind.kind != "f" for kind in kinds)
    nudged = []
    for pick in PICKS if whole else ():
        with NearTies(NUDGE, pick):
            found = forward_float64(model, state, nudge(arguments, NUDGE))
        nudged.append([_array(one) for one in flatten(found)])
    choices: list[list[Array]] = []
    for i, one in enumerate(own):
        if one.dtype.kind == "f":
            held = Expected.of([exact[i]], ready.tolerances[i], ready.spreads[i])
            other = [it for it in (one, *(run[i] for run in rounded)) if not held.accepts(it)]
            choices.append([exact[i], *(it.astype(np.float64) for it in other)])
        else:
            others = [exact[i], *(run[i] for run in (*nudged, *rounded))]
            choices.append([one, *(other.astype(one.dtype) for other in others)])
    return choices


def _array(tensor: torch.Tensor) -> Array:
    array = array_of(tensor.detach())
    return array.astype(np.float64, copy=False) if array.dtype.kind == "f" else array


def _raw(tensor: torch.Tensor) -> Array:
    """A tensor's elements, flat and without a copy where it is contiguous already."""
    dense = tensor.detach().contiguous()
    array: Array = (dense.view(torch.int16) if dense.dtype is torch.bfloat16 else dense).numpy()
    return array.reshape(-1)


def _file(arrays: list[Array], places: list[int], size: int, behind: int = 0) -> int:
    """A descriptor of an unnamed file with these arrays at these places, in bytes; and one value in
    the bytes behind each."""
    descriptor = memfd(b"")
    os.truncate(descriptor, max(size, 1))
    with mmap.mmap(descriptor, 0) as mapping:
        for array, place in zip(arrays, places, strict=True):
            whole = np.frombuffer(mapping, array.dtype, array.size, place)
            np.copyto(whole, array)
            del whole  # a view would keep the mapping open
        for array, place, after in zip(arrays, places, [*places[1:], size], strict=True):
            mapping[place + array.nbytes : after] = bytes([behind]) * (after - place - array.nbytes)
    return descriptor


def _on_gpu(state: dict[str, Any], arguments: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    moved = [one.to(DEVICE) if isinstance(one, torch.Tensor) else one for one in arguments]
    return {name: one.to(DEVICE) for name, one in state.items()}, moved


def _drawn_on_gpu(
    reference: Reference, precision: Precision, seed: int
) -> tuple[Any, dict[str, Any], list[Any]]:
    model, state, arguments = reference.draw(seed)
    set_precision(precision)  # the model that was made may have set its own
    return model.to(DEVICE), *_on_gpu(state, arguments)


def _count(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def main() -> None:
    """Serves on the descriptor that the last argument names."""
    torch.set_num_threads(1)
    with suppress(ConnectionError):  # the referee is gone: nobody is left to answer
        ReferenceServer(socket.socket(fileno=int(sys.argv[-1]))).serve()


if __name__ == "__main__":
    main()
