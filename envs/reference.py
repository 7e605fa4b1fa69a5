"""A problem's own PyTorch module, run by us: inputs, expected outputs, baseline.

Trusted code: it executes the problem, never a candidate. Functions import torch themselves, so that
importing this module costs nothing.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from dataclasses import dataclass
from typing import Any

from envs.abi import CaseSpec, TensorSpec
from envs.compare import derive_tolerance
from envs.types import Case, Problem, Tolerance

DISTRIBUTIONS = {
    "given": (1.0, 0.0),
    "scaled": (3.0, 0.0),
    "shifted": (1.0, 0.5),
}
"""name → (factor, offset) that a case's floating-point inputs are changed by."""

NUDGE = 4 * 2.0**-23
"""Four units in the last place of float32."""

NUDGES = 3
"""How often inputs are moved: a small output shows little of what rounding can do to it."""

FEW_OUTPUTS, SMALL_INPUTS, MOST_DRAWS = 512, 1 << 16, 16
"""A case with fewer elements than these is drawn several times to derive its tolerance."""

_CONSTANT = r"^({name})[ \t]*=[ \t]*[-+\w*/() ]+?[ \t]*(#.*)?$"


class ProblemError(ValueError):
    """The problem itself is unusable: nothing that a candidate did."""


@dataclass(frozen=True)
class Reference:
    """One case of a problem, loaded: the module, and how to draw its inputs."""

    case: Case
    namespace: dict[str, Any]
    names: tuple[str, ...]

    def draw(self, seed: int) -> tuple[Any, dict[str, Any], list[Any]]:
        """(module, its state by name, forward's arguments), all fresh from `seed`."""
        import torch

        torch.manual_seed(seed)
        init = self.namespace["get_init_inputs"]() if "get_init_inputs" in self.namespace else []
        model = self.namespace["Model"](*init).eval()
        factor, offset = DISTRIBUTIONS[self.case.distribution]
        arguments = [
            one * factor + offset if _is_float(one) else one
            for one in self.namespace["get_inputs"]()
        ]
        arguments = [
            one.contiguous() if isinstance(one, torch.Tensor) else one for one in arguments
        ]
        return model, dict(model.state_dict()), arguments

    def spec(self) -> CaseSpec:
        """Names, dtypes and shapes of this case, read off one real run."""
        import torch

        model, state, arguments = self.draw(0)
        inputs = [
            _tensor_spec(name, one)
            for name, one in zip(self.names, arguments, strict=True)
            if isinstance(one, torch.Tensor)
        ]
        inputs += [_tensor_spec(name.replace(".", "_"), one) for name, one in state.items()]
        outputs = flatten(forward(model, state, arguments))
        names = ["out"] if len(outputs) == 1 else [f"out{i}" for i in range(len(outputs))]
        return CaseSpec(
            inputs=tuple(inputs),
            outputs=tuple(_tensor_spec(n, o) for n, o in zip(names, outputs, strict=True)),
            scalars=tuple(
                (name, one)
                for name, one in zip(self.names, arguments, strict=True)
                if isinstance(one, int | float | bool)
            ),
            arguments=self.names,
            state=tuple(state),
            init=self._init_json(),
        )

    def _init_json(self) -> str:
        """What the module is made with. Raises ProblemError for what JSON cannot say."""
        init = self.namespace["get_init_inputs"]() if "get_init_inputs" in self.namespace else []
        try:
            return json.dumps(_tagged(init))
        except TypeError as error:
            raise ProblemError(f"get_init_inputs(): {error}") from None


def load_reference(problem: Problem, case: Case) -> Reference:
    """The problem's module with this case's sizes in place of its module-level constants."""
    code = problem.code
    for name, size in case.sizes:
        pattern = re.compile(_CONSTANT.format(name=re.escape(name)), re.MULTILINE)
        code, replaced = pattern.subn(f"{name} = {size}", code, count=1)
        if not replaced:
            raise ProblemError(f"{problem.name}: no module-level constant {name!r} to set")
    namespace: dict[str, Any] = {"__name__": "problem"}
    exec(compile(code, f"<{problem.name}>", "exec"), namespace)
    missing = [name for name in ("Model", "get_inputs") if name not in namespace]
    if missing:
        raise ProblemError(f"{problem.name}: does not define {' and '.join(missing)}")
    parameters = list(inspect.signature(namespace["Model"].forward).parameters)[1:]
    count = len(namespace["get_inputs"]())
    return Reference(case, namespace, tuple(parameters[:count]))


def forward(model: Any, state: dict[str, Any], arguments: list[Any]) -> Any:
    """The module's output with these tensors as its parameters and buffers; no gradients."""
    import torch

    with torch.inference_mode():
        return torch.func.functional_call(model, state, tuple(arguments))


def forward_float64(model: Any, state: dict[str, Any], arguments: list[Any]) -> Any:
    """The same in float64: what the answer should be, with rounding out of the way."""
    state64 = {name: one.double() if _is_float(one) else one for name, one in state.items()}
    return forward(model, state64, [one.double() if _is_float(one) else one for one in arguments])


def nudge(tensors: list[Any], relative: float) -> list[Any]:
    """The arguments with every float moved by a random relative amount of this size."""
    import torch

    return [
        one * (1 + relative * torch.randn_like(one)) if _is_float(one) else one for one in tensors
    ]


def rounding_tolerance(problem: Problem, drawn: tuple[Any, dict[str, Any], list[Any]]) -> Tolerance:
    """The problem's own tolerance, else the one derived from what rounding does to this draw."""
    if problem.tolerance is not None:
        return problem.tolerance
    model, state, arguments = drawn
    exactly = [one.double() if _is_float(one) else one for one in arguments]
    moved = [forward_float64(model, state, nudge(exactly, NUDGE)) for _ in range(NUDGES)]
    outputs = [forward_float64(*drawn), forward(*drawn), *moved]
    exact, *others = [[one.numpy() for one in flatten(output)] for output in outputs]
    return derive_tolerance(problem.dtype, exact, others)


def case_tolerance(problem: Problem, reference: Reference, spec: CaseSpec) -> Tolerance:
    """The tolerance of a case: the widest of several draws, where one shows and costs little.

    Of the few outputs of a small case, one draw may have them all where rounding does nothing (at
    the ends of a clamp), and the next may not.
    """
    outputs = sum(math.prod(one.shape) for one in spec.outputs)
    small = sum(math.prod(one.shape) for one in spec.inputs) <= SMALL_INPUTS
    draws = min(MOST_DRAWS, -(-FEW_OUTPUTS // max(1, outputs))) if small else 1
    found = [rounding_tolerance(problem, reference.draw(1 + number)) for number in range(draws)]
    return max(found, key=lambda one: one.of_spread)


def flatten(output: Any) -> list[Any]:
    """The tensors of a (possibly nested) output, in order."""
    import torch

    if isinstance(output, torch.Tensor):
        return [output.contiguous()]
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


def _is_float(value: Any) -> bool:
    return hasattr(value, "is_floating_point") and bool(value.is_floating_point())


def _tensor_spec(name: str, tensor: Any) -> TensorSpec:
    return TensorSpec(
        name=name, dtype=str(tensor.dtype).removeprefix("torch."), shape=tuple(tensor.shape)
    )
