"""Selects the kinds of input values that can show faults in a module's graph, from one traced run.

Trusted code: it runs the problem's own module. Sums show blocks that are left out, epsilons show on
small rows, recurrences on early values and open gates, iterations near where they converge slowly.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import FrameType
from typing import Any

from kernelwright.envs.reference.around_limits import around_limits
from kernelwright.envs.reference.distributions import AS_MADE, KINDS, is_float, is_mask
from kernelwright.envs.reference.module import (
    PROBLEM_FILE,
    Reference,
    copies,
    load_reference,
)
from kernelwright.envs.reference.value_kinds import (
    ALL_DEGENERATE,
    CLUSTERED,
    IMPULSE,
    LONG_MEMORY,
    NEAR_BOUNDARY,
    NEAR_DEGENERATE,
    SMALLER_IMPULSE,
    USUAL_RANGE,
)
from kernelwright.envs.types import Problem

MOST_KINDS, MOST_OF_LOOPS = 2, 3
"""Most additional cases of a problem at the timed size; of a problem with a loop."""
EPSILON = 1e-3
"""Numbers above zero up to this are epsilons."""
SAMPLED = 64
"""Of a sum of fewer numbers nobody leaves out some."""
LONG_PRODUCT = 4096
"""The same for matrix products and convolutions in float32, whose sums forgive less."""
CONTAINER = "torch/nn/modules/container.py"
LOOP = 6
"""What runs so often is a loop."""

REDUCTIONS = """
    sum mean var var_mean std std_mean norm linalg_vector_norm amax amin max min logsumexp prod
    _softmax _log_softmax softmax log_softmax native_layer_norm _fused_rms_norm rms_norm
    native_group_norm native_batch_norm _native_batch_norm_legit avg_pool2d _adaptive_avg_pool2d
    _adaptive_avg_pool3d nll_loss_forward mse_loss smooth_l1_loss huber_loss binary_cross_entropy
    kl_div cosine_similarity argmax argmin
"""
PRODUCTS = "mm addmm bmm baddbmm convolution mv dot"
SCANS = "cumsum cumprod logcumsumexp cummax cummin"
READS_A_STEP = "select slice unbind split index narrow chunk"
RECURRENT = "lstm gru rnn_tanh rnn_relu mkldnn_rnn_layer _thnn_fused_lstm_cell"
TAKES_EPSILON = """
    native_layer_norm native_group_norm native_batch_norm _native_batch_norm_legit _fused_rms_norm
    add sub clamp clamp_min maximum where scalar_tensor
"""
KNOWN = {
    one: frozenset(one.split())
    for one in (REDUCTIONS, PRODUCTS, SCANS, READS_A_STEP, RECURRENT, TAKES_EPSILON)
}
"""Names of PyTorch's operations, of each list."""


@dataclass(slots=True)
class Seen:
    """Operations that a run of a module executed."""

    reductions: int = 0
    """The longest sum, of a kind that forgives."""
    epsilons: set[bool] = field(default_factory=set)
    """Whether what an epsilon is added to is a single number, of each."""
    scans: bool = False
    decays: bool = False
    """Whether it makes a matrix of powers, or is given one, as attention with decay does."""
    recurrent: bool = False
    steps: Counter[tuple[str, int, int]] = field(default_factory=Counter)
    """How often an operation ran at a place of the module's own code."""
    taken: dict[tuple[tuple[int, ...], int], set[Any]] = field(default_factory=dict)
    """Which places of a tensor were taken one by one, by its shape and the axis."""
    lengths: set[int] = field(default_factory=set)
    """Steps that a recurrent layer went over."""
    states: int = 0
    """Parameters and buffers: a loop with as many is one over layers."""

    def operation(self, name: str, given: Any, result: Any) -> None:
        """One operation of PyTorch, with all that it was given."""
        tensors = [one for one in _tensors(given) if is_float(one)]
        self.recurrent |= name in KNOWN[RECURRENT]
        self.scans |= name in KNOWN[SCANS]
        if name in ("select", "slice") and len(given) > 2 and hasattr(given[0], "shape"):
            self.taken.setdefault((tuple(given[0].shape), given[1]), set()).add(given[2])
        if name == "unbind":
            axis = given[1] if len(given) > 1 else 0
            self.lengths |= {len(result)} if len(result) >= LOOP or axis else set()
        if name == "pow" and not hasattr(given[0], "shape"):
            self.decays |= tuple(result.shape[-2:-1]) == tuple(result.shape[-1:])
        if name == "scalar_tensor" and _epsilons(name, given):
            self.epsilons.add(False)
        if tensors and _epsilons(name, given):
            self.epsilons.add(max(one.numel() for one in tensors) == 1)
        if name in KNOWN[REDUCTIONS] | KNOWN[PRODUCTS] and tensors:
            self.reductions = max(self.reductions, _length(name, tensors, result))
        where = _place()
        if where is not None:
            self.steps[(name, *where)] += 1

    def steps_of(self, arguments: list[Any]) -> int:
        """How many steps of its arguments a recurrent module goes over; 0 where it is none."""
        over_steps, _ = self.loops()
        if not (over_steps or self.recurrent):
            return 0
        long = {shape[axis] for (shape, axis), one in self.taken.items() if len(one) >= LOOP}
        sizes = {count for one in arguments if is_float(one) for count in one.shape}
        return max(sizes & (long | self.lengths), default=0)

    def loops(self) -> tuple[bool, bool]:
        """(there is one over the steps of a tensor, there is another one)."""
        often = [one for one, count in self.steps.items() if count >= LOOP]
        reads = any(name in KNOWN[READS_A_STEP] for name, _, _ in often)
        return reads, bool(often) and not reads and self.states < LOOP

    def kinds(self) -> Iterator[str]:
        """What it can show, what shows most first."""
        over_steps, iterates = self.loops()
        if over_steps or self.recurrent:
            yield LONG_MEMORY
        elif iterates:
            yield NEAR_BOUNDARY
        if over_steps or self.recurrent or self.decays or iterates:
            yield IMPULSE
        elif self.scans:
            yield SMALLER_IMPULSE
        if over_steps or self.recurrent or iterates:
            yield USUAL_RANGE
        if self.epsilons:
            yield ALL_DEGENERATE if self.epsilons == {True} else NEAR_DEGENERATE
        if self.reductions >= SAMPLED:
            yield CLUSTERED


def applicable_kinds(problem: Problem) -> tuple[str, ...]:
    """Names of VALUE_KINDS, at most two, or three of a loop; then those of LIMIT_KINDS.

    None where the module only works element by element or cannot run, and where the problem's cases
    name some, or are those of another's rule.
    """
    timed = problem.timed_case()
    if timed.distribution == AS_MADE:
        return ()
    return (*_of_sums_and_loops(problem), *around_limits(problem).kinds)


def _of_sums_and_loops(problem: Problem) -> tuple[str, ...]:
    if any(one.distribution in KINDS for one in problem.cases):
        return ()
    try:
        kinds = tuple(seen_of(problem).kinds())
        return kinds[: MOST_OF_LOOPS if USUAL_RANGE in kinds else MOST_KINDS]
    except (Exception, SystemExit):  # noqa: BLE001  the problem's own code ran; its cases say it
        return ()


@lru_cache(maxsize=4)
def seen_of(problem: Problem) -> Seen:
    """What a run of its timed case does. Raises what the module raises."""
    timed = replace(problem.timed_case(), distribution=AS_MADE)
    return watched(load_reference(problem, timed))


def watched(reference: Reference) -> Seen:
    """What one run of the module does. Raises what the module raises."""
    model, state, arguments = reference.draw(0)
    if not any(is_float(one) for one in arguments):
        return Seen()
    return _watched(model, *copies(state, arguments))


def _watched(model: Any, state: dict[str, Any], arguments: list[Any]) -> Seen:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = Seen(states=len(state))
    seen.decays = any(_is_decay(one) for one in state.values() if is_float(one))
    layers = [one for one in model.modules() if isinstance(one, torch.nn.RNNBase)]
    seen.recurrent = bool(layers)

    def before(layer: Any, given: Any) -> None:
        seen.lengths.add(given[0].shape[-2 if layer.batch_first else 0])

    hooks = [one.register_forward_pre_hook(before) for one in layers]

    class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            """No: it would import torch's compiler, which takes longer than all the rest."""
            return False

        def __torch_dispatch__(
            self, function: Any, _: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = function(*args, **(kwargs or {}))
            name = function._schema.name.partition("::")[2].removesuffix("_")
            seen.operation(name, (*args, *(kwargs or {}).values()), result)
            return result

    watch: Any = Watch
    with torch.no_grad(), watch():  # no_grad: inference mode hides what an operation is made of
        torch.func.functional_call(model, state, tuple(arguments), tie_weights=False)
    for hook in hooks:
        hook.remove()
    return seen


def _length(name: str, tensors: list[Any], result: Any) -> int:
    """How many numbers go into one; 0 where a product is too short, or too precise, to forgive."""
    first = tensors[0]
    if name not in KNOWN[PRODUCTS]:
        made = next((one for one in _tensors(result) if one.numel()), first)
        same = made.shape == first.shape
        return int(max(first.shape, default=1)) if same else first.numel() // made.numel()
    last = tensors[-1] if name in ("addmm", "baddbmm") else tensors[min(1, len(tensors) - 1)]
    summed = (
        math.prod(last.shape[1:])
        if name == "convolution"
        else last.shape[0 if last.dim() < 3 else 1]
    )
    low = first.element_size() < 4
    return int(summed) if low or summed >= LONG_PRODUCT else 0


def _is_decay(value: Any) -> bool:
    """Whether its matrices have only zeros above the diagonal, and several numbers below."""
    if value.dim() < 2 or value.shape[-1] != value.shape[-2] or value.shape[-1] < LOOP:
        return False
    return bool((value.triu(1) == 0).all()) and not is_mask(value)


def _epsilons(name: str, given: Iterable[Any]) -> bool:
    """Whether it is given one: a norm's, or a number that is added, or is a lower end."""
    small = any(isinstance(one, float) and 0 < one <= EPSILON for one in given)
    return small and name in KNOWN[TAKES_EPSILON]


def _place() -> tuple[int, int] | None:
    """(line, instruction) of the problem's own code that is running, the innermost; None in a
    container's loop over its layers."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.endswith(CONTAINER):
        if PROBLEM_FILE.fullmatch(frame.f_code.co_filename):
            return frame.f_lineno, frame.f_lasti
        frame = frame.f_back
    return None


def _tensors(values: Any) -> list[Any]:
    if hasattr(values, "element_size"):
        return [values]
    if isinstance(values, list | tuple):
        return [one for value in values for one in _tensors(value)]
    return []
