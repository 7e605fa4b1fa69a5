"""Cases of a problem that are too large for one core: a GPU runs their module, and what rounding
does to an element is found out at smaller sizes, or from a part of the outputs.

Smaller sizes tell the same where the module runs the same operators, with sums as long. Nothing of
this is used where problems are admitted, which takes no GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import torch

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.device.memory import says_full
from kernelwright.envs.device.there import playing_on
from kernelwright.envs.referee.tolerance import BASE
from kernelwright.envs.reference.distributions import AS_MADE
from kernelwright.envs.reference.module import Reference, flatten, load_reference
from kernelwright.envs.reference.plain_loops import tensors_in, terms_of, within
from kernelwright.envs.reference.prepare import Known, Ready, prepare
from kernelwright.envs.types import Case, Problem

Sizes: TypeAlias = "tuple[tuple[str, int], ...]"
ENOUGH_BYTES, ENOUGH_ELEMENTS = 16 << 20, 1 << 12
"""Of all tensors, and of each output that had as many: smaller sizes have no less of either."""


@dataclass(frozen=True, slots=True)
class Large:
    """A large case: as a core would run it, what it takes and gives, and sizes that tell the
    same."""

    here: Reference
    spec: CaseSpec
    smaller: Sizes | None


class LargeCases:
    """Those of one problem, by their sizes. `begin` is called before each run on the device."""

    def __init__(self, device: str, begin: Callable[[], None]) -> None:
        self.device, self.begin = device, begin
        self.known: dict[Sizes, Large] = {}

    def find(self, problem: Problem, cases: Sequence[Case]) -> None:
        """Takes these cases for large. What cannot run on its sizes, or there, is none; where the
        device has no room, this raises what PyTorch does."""
        for case in cases:
            if case.sizes in self.known:
                continue
            try:
                self.known[case.sizes] = self._found(problem, case)
            except Exception as error:  # the problem's own code ran
                if says_full(error):
                    raise

    def _found(self, problem: Problem, case: Case) -> Large:
        here = load_reference(problem, replace(case, distribution=AS_MADE))
        spec = self._there(here).spec()
        floats = all(one.dtype in BASE for one in spec.inputs)
        return Large(here, spec, smaller_sizes(problem, case) if floats else None)

    def prepare(self, problem: Problem, case: Case, known: Known, *, first: bool = True) -> Ready:
        """As `prepare` does; of a large case the module runs on the device."""
        large = self.known.get(case.sizes)
        if large is None:
            return prepare(problem, case, first=first, known=known)
        whole = self._there(large.here).namespace
        if large.smaller is not None:
            small = replace(case, sizes=large.smaller)
            ready = prepare(problem, small, first=first, known=known)
            if not ready.reference.redrawn.numbers:
                changed = replace(ready.reference.case, sizes=case.sizes)
                there = replace(ready.reference, case=changed, namespace=whole)
                return replace(ready, reference=there, spec=large.spec)
        known.loaded[case.sizes] = (self._there(large.here, sampled=True), large.spec)
        ready = prepare(problem, case, first=first, known=known)
        return replace(ready, reference=replace(ready.reference, namespace=whole))

    def here(self, ready: Ready) -> Reference:
        """The case with its module as the problem has it."""
        large = self.known.get(ready.reference.case.sizes)
        return (
            replace(ready.reference, namespace=large.here.namespace) if large else ready.reference
        )

    def has(self, ready: Ready) -> bool:
        return ready.reference.case.sizes in self.known

    def _there(self, reference: Reference, *, sampled: bool = False) -> Reference:
        """The same, on the device."""
        model = playing_on(reference.namespace["Model"], self.device, self.begin, sampled=sampled)
        return replace(reference, namespace={**reference.namespace, "Model": model})


def smaller_sizes(problem: Problem, case: Case) -> Sizes | None:
    """Sizes at which the module does the same to fewer elements, found without any values; None
    where there are none that are much smaller."""
    wanted = _done(problem, case)
    if wanted is None:
        return None
    found, size_bytes = dict(case.sizes), wanted.size_bytes
    for name in found:
        while found[name] > 1 and size_bytes > ENOUGH_BYTES:
            tried = found | {name: found[name] // 2}
            done = _done(problem, replace(case, sizes=tuple(tried.items())))
            if done is None or not done.tells_of(wanted):
                break
            found, size_bytes = tried, done.size_bytes
    return tuple(found.items()) if 2 * size_bytes <= wanted.size_bytes else None


@dataclass(frozen=True, slots=True)
class Done:
    """What a module does in a case."""

    operators: tuple[tuple[str, int], ...]
    """In order: each, and how many terms each element of its result adds up."""
    size_bytes: int
    """Of all that it takes and gives."""
    outputs: tuple[int, ...]
    """Elements of each."""

    def tells_of(self, large: Done) -> bool:
        """Whether this is the same on fewer elements, and still on enough."""
        enough = all(
            one >= min(ENOUGH_ELEMENTS, other)
            for one, other in zip(self.outputs, large.outputs, strict=True)
        )
        return enough and self.operators == large.operators and self.size_bytes < large.size_bytes


def _done(problem: Problem, case: Case) -> Done | None:
    """None where the module cannot run on tensors without values."""
    met: list[tuple[str, int]] = []

    def noted(func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        out = func(*args, **kwargs)
        met.append((func.name(), terms_of(func._schema.name.removeprefix("aten::"), args, out)))
        return out

    try:
        with torch.device("meta"):
            reference = load_reference(problem, replace(case, distribution=AS_MADE))
            drawn = reference.draw(0)
            outputs = flatten(within(noted, *drawn))
    except Exception:  # noqa: BLE001  anything: the problem's own code ran
        return None
    _, state, arguments = drawn
    tensors = [*tensors_in((*state.values(), *arguments)), *outputs]
    size_bytes = sum(one.numel() * one.element_size() for one in tensors)
    return Done(tuple(met), size_bytes, tuple(one.numel() for one in outputs))
