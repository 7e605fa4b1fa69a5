"""Builds an answer's plan from the record of three calls.

Each call gets inputs with other values: the second at new addresses, the third at those of the
second. Parameters keep their addresses and change their values. So the record shows what an answer
keeps between calls (buffers, packed weights, results). Weights that it packs once are wrong for the
next parameters; results that it caches by address are wrong for the next values.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

from pydantic import Field

from kernelwright.envs.plan.plan import CALLS, First, Plan, Result, tensors_of
from kernelwright.envs.plan.steps import MOST_STEPS, Copy, Name, Place, Said, Step, Strict

_OWN = re.compile(r'"((?:new|host)\.\d+)"')


class Ended(Strict):
    """The record at the end of a call: its length, the places of the results, and the first step
    that cannot be replayed."""

    steps: Annotated[int, Field(ge=0, le=CALLS * MOST_STEPS)]
    buffers: Annotated[int, Field(ge=0, le=CALLS * MOST_STEPS)]
    outputs: Annotated[list[Place], Field(max_length=MOST_STEPS)]
    left_out: Said | None


class Record(Strict):
    """The record of all calls. `inputs`: buffers given to the first call, and their replacements in
    the others. `tuned`: the first call tried a kernel before it launched it."""

    inputs: Annotated[dict[Name, Name], Field(max_length=MOST_STEPS)]
    calls: Annotated[list[Ended], Field(min_length=CALLS, max_length=CALLS)]
    tuned: bool = False


class TooManyStepsError(ValueError):
    """A call has more steps than are replayed: an honest answer may launch so many kernels."""

    def __init__(self) -> None:
        super().__init__(f"more than {MOST_STEPS} launches, copies and allocations in one call")


def last_call(
    plan: Plan, steps: list[Step], record: Record, sizes_bytes: Sequence[int] = ()
) -> Plan:
    """The plan of the last call, of which `plan` has all but the steps: those are of all calls.

    It has a first call where that does something else, or leaves something that the last needs;
    where the second, at the same places as the last, does something else than the last, the first
    two are its first. `sizes_bytes` are those of the results, which are looked at again where a
    later call has to do with their memory. Raises TooManyStepsError.
    """
    ends = [0, *(one.steps for one in record.calls)]
    if any(end - start > MOST_STEPS for start, end in pairwise(ends)):
        raise TooManyStepsError
    calls = [steps[start:end] for start, end in pairwise(ends)]
    count = _calls_before(plan, record, calls)
    begun, results = _begun(plan, record, calls, count, sizes_bytes)
    of_calls = [one.left_out for one in (record.calls[-1], *record.calls[:count])]
    buffers = plan.buffers | {one.copied.tensor: one.bytes for one in results}
    found = plan.model_copy(
        update={
            "steps": calls[-1],
            "outputs": record.calls[-1].outputs,
            "results": results,
            "left_out": next(filter(None, [*of_calls, plan.left_out]), None),
            "first": First(steps=begun, outputs=record.calls[count - 1].outputs) if count else None,
        }
    )
    mentioned = found.mentioned | tensors_of(begun, found.first.outputs if found.first else ())
    return found.model_copy(
        update={
            "buffers": {name: size for name, size in buffers.items() if name in mentioned},
            "constants": {name: one for name, one in plan.constants.items() if name in mentioned},
        }
    )


def _calls_before(plan: Plan, record: Record, calls: Sequence[list[Step]]) -> int:
    """How many calls come before the last, for it to be what it is."""
    first, second, last = calls
    told = _Told(plan, record, calls)
    needed = tensors_of(last, record.calls[-1].outputs)
    if needed & _new(plan, record, 1) or told.of(second) != told.of(last):
        return 2
    results = {one.tensor for one in record.calls[0].outputs} & plan.buffers.keys()
    kept = needed & (_new(plan, record, 0) | results)
    return 1 if kept or record.tuned or told.of(first) != told.of(last) else 0


def _begun(
    plan: Plan,
    record: Record,
    calls: Sequence[list[Step]],
    count: int,
    sizes_bytes: Sequence[int],
) -> tuple[list[Step], list[Result]]:
    """The steps of the first `count` calls, which begin with copies of the inputs; and those of
    their results whose memory a later call uses, each copied when its call is over."""
    begun: list[Step] = [
        Copy(source=Place(tensor=of, offset=0), to=Place(tensor=name, offset=0), bytes=size)
        for name, of in record.inputs.items()
        for size in [plan.buffers.get(name, 0)]
        if size and count
    ]
    kept: list[Result] = []
    for number in range(count):
        begun += calls[number]
        later = set[str]().union(*map(tensors_of, calls[number + 1 :])) & plan.buffers.keys()
        for place, size in zip(record.calls[number].outputs, sizes_bytes, strict=False):
            if size and place.tensor in later:
                copied = Place(tensor=f"result.{len(kept)}", offset=0)
                begun.append(Copy(source=place, to=copied, bytes=size))
                kept.append(Result(at=place, copied=copied, bytes=size))
    return begun, kept


def _new(plan: Plan, record: Record, call: int) -> set[str]:
    """The buffers that a call made."""
    start = record.calls[call - 1].buffers if call else 0
    names = {f"new.{number}" for number in range(start, record.calls[call].buffers)}
    return names - plan.constants.keys()


class _Told:
    """Calls as texts that are equal where they do the same."""

    def __init__(self, plan: Plan, record: Record, calls: Sequence[list[Step]]) -> None:
        self.inputs = record.inputs
        met = [tensors_of(one) for one in calls]
        self.known = {
            name: name
            if sum(name in one for one in met) > 1
            else hashlib.sha256(content.encode()).hexdigest()
            for name, content in plan.constants.items()
        }

    def of(self, call: list[Step]) -> str:
        """With inputs by their names, constants by their names or what is in them, and other
        buffers in their order."""
        known = self.known | self.inputs
        text = "\n".join(one.model_dump_json() for one in call)
        return _OWN.sub(lambda one: f'"{known.setdefault(one[1], f"new {len(known)}")}"', text)
