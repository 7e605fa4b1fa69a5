"""Mutants of a problem's module: its computation with one fault that a kernel may have.

A problem whose cases do not tell a mutant from the module pays for kernels that do as the mutant.
Trusted code: it runs the problem's own module, in float64, with one call (mutant_calls.py,
mutant_layers.py), one loop (mutant_loops.py), one argument, one state or its output changed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from kernelwright.envs.reference.module import (
    PROBLEM_FILE,
    Drawn,
    Reference,
    flatten,
    forward,
    forward_float64,
    sized_code,
)
from kernelwright.envs.reference.mutant_calls import Call, Change, is_tensor, name_of
from kernelwright.envs.reference.mutant_layers import faults_of
from kernelwright.envs.reference.mutant_loops import LoopMutant, loop_mutants, swapped
from kernelwright.envs.types import Problem

Way = Callable[[Reference, Drawn, Drawn], list[Any]]
"""The outputs of a mutant in float64: for the reference of a case, the timed case's first draw, and
this draw."""
Site = tuple[str, tuple[tuple[str, int, str], ...]]
"""A function, and from where it is called: for each frame its code, the place in it, and whose
method it is."""

MOST, FEWEST = 96, 24
"""Mutants of a problem: of a deep module, the same call of many layers would be most of them."""
SMALL_ELEMENTS = 1 << 22
"""Of states, arguments and outputs, up to which there are MOST mutants; of twice as large ones half
as many, down to FEWEST."""
QUARTER, TAIL = 4, 64
DEEPEST = 64


@dataclass(frozen=True, slots=True)
class Mutant:
    """A variant of the module with one fault."""

    kind: str
    place: str
    """What it is left out of: a function with its line, an argument, a state, the output."""
    way: Way

    @property
    def name(self) -> str:
        return f"{self.kind}@{self.place}"


def mutants_of(problem: Problem, reference: Reference) -> list[Mutant]:
    """All of them, up to a number; of equal ones in many layers those of the first."""
    drawn = reference.draw(1)
    found = [*_of_arguments(reference, drawn), *_of_loops(problem, reference)]
    found += [*_of_calls(drawn), *_of_outputs(drawn)]
    seen: Counter[str] = Counter()
    ranked: list[tuple[int, int, Mutant]] = []
    for one in found:
        alike = f"{one.kind}@{one.place.partition(' line ')[0]}"
        ranked.append((seen[alike], len(ranked), one))
        seen[alike] += 1
    chosen = sorted(ranked, key=lambda one: one[:2])[: _most(drawn)]
    return _named([one for _, _, one in sorted(chosen, key=lambda one: one[1])])


def _most(drawn: Drawn) -> int:
    given = [*drawn[1].values(), *drawn[2], *flatten(forward(*drawn))]
    elements = sum(int(one.numel()) for one in given if is_tensor(one))
    return max(FEWEST, min(MOST, MOST * SMALL_ELEMENTS // max(1, elements)))


def _named(mutants: list[Mutant]) -> list[Mutant]:
    """The same, with numbers where several have one name."""
    counts = Counter(one.name for one in mutants)
    seen: Counter[str] = Counter()
    found = []
    for one in mutants:
        seen[one.name] += 1
        place = f"{one.place} #{seen[one.name]}" if counts[one.name] > 1 else one.place
        found.append(replace(one, place=place))
    return found


# Arguments and states


def _of_arguments(reference: Reference, drawn: Drawn) -> Iterator[Mutant]:
    _, state, arguments = drawn
    for number, one in enumerate(arguments):
        name = reference.names[number] if number < len(reference.names) else str(number)
        yield Mutant("constant_argument", name, _constant_argument(number))
        if is_tensor(one):
            for axis in range(one.dim()):
                for kind, share in (("dropped_block", QUARTER), ("dropped_tail", TAIL)):
                    if one.shape[axis] >= QUARTER:
                        way = _without_end(number, axis, share)
                        yield Mutant(kind, f"{name} axis {axis}", way)
    for name in state:
        yield Mutant("constant_state", name, _constant_state(name))


def _constant_argument(number: int) -> Way:
    def way(_: Reference, first: Drawn, drawn: Drawn) -> list[Any]:
        arguments = list(drawn[2])
        arguments[number] = first[2][number]
        return flatten(forward_float64(drawn[0], drawn[1], arguments))

    return way


def _constant_state(name: str) -> Way:
    def way(_: Reference, first: Drawn, drawn: Drawn) -> list[Any]:
        state = {**drawn[1], name: first[1][name]}
        return flatten(forward_float64(drawn[0], state, drawn[2]))

    return way


def _without_end(number: int, axis: int, share: int) -> Way:
    """The last elements along an axis are the first ones once more."""

    def way(_: Reference, __: Drawn, drawn: Drawn) -> list[Any]:
        arguments = list(drawn[2])
        changed = arguments[number].clone()
        size = changed.shape[axis]
        count = max(1, size // share)
        changed.narrow(axis, size - count, count).copy_(changed.narrow(axis, 0, count).clone())
        arguments[number] = changed
        return flatten(forward_float64(drawn[0], drawn[1], arguments))

    return way


# Outputs


def _of_outputs(drawn: Drawn) -> Iterator[Mutant]:
    _, _, arguments = drawn
    batches = {one.shape[0] for one in arguments if is_tensor(one) and one.dim()}
    outputs = flatten(forward(*drawn))
    for number, one in enumerate(outputs):
        if one.dim() and one.shape[0] > 1 and one.shape[0] in batches:
            yield Mutant("batch_of_one", f"output {number}", _one_row(number))
        if str(one.dtype) in ("torch.bfloat16", "torch.float16"):
            yield Mutant("biased", f"output {number}", _scaled(number))


def _one_row(number: int) -> Way:
    def way(_: Reference, __: Drawn, drawn: Drawn) -> list[Any]:
        outputs = flatten(forward_float64(*drawn))
        outputs[number] = outputs[number][:1].expand_as(outputs[number]).contiguous()
        return outputs

    return way


TOO_LARGE = 1.02
"""Factor on results in half precision: some answers that passed were too large by it."""


def _scaled(number: int) -> Way:
    def way(_: Reference, __: Drawn, drawn: Drawn) -> list[Any]:
        outputs = flatten(forward_float64(*drawn))
        outputs[number] = outputs[number] * TOO_LARGE
        return outputs

    return way


# Loops


def _of_loops(problem: Problem, reference: Reference) -> Iterator[Mutant]:
    code = sized_code(problem, reference.case)
    for one in loop_mutants(code, f"<problem {problem.name}>"):
        yield Mutant(one.kind, f"loop line {one.line}", _changed_loop(one))


def _changed_loop(mutant: LoopMutant) -> Way:
    def way(reference: Reference, _: Drawn, drawn: Drawn) -> list[Any]:
        with swapped(reference.namespace, mutant.code):
            return flatten(forward_float64(*drawn))

    return way


# Calls


def _of_calls(drawn: Drawn) -> Iterator[Mutant]:
    found: dict[tuple[Site, int], Mutant] = {}

    def look(call: Call, frame: FrameType, names: dict[int, str]) -> Any:
        faults = faults_of(call)
        if faults:
            site = site_of(call, frame, names)
            place = f"{name_of(call.function)} line {_line(frame)}"
            for number, (kind, change) in enumerate(faults):
                if (site, number) not in found:
                    found[site, number] = Mutant(kind, place, _changed_call(site, change))
        return call.function(*call.args, **call.kwargs)

    with _watching(drawn[0], look):
        forward(*drawn)
    yield from found.values()


def _changed_call(site: Site, change: Change) -> Way:
    def at_site(call: Call, frame: FrameType, names: dict[int, str]) -> Any:
        if name_of(call.function) != site[0] or site_of(call, frame, names) != site:
            return call.function(*call.args, **call.kwargs)
        found = change(call)
        return call.args[0].copy_(found) if call.in_place and is_tensor(found) else found

    def way(_: Reference, __: Drawn, drawn: Drawn) -> list[Any]:
        with _watching(drawn[0], at_site):
            return flatten(forward_float64(*drawn))

    return way


@contextmanager
def _watching(
    model: Any, on_call: Callable[[Call, FrameType, dict[int, str]], Any]
) -> Iterator[None]:
    """Every call to PyTorch that the module makes goes through this."""
    import torch

    names = {id(module): name for name, module in model.named_modules()}

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, function: Any, _: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return on_call(Call(function, args, kwargs or {}), sys._getframe(1), names)

    with Watch():
        yield


def site_of(call: Call, frame: FrameType | None, names: dict[int, str]) -> Site:
    """Where the module calls this: the same for every draw and every case."""
    places: list[tuple[str, int, str]] = []
    while frame is not None and len(places) < DEEPEST:
        code = frame.f_code
        if code.co_name == "functional_call":
            break
        owner = frame.f_locals.get("self") if code.co_varnames[:1] == ("self",) else None
        places.append((code.co_name, frame.f_lasti, names.get(id(owner), "")))
        frame = frame.f_back
    return name_of(call.function), tuple(places)


def _line(frame: FrameType | None) -> int:
    """The problem's own line that leads here."""
    while frame is not None:
        if PROBLEM_FILE.fullmatch(frame.f_code.co_filename):
            return frame.f_lineno
        frame = frame.f_back
    return 0
