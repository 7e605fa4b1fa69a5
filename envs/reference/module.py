"""Loads and runs a problem's own PyTorch module: inputs, expected outputs, baseline.

Trusted code: it executes the problem, never a candidate. Functions import torch themselves, so that
importing this module costs nothing.
"""

from __future__ import annotations

import json
import re
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelwright.envs.abi import CPP_WORDS, CaseSpec, TensorSpec, free_name
from kernelwright.envs.reference.arguments import Nest, taken_apart, taking_leaves
from kernelwright.envs.reference.arguments import ProblemError as ProblemError
from kernelwright.envs.reference.distributions import (
    DISTRIBUTIONS,
    Distribution,
    all_changed,
    is_constant,
    is_float,
)
from kernelwright.envs.reference.drawn_states import drawn_states
from kernelwright.envs.reference.executed import CODE, executed, without_graph
from kernelwright.envs.reference.settings import replaced, settings
from kernelwright.envs.reference.strides import copied, is_view, laid_out, values_of, without_cuda
from kernelwright.envs.reference.strong_states import strengthened
from kernelwright.envs.reference.structure import NOTHING, OURS, Redrawn
from kernelwright.envs.reference.value_kinds import DEGENERATE, degenerate_states
from kernelwright.envs.types import Case, Problem

EXACT_INT = 1 << 53
"""Scalars reach a kernel through doubles."""

PROBLEM_FILE = re.compile(r"<problem .*>", re.DOTALL)
"""What a problem's code is called in a traceback."""

WARM_NS, QUICK_NS = 1_000_000, 5_000_000
"""Warm-up time before the timed call; a module that takes longer than the second needs none."""

HELD_BYTES = 4 << 20
"""Of the last outputs of those calls, at least one: more than a core's own caches hold."""

Given: TypeAlias = "tuple[dict[str, Any], list[Any]]"
"""A module's parameters and buffers by name, and what it is called with."""

Drawn: TypeAlias = "tuple[Any, dict[str, Any], list[Any]]"
"""A module, its state by name and its arguments."""

FLOAT32_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Shapes:
    """Inputs and outputs of a module in its timed case, and its constructor arguments, as
    Python."""

    spec: CaseSpec
    init: str


@dataclass(frozen=True)
class Reference:
    """One case of a problem, loaded: the module, and how to draw its inputs.

    `names` are those of the tensors and numbers in what `forward` takes, `nest` how it takes them.
    `held`: names of states, and numbers of arguments, that keep the values that they are made with.
    `redrawn`: arguments that are the same whenever they are made, and are drawn here.
    `strong`: changes of the state (`STRENGTHENINGS`) that make every part of the inputs matter;
    `steps`: over how many time steps the module goes.
    `dense`: inputs that are views are made contiguous, as native kernels get them.
    """

    case: Case
    namespace: dict[str, Any]
    names: tuple[str, ...]
    nest: Nest
    held: frozenset[str | int] = frozenset()
    redrawn: Redrawn = NOTHING
    strong: tuple[str, ...] = ()
    steps: int = 0
    dense: bool = False
    changed: Callable[[list[Any], Distribution], list[Any]] | None = None
    """Changes the arguments further, as a case's distribution says."""

    def draw(self, seed: int) -> tuple[Any, dict[str, Any], list[Any]]:
        """(module, its state by name, the tensors and numbers that forward takes), all fresh from
        `seed`. Called with these one by one, the module is called as the problem says."""
        import torch

        torch.default_generator.manual_seed(seed)
        with _here(self.namespace):
            model = taking_leaves(self.namespace["Model"], self.nest)(*self.init()).eval()
        given = self._given()
        if torch.initial_seed() != seed:  # the problem chose its own: what follows is ours
            torch.default_generator.manual_seed(seed ^ OURS)
        distribution = DISTRIBUTIONS[self.case.distribution]
        made = self.redrawn.changed([values_of(one) for one in given], seed)
        arguments = all_changed(made, distribution, self.held)
        if self.changed is not None:
            arguments = self.changed(arguments, distribution)
        arguments = [
            laid_out(one, like) if isinstance(one, torch.Tensor) else _in_float32(one)
            for one, like in zip(arguments, given, strict=True)
        ]
        if self.dense:
            arguments = [one.contiguous() if is_view(one) else one for one in arguments]
        state = dict(model.state_dict())
        if distribution.states:
            kept = {name: one for name, one in state.items() if name in self.held}
            parameters = dict(model.named_parameters(remove_duplicate=False))
            buffers = {name: None if name in parameters else one for name, one in state.items()}
            state = drawn_states(state, parameters) | kept
            state = strengthened(model, state, arguments, self.strong, self.steps) | kept
            if distribution.kind in DEGENERATE:
                state = degenerate_states(state, buffers) | kept
        return model, state, arguments

    def made(self, seed: int) -> list[Any]:
        """What `get_inputs` makes, of another seed than `draw` has it, as it is."""
        import torch

        torch.default_generator.manual_seed(seed)
        return [values_of(one) for one in self._given()]

    def _given(self) -> list[Any]:
        """The tensors and numbers of `get_inputs`, one by one."""
        with _here(self.namespace):
            made = self.namespace["get_inputs"]()
            return list(taken_apart(made, self.namespace["Model"].forward)[0])

    def init(self) -> list[Any]:
        """What the module is made with."""
        return self.namespace["get_init_inputs"]() if "get_init_inputs" in self.namespace else []

    def spec(self) -> CaseSpec:
        """Names, dtypes and shapes of this case, read off one real run."""
        import torch

        model, state, arguments = self.draw(0)
        outputs = flatten(forward(model, state, arguments))
        results = ["out"] if len(outputs) == 1 else [f"out{i}" for i in range(len(outputs))]
        taken, made_of = set(CPP_WORDS), model.state_dict()

        def named(wanted: Iterable[str], values: Iterable[Any]) -> list[tuple[str, Any]]:
            pairs = zip(wanted, values, strict=True)
            return [(free_name(n.replace(".", "_"), _dims(one), taken), one) for n, one in pairs]

        made = named(results, outputs)
        given = named(self.names, [_argument(one) for one in arguments])
        tensors = [pair for pair in given if isinstance(pair[1], torch.Tensor)]
        inputs = [_tensor_spec(name, one, view=is_view(one)) for name, one in tensors]
        inputs += [_tensor_spec(*pair) for pair in named(state, state.values())]
        return CaseSpec(
            inputs=tuple(inputs),
            outputs=tuple(_tensor_spec(*pair) for pair in made),
            scalars=tuple(pair for pair in given if isinstance(pair[1], int | float | bool)),
            arguments=tuple(name for name, _ in given),
            state=tuple(state),
            fills=tuple(_fill(made_of[name]) for name in state),
            init=self._init_json(),
            nest=self.nest.named([name for name, _ in given]),
        )

    def _init_json(self) -> str:
        """The same as JSON. Raises ProblemError for what JSON cannot say."""
        try:
            return json.dumps(_tagged(self.init()))
        except TypeError as error:
            raise ProblemError(f"get_init_inputs(): {error}") from None


def sized_code(problem: Problem, case: Case) -> str:
    """The problem's code with this case's sizes in place of its module-level constants."""
    code = problem.code
    for name, size in case.sizes:
        found = [value for one, value in settings(code) if one == name]
        if not found:
            raise ProblemError(f"{problem.name}: no module-level constant {name!r} to set")
        code = replaced(code, found[0], str(size))
    return code


def load_reference(problem: Problem, case: Case) -> Reference:
    """The problem's module, for this case."""
    code = sized_code(problem, case)
    namespace = executed(code, f"<problem {problem.name}>")
    missing = [name for name in ("Model", "get_inputs") if name not in namespace]
    if missing:
        raise ProblemError(f"{problem.name}: does not define {' and '.join(missing)}")
    with _here(namespace):
        _, names, nest = taken_apart(namespace["get_inputs"](), namespace["Model"].forward)
    return Reference(case, namespace, tuple(names), nest)


def _here(namespace: dict[str, Any]) -> Any:
    """Within it a problem that makes tensors on a GPU has them on this core."""
    return without_cuda() if "cuda" in namespace.get(CODE, "") else nullcontext()


def shapes_of(problem: Problem) -> Shapes:
    """The same, by running the module here."""
    reference = load_reference(problem, problem.timed_case())
    return Shapes(reference.spec(), ", ".join(map(repr, reference.init())))


def _fill(tensor: Any) -> float | None:
    """The value that it is full of; None where it has several, or none, as on `meta`."""
    known = not (tensor.is_meta or tensor.is_complex())
    full = known and is_constant(tensor)
    return float(tensor.reshape(-1)[0]) if full else None


def run(model: Any, state: dict[str, Any], arguments: list[Any]) -> Any:
    """The module's output with these tensors as its parameters and buffers, without a graph.

    A module that works in place changes the tensors themselves. Tied parameters have equal values.
    """
    import torch

    with torch.no_grad():  # in inference mode operators stay whole, and hide those they consist of
        return torch.func.functional_call(model, state, tuple(arguments), tie_weights=False)


def time_ns(model: Any, given: Given, before: Given | None, *, in_place: bool) -> int:
    """How long the module takes on tensors that are in place: in nanoseconds, once it is warm.

    Before, it is called over and over on `before`, the tensors of a round that was played already:
    a call by itself finds PyTorch's own code out of the caches, which takes 20 us or more, and is
    no work that a kernel spares. Its data is as far away as a kernel's: other tensors than before,
    and an output where none was lately, as the last ones are held. Left to malloc, outputs came
    to lie where the one before did, or in seven places in turns, as each process had it.
    `in_place`: it changes the tensors, so each call gets copies.
    """
    held, warm_ns = deque[Any](), 0
    with without_graph(model):
        while before is not None and warm_ns < WARM_NS:
            took_ns, found = _called(model, before, in_place=in_place)
            warm_ns += took_ns
            if not held:
                size_bytes = sum(one.nbytes for one in flatten(found))
                held = deque(maxlen=1 + HELD_BYTES // max(1, size_bytes))
            held.append(found)
        return _called(model, given, in_place=in_place)[0]


def _called(model: Any, given: Given, *, in_place: bool) -> tuple[int, Any]:
    """(nanoseconds, what came out) of one call."""
    state, arguments = copies(*given) if in_place else given
    for name, tensor in state.items():
        owner, _, last = name.rpartition(".")
        getattr(model.get_submodule(owner), last).data = tensor
    started = time.perf_counter_ns()
    found = model(*arguments)
    return time.perf_counter_ns() - started, found


def forward(model: Any, state: dict[str, Any], arguments: list[Any]) -> Any:
    """The same on copies of the tensors, whatever the module does to them."""
    return run(model, *copies(state, arguments))


def copies(state: dict[str, Any], arguments: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """The same values in tensors of their own."""
    return {name: one.clone() for name, one in state.items()}, [copied(one) for one in arguments]


def works_in_place(model: Any, state: dict[str, Any], arguments: list[Any]) -> bool:
    """Whether the module changes a tensor that it is given."""
    import torch

    state, arguments = copies(state, arguments)
    with torch.no_grad():
        torch.func.functional_call(model, state, tuple(arguments), tie_weights=False)
    tensors = [*state.values(), *(one for one in arguments if isinstance(one, torch.Tensor))]
    return any(one._version > 0 for one in tensors)


def forward_float64(
    model: Any, state: dict[str, Any], arguments: list[Any], way: Callable[..., Any] = run
) -> Any:
    """The same in float64: what the answer should be, with rounding out of the way.

    A module that insists on another type (a hidden state made with `dtype=torch.float32`) runs in
    its own: then its own rounding is part of what is expected.
    """
    import torch

    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # of what `forward` makes: torch.zeros(...)
    try:
        return way(model, *_cast(state, arguments, torch.float64))
    except RuntimeError:
        torch.set_default_dtype(usual)
        own = next((one.dtype for one in state.values() if is_float(one)), usual)
        return way(model, *_cast(state, arguments, own))
    finally:
        torch.set_default_dtype(usual)


def _cast(
    state: dict[str, Any], arguments: list[Any], dtype: Any
) -> tuple[dict[str, Any], list[Any]]:
    """The same values in tensors of their own, all floats of one type."""

    def cast(one: Any) -> Any:
        if is_float(one):
            return one.to(dtype, copy=True)
        return one.clone() if hasattr(one, "clone") else one

    return {name: cast(one) for name, one in state.items()}, [cast(one) for one in arguments]


def problem_lines(frames: Iterable[traceback.FrameSummary]) -> list[int]:
    """The lines of these frames that are the problem's own, outermost first."""
    return [one.lineno or 0 for one in frames if PROBLEM_FILE.fullmatch(one.filename)]


def array_of(tensor: Any) -> NDArray[Any]:
    """A tensor as numpy has it; bfloat16, which numpy has not, as float32."""
    found: NDArray[Any] = (tensor.float() if str(tensor.dtype) == BRAIN else tensor).numpy()
    return found


BRAIN = "torch.bfloat16"


def flatten(output: Any) -> list[Any]:
    """The tensors of a (possibly nested) output, in order."""
    import torch

    if isinstance(output, torch.Tensor):
        return [output.contiguous()]
    if output is None:
        return []
    if isinstance(output, dict):
        return [tensor for one in output.values() for tensor in flatten(one)]
    if isinstance(output, list | tuple):
        return [tensor for one in output for tensor in flatten(one)]
    if isinstance(output, int | float | bool):
        return [torch.tensor(output)]
    raise ProblemError(f"the module returns a {type(output).__name__}, not tensors")


def _tagged(value: Any) -> Any:
    """The value with its tuples as {"tuple": [...]}, which JSON would make lists of."""
    if isinstance(value, tuple):
        return {"tuple": [_tagged(one) for one in value]}
    if isinstance(value, dict):
        return {name: _tagged(one) for name, one in value.items()}
    return [_tagged(one) for one in value] if isinstance(value, list) else value


def _argument(value: Any) -> Any:
    """The same, if a kernel can be given it."""
    if isinstance(value, int) and abs(value) > EXACT_INT:
        raise ProblemError(f"forward takes {value}, which is beyond 2**53")
    return value


def _in_float32(value: Any) -> Any:
    """A float as float32 has it, where it has it.

    Else `x > 0.1` has one threshold for a float32 tensor, as the module and a kernel compare, and
    another in float64, where the expected output is computed: a right kernel was wrong at an x that
    is 0.1 in float32, once in some thousand draws.
    """
    if not isinstance(value, float) or not abs(value) < FLOAT32_MAX:
        return value
    return float(np.float32(value))


def _dims(value: Any) -> int:
    return len(value.shape) if hasattr(value, "shape") else 0


def _tensor_spec(name: str, tensor: Any, *, view: bool = False) -> TensorSpec:
    return TensorSpec(
        name=name,
        dtype=str(tensor.dtype).removeprefix("torch."),
        shape=tuple(tensor.shape),
        strides=tuple(tensor.stride()) if view else None,
        first=tensor.storage_offset() if view else 0,
    )
