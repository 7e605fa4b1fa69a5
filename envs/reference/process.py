"""The trusted process that runs problems: draws inputs, computes expected outputs, is the baseline.

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
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, compress
from typing import Any

import numpy as np
import torch

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.codec import from_plain, to_plain
from kernelwright.envs.device.memory import context_is_dead, says_full
from kernelwright.envs.device.torch_clock import DeviceClock
from kernelwright.envs.referee.exit_codes import DEVICE_LOST
from kernelwright.envs.referee.layout import (
    GUARD_BYTES,
    LEFTOVERS,
    MESSAGE_BYTES,
    NONCE_BYTES,
    NS_BYTES,
)
from kernelwright.envs.referee.ties import ranking_to_plain
from kernelwright.envs.referee.tolerance import Array
from kernelwright.envs.reference.admission import check_problem, fingerprint
from kernelwright.envs.reference.applicable_kinds import applicable_kinds
from kernelwright.envs.reference.derive_tolerance import unit_of_inputs
from kernelwright.envs.reference.distributions import judged_cases
from kernelwright.envs.reference.expectations import expected_of
from kernelwright.envs.reference.files import laid, taken, views, written
from kernelwright.envs.reference.heap import Heap
from kernelwright.envs.reference.large_cases import LargeCases
from kernelwright.envs.reference.least_work import least_work
from kernelwright.envs.reference.module import (
    QUICK_NS,
    Given,
    ProblemError,
    Reference,
    problem_lines,
    run,
    shapes_of,
    time_ns,
    works_in_place,
)
from kernelwright.envs.reference.on_meta import try_on_meta
from kernelwright.envs.reference.plain_loops import lossy_runs
from kernelwright.envs.reference.plain_losses import plain_losses
from kernelwright.envs.reference.precision import require_precision, set_precision
from kernelwright.envs.reference.prepare import Known, Ready
from kernelwright.envs.reference.rankings import rankings, ranks
from kernelwright.envs.reference.strides import moved
from kernelwright.envs.reference.tf32 import tf32_outputs, with_tf32
from kernelwright.envs.reference.torch_compile import compile_module
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
        self.large = LargeCases(DEVICE, self.set_precision)
        """Those of the loaded problem that are expected on the GPU."""
        self.precision = Precision.IEEE
        self.aims: dict[tuple[str, int, bool, bool, bool], Aimed] = {}
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
            if context_is_dead():  # a module's index was out of range: another process goes on
                os._exit(DEVICE_LOST)
            if "device_full" in answer:
                give_back_device()
            socket.send_fds(self.channel, [json.dumps(answer).encode()], sent)
            for descriptor in sent:
                os.close(descriptor)

    def load(
        self,
        problem: dict[str, Any],
        precision: str = Precision.IEEE,
        large: Sequence[bool] = (),
    ) -> tuple[dict[str, Any], list[int]]:
        """The cases, and the spec and tolerances of each. Rounds on a GPU have this precision.
        Those of the problem's cases that are `large` are expected on the GPU."""
        self.precision = Precision(precision)
        self.loaded.clear()
        self.aims.clear()
        self.aimed = self.clock = self.device_clock = None
        self.heap.give_back()  # what the problem before it needed
        give_back_device()
        noun = from_plain(Problem, problem)
        known = Known()
        self.large = LargeCases(DEVICE, self.set_precision)
        self.large.find(noun, list(compress(noun.cases, large)))
        ready = [self.large.prepare(noun, noun.cases[0], known)]
        cases = judged_cases(noun, applicable_kinds(noun), ready[0].spec.numbers)
        ready += [self.large.prepare(noun, case, known, first=False) for case in cases[1:]]
        give_back_device()
        if self.precision is Precision.TF32:
            ready = [with_tf32(noun, one) for one in ready]
        self.loaded = {noun.key: ready}
        ranked = [bool(rankings(self.large.here(one).draw(0))) for one in ready if ranks(one.spec)]
        self.heap.give_back()  # what preparing it needed: its rounds need less
        plain = {
            "cases": [to_plain(one) for one in cases],
            "specs": [to_plain(one.spec) for one in ready],
            "tolerances": [to_plain(one.tolerances) for one in ready],
            "spreads": [one.spreads for one in ready],
            "levels": [to_plain(one.levels) for one in ready],
            "ranked": any(ranked),
            "large": [self.large.has(one) for one in ready],
        }
        return plain, []

    def draw(self, key: str, case: int, seed: int) -> tuple[dict[str, Any], list[int]]:
        """Two files: the inputs as the ABI lays them out, and what is expected of the outputs."""
        ready = self.loaded[key][case]
        spec = ready.spec
        model, state, arguments = ready.reference.draw(seed)
        tensors = [one for one in arguments if isinstance(one, torch.Tensor)] + list(state.values())
        inputs = written(*laid(tensors, spec), LEFTOVERS[seed % len(LEFTOVERS)])
        tf32 = self.precision is Precision.TF32
        rounded = tf32_outputs(model, state, arguments) if tf32 else []
        expected, levels = expected_of(model, state, arguments, ready, rounded)
        arrays = [array for choices in expected for array in choices]
        answers = self._file_of(arrays)
        counts = [len(choices) for choices in expected]
        if self.large.has(ready):
            del arrays, expected, rounded, model, state, arguments, tensors
            give_back_device()
            self.heap.give_back()
        return {"choices": counts, "levels": to_plain(levels)}, [inputs, answers]

    def rankings(self, key: str, case: int, seed: int) -> tuple[dict[str, Any], list[int]]:
        """What the indices among a draw's outputs point into (`Ranking` of envs/referee/ties.py),
        and a file: for each the values that are ranked, what rounding loses of them, and the
        module's own indices."""
        drawn = self.large.here(self.loaded[key][case]).draw(seed)
        unit = unit_of_inputs(*drawn[1:])
        found = rankings(drawn, unit, lossy_runs(drawn, unit))
        arrays = [
            array for one in found for array in (one.values, one.lost, one.places.astype(np.int64))
        ]
        return {"rankings": [ranking_to_plain(one) for one in found]}, [self._file_of(arrays)]

    def losses(self, key: str, case: int, seed: int) -> tuple[dict[str, Any], list[int]]:
        """A file: for each output what plain loops lose of each element of a draw."""
        ready = self.loaded[key][case]
        drawn = ready.reference.draw(seed)
        found = plain_losses(drawn, [one.dtype for one in ready.spec.outputs])
        return {}, [self._file_of(found)]

    def _file_of(self, arrays: Sequence[Array]) -> int:
        """These arrays, one right after the other, in a file that is sent."""
        starts = [0, *accumulate(one.nbytes for one in arrays)]
        file = written([one.reshape(-1) for one in arrays], starts[:-1], starts[-1])
        self.heap.gather()
        return file

    def aim(
        self, key: str, case: int, compiled: bool, on_device: bool, views: bool
    ) -> tuple[dict[str, Any], list[int]]:
        """Makes this case's module the one that timed rounds run: as it is or compiled, on the
        GPU or here, on inputs that lie as the problem has them (`views`) or contiguous."""
        place = (key, case, compiled, on_device, views)
        if place not in self.aims:
            ready = self.loaded[key][case]
            reference, spec = self.large.here(ready), ready.spec
            if not views:
                reference, spec = replace(reference, dense=True), spec.contiguous()
            model, state, arguments = reference.draw(0)
            in_place = not on_device and works_in_place(model, state, arguments)
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

    def time_by(self, graphs: bool | None) -> tuple[dict[str, Any], list[int]]:
        """Has rounds on the GPU timed as CUDA graphs, or not; None lets the next round try."""
        if self.clock is not None:
            self.clock.time_by(graphs)
        return {}, []

    def by_graphs(self) -> tuple[dict[str, Any], list[int]]:
        """Whether they are."""
        return {"graphs": self.clock is not None and bool(self.clock.graphs)}, []

    def release(self) -> tuple[dict[str, Any], list[int]]:
        """Gives back what this process keeps of a GPU's memory, but for what its rounds need."""
        give_back_device()
        return {}, []

    def work(
        self, key: str, case: int, tolerances: list[dict[str, float]]
    ) -> tuple[dict[str, Any], list[int]]:
        """The least that a kernel has to do for this case."""
        allowed = [Tolerance(**one) for one in tolerances]
        return to_plain(least_work(self.large.here(self.loaded[key][case]), allowed)), []

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

    def set_precision(self) -> None:
        """As the judge says, whatever a module has set."""
        set_precision(self.precision)

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
            self.set_precision()  # another model that was made may have set its own
            return self.clock.time_ns(lambda: run(aimed.model, *given))
        return aimed.took_ns(given)

    def _given(self, aimed: Aimed, inputs: int) -> Given:
        """The file's tensors as the module's state and arguments."""
        spec = aimed.spec
        # Not read in before the clock: an answer reads its inputs in while it is timed.
        tensors = views(taken(inputs, mmap.PROT_READ, read_in=False), spec.inputs, GUARD_BYTES)
        if self.clock is not None:
            tensors = [moved(one, DEVICE) for one in tensors]
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


def _on_gpu(state: dict[str, Any], arguments: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    there = [moved(one, DEVICE) if isinstance(one, torch.Tensor) else one for one in arguments]
    return {name: one.to(DEVICE) for name, one in state.items()}, there


def _drawn_on_gpu(
    reference: Reference, precision: Precision, seed: int
) -> tuple[Any, dict[str, Any], list[Any]]:
    model, state, arguments = reference.draw(seed)
    set_precision(precision)  # the model that was made may have set its own
    return model.to(DEVICE), *_on_gpu(state, arguments)


def main() -> None:
    """Serves on the descriptor that the last argument names."""
    torch.set_num_threads(1)
    with suppress(ConnectionError):  # the referee is gone: nobody is left to answer
        ReferenceServer(socket.socket(fileno=int(sys.argv[-1]))).serve()


if __name__ == "__main__":
    main()
