"""The trusted process that runs problems: draws inputs, computes what is expected, is the baseline.

No candidate ever enters it, and it decides nothing. It answers on one socket, in order: requests in
JSON (`load`, `draw`, `aim`, `work`), and timed rounds in the very protocol that candidates speak (a
nonce and two descriptors in, the nonce back when the work is done).

    python -m envs.reference.process SOCKET_FD
"""

from __future__ import annotations

import json
import mmap
import os
import socket
import sys
import warnings
from contextlib import suppress
from itertools import accumulate
from typing import Any

import numpy as np
import torch

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.codec import from_plain, to_plain
from kernelwright.envs.memfd import memfd
from kernelwright.envs.referee.layout import (
    MESSAGE_BYTES,
    NONCE_BYTES,
    NS_BYTES,
    NUMPY_TYPES,
    offsets,
)
from kernelwright.envs.referee.tolerance import Array, overflowed
from kernelwright.envs.reference.derive_tolerance import (
    NUDGE,
    case_tolerance,
    nudge,
    output_spreads,
)
from kernelwright.envs.reference.least_work import least_work
from kernelwright.envs.reference.module import (
    ProblemError,
    Reference,
    copies,
    flatten,
    forward,
    forward_float64,
    load_reference,
    refuse_random,
    run,
    works_in_place,
)
from kernelwright.envs.reference.torch_compile import compile_module
from kernelwright.envs.replay.torch_clock import DeviceClock
from kernelwright.envs.types import Problem, Tolerance


class ReferenceServer:
    """State of the process: loaded problems, and the case that timed rounds run."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.loaded: dict[str, list[tuple[Reference, CaseSpec]]] = {}
        self.aims: dict[tuple[str, int, bool, bool], tuple[Any, list[str], CaseSpec, bool]] = {}
        self.aimed: tuple[Any, list[str], CaseSpec, bool] | None = None
        self.clock: DeviceClock | None = None
        """Where rounds run on the GPU: how they are timed."""

    def serve(self) -> None:
        """Answers until the referee hangs up."""
        while True:
            message, files, _, _ = socket.recv_fds(self.channel, MESSAGE_BYTES, 2)
            if not message:
                return
            if message[:1] == b"G":
                device_ns = self.run_round(*files)
                said = device_ns.to_bytes(NS_BYTES, "little") if device_ns else b""
                self.channel.send(b"D" + message[1 : 1 + NONCE_BYTES] + said)
                continue
            request = json.loads(message)
            try:
                answer, sent = getattr(self, request.pop("op"))(**request)
            # The named boundary: a problem's own code ran, and may have called sys.exit.
            except (Exception, SystemExit) as error:  # noqa: BLE001
                answer, sent = {"error": f"{type(error).__name__}: {error}"[:2000]}, []
            socket.send_fds(self.channel, [json.dumps(answer).encode()], sent)
            for descriptor in sent:
                os.close(descriptor)

    def load(self, problem: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        """The spec and the tolerance of every case."""
        noun = from_plain(Problem, problem)
        references = [load_reference(noun, case) for case in noun.cases]
        pairs = [(one, one.spec()) for one in references]
        for _, spec in pairs:
            _comparable(spec)
        refuse_random(references[0])
        spreads = [output_spreads(one, spec.outputs) for one, spec in pairs]
        tolerances = [
            case_tolerance(noun, one, spec, least)
            for (one, spec), least in zip(pairs, spreads, strict=True)
        ]
        self.loaded = {noun.key: pairs}
        self.aims.clear()
        specs = [to_plain(spec) for _, spec in pairs]
        plain = {"specs": specs, "tolerances": to_plain(tolerances), "spreads": spreads}
        return plain, []

    def draw(self, key: str, case: int, seed: int) -> tuple[dict[str, Any], list[int]]:
        """Two files: the inputs as the ABI lays them out, and what is expected of the outputs."""
        reference, spec = self.loaded[key][case]
        model, state, arguments = reference.draw(seed)
        tensors = [one for one in arguments if isinstance(one, torch.Tensor)] + list(state.values())
        places, size = offsets(spec.inputs)
        inputs = _file([_raw(one) for one in tensors], places, size)
        expected = _expected(model, state, arguments, spec)
        arrays = [array for choices in expected for array in choices]
        starts = [0, *accumulate(array.nbytes for array in arrays)]
        answers = _file([array.reshape(-1) for array in arrays], starts[:-1], starts[-1])
        return {"choices": [len(choices) for choices in expected]}, [inputs, answers]

    def aim(
        self, key: str, case: int, compiled: bool, on_device: bool
    ) -> tuple[dict[str, Any], list[int]]:
        """Makes this case's module the one that timed rounds run: as it is, compiled, or on the
        GPU."""
        place = (key, case, compiled, on_device)
        if place not in self.aims:
            reference, spec = self.loaded[key][case]
            model, state, arguments = reference.draw(0)
            in_place = works_in_place(model, state, arguments)
            if compiled:
                compile_module(model, reference)
            if on_device:
                model = model.to("cuda")
                run(model, *_on_gpu(state, arguments))  # what cannot run there is refused here
            self.aims[place] = (model, list(state), spec, in_place)
        self.clock = DeviceClock() if on_device else None
        self.aimed = self.aims[place]
        return {}, []

    def work(
        self, key: str, case: int, tolerance: dict[str, float]
    ) -> tuple[dict[str, Any], list[int]]:
        """The least that a kernel has to do for this case."""
        return to_plain(least_work(self.loaded[key][case][0], Tolerance(**tolerance))), []

    def run_round(self, inputs: int, outputs: int) -> int | None:
        """PyTorch's forward, eager or compiled, on the file's tensors; its result is not needed.

        Returns the nanoseconds that a device took, None where there is none.
        """
        if self.aimed is None:
            raise ProblemError("a round before a case was aimed at")
        model, names, spec, in_place = self.aimed
        size = os.fstat(inputs).st_size
        mapping = mmap.mmap(inputs, size, mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ)
        os.close(inputs)
        os.close(outputs)
        tensors = [
            _view(mapping, one, place)
            for one, place in zip(spec.inputs, offsets(spec.inputs)[0], strict=True)
        ]
        if self.clock is not None:
            tensors = [one.to("cuda") for one in tensors]
        first_state = len(tensors) - len(names)
        state = dict(zip(names, tensors[first_state:], strict=True))
        given, scalars = iter(tensors[:first_state]), dict(spec.scalars)
        arguments = [scalars[n] if n in scalars else next(given) for n in spec.arguments]
        if in_place:  # the file itself is read-only, for the baseline as for a candidate
            state, arguments = copies(state, arguments)
        if self.clock is not None:
            return self.clock.time_ns(lambda: run(model, state, arguments))
        run(model, state, arguments)
        return None


def _comparable(spec: CaseSpec) -> None:
    """Raises ProblemError where an output's values cannot be compared."""
    for one in spec.outputs:
        if one.dtype not in NUMPY_TYPES:
            known = ", ".join(NUMPY_TYPES)
            raise ProblemError(f"output {one.name} is {one.dtype}; it can be {known}")


def _view(mapping: mmap.mmap, one: TensorSpec, place: int) -> torch.Tensor:
    """The tensor that lies there in the file."""
    dtype, count = getattr(torch, one.dtype), _count(one.shape)
    if count == 0:
        return torch.empty(one.shape, dtype=dtype)
    return torch.frombuffer(mapping, dtype=dtype, count=count, offset=place).reshape(one.shape)


def _expected(
    model: Any, state: dict[str, Any], arguments: list[Any], spec: CaseSpec
) -> list[list[Array]]:
    """For each output its acceptable values: one in float64, or for integers and bools several."""
    kinds = [NUMPY_TYPES[one.dtype] for one in spec.outputs]
    wide = [_array(one) for one in flatten(forward_float64(model, state, arguments))]
    exact = [
        overflowed(one, kind) if kind.kind == "f" else one
        for one, kind in zip(wide, kinds, strict=True)
    ]
    if all(kind.kind == "f" for kind in kinds):
        return [[one] for one in exact]
    rounded = [_array(one) for one in flatten(forward(model, state, arguments))]
    nudged = [
        [_array(one) for one in flatten(forward_float64(model, state, nudge(arguments, NUDGE)))]
        for _ in range(2)
    ]
    choices: list[list[Array]] = []
    for i, one in enumerate(rounded):
        others = [exact[i], *(run[i] for run in nudged)]
        discrete = [one, *(other.astype(one.dtype) for other in others)]
        choices.append([exact[i]] if one.dtype.kind == "f" else discrete)
    return choices


def _array(tensor: torch.Tensor) -> Array:
    array: Array = tensor.detach().numpy()
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _raw(tensor: torch.Tensor) -> Array:
    """A tensor's elements, flat and without a copy where it is contiguous already."""
    array: Array = tensor.detach().contiguous().numpy()
    return array.reshape(-1)


def _file(arrays: list[Array], places: list[int], size: int) -> int:
    """A descriptor of an unnamed file with these arrays at these places, in bytes."""
    descriptor = memfd(b"")
    os.truncate(descriptor, max(size, 1))
    with mmap.mmap(descriptor, 0) as mapping:
        for array, place in zip(arrays, places, strict=True):
            whole = np.frombuffer(mapping, array.dtype, array.size, place)
            np.copyto(whole, array)
            del whole  # a view would keep the mapping open
    return descriptor


def _on_gpu(state: dict[str, Any], arguments: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    moved = [one.to("cuda") if isinstance(one, torch.Tensor) else one for one in arguments]
    return {name: one.to("cuda") for name, one in state.items()}, moved


def _count(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def main() -> None:
    warnings.filterwarnings("ignore", message="The given buffer is not writable")
    torch.set_num_threads(1)
    with suppress(ConnectionError):  # the referee is gone: nobody is left to answer
        ReferenceServer(socket.socket(fileno=int(sys.argv[1]))).serve()


if __name__ == "__main__":
    main()
