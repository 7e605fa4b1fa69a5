"""A plan that an untrusted process wrote raises, or addresses nothing but its own regions."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.device.messages import INPUTS, replay_message
from kernelwright.envs.dialects import triton
from kernelwright.envs.dialects.planned import misused
from kernelwright.envs.plan.plan import First, Plan
from kernelwright.envs.plan.steps import MOST_STEPS, Copy, Fill, Launch, Place, Step
from kernelwright.envs.referee.layout import GUARD_BYTES, offsets
from kernelwright.envs.types import Verdict

SPEC = CaseSpec(
    inputs=(
        TensorSpec(name="x", dtype="float32", shape=(5,)),
        TensorSpec(name="y", dtype="float64", shape=(3, 2)),
    ),
    outputs=(
        TensorSpec(name="out0", dtype="float32", shape=(4,)),
        TensorSpec(name="out1", dtype="bool", shape=(7,)),
    ),
    scalars=(),
)
BUFFERS = st.dictionaries(
    st.sampled_from(["new.0", "new.1", "x", INPUTS]), st.integers(0, 64), max_size=3
)
NAMES = ("x", "y", "out0", "out1", "new.0", "new.1", INPUTS, "")
PLACES = st.builds(Place, tensor=st.sampled_from(NAMES), offset=st.integers(0, 70))
SIZES = st.integers(0, 70)
FEW = st.integers(0, 2)
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(Fill, at=PLACES, fill=st.sampled_from(["00", "ffff", "0000803f"]), bytes=SIZES),
    st.builds(Copy, source=PLACES, to=PLACES, bytes=SIZES),
    st.builds(
        Launch,
        kernel=st.just("f"),
        grid=st.tuples(FEW, FEW, FEW),
        block=st.tuples(FEW, FEW, FEW),
        shared_bytes=FEW,
        arguments=st.lists(PLACES | st.just("2a000000"), max_size=3),
    ),
)
OUTPUTS: st.SearchStrategy[list[Place]] = st.just([]) | st.lists(PLACES, min_size=2, max_size=2)
PLANS = st.builds(
    Plan,
    steps=st.lists(STEPS, max_size=4),
    buffers=BUFFERS,
    outputs=OUTPUTS,
    first=st.none() | st.builds(First, steps=st.lists(STEPS, max_size=4), outputs=OUTPUTS),
    kernels=st.just([]),
)


@given(PLANS, st.booleans())
def test_a_plan_raises_or_addresses_only_its_own_regions(plan: Plan, bare: bool) -> None:
    try:
        told = replay_message(plan, SPEC, {}, bare=bare)
    except ValueError:
        return
    sizes = {**told["regions"], **told["buffers"]}
    inputs = {one.name for one in SPEC.inputs} if bare else {INPUTS}
    assert set(sizes) == inputs | {"out0", "out1", *plan.buffers}
    assert {region: size for region, _, size in told["inputs"]}.items() <= sizes.items()
    assert {region for region, *_ in told["inputs"]} == inputs
    for region, at, used_bytes in used(told):
        assert 0 <= at <= at + used_bytes <= sizes[region]
    ends = [place + size for *_, size, place in told["later"]["results"]]
    assert max(ends) <= offsets(SPEC.outputs, GUARD_BYTES)[1]


def used(told: dict[str, Any]) -> list[tuple[str, int, int]]:
    """(region, offset, bytes) of everything that the process is told to touch."""
    calls = [one for one in (told["first"], told["later"]) if one]
    found = [(region, at, size) for one in calls for region, at, size, _ in one["results"]]
    for step in (step for one in calls for step in one["steps"]):
        bytes_used = step.get("bytes", 0)
        found += [(*step[key], bytes_used) for key in ("at", "source", "to") if key in step]
        arguments = step.get("arguments", [])
        found += [(*one, 0) for one in arguments if isinstance(one, list)]
    return found


@given(PLANS.filter(lambda plan: not plan.outputs), st.data())
def test_one_place_outside_its_tensor_is_enough_to_refuse_a_plan(
    plan: Plan, data: st.DataObject
) -> None:
    sizes = {one.name: one.size_bytes for one in SPEC.tensors} | plan.buffers
    name = data.draw(st.sampled_from(sorted(sizes)))
    far = Place(tensor=name, offset=sizes[name] + data.draw(st.integers(0, 8)))
    step = Fill(at=far, fill="00", bytes=data.draw(st.integers(1, 8)))
    where = data.draw(st.integers(0, len(plan.steps)))
    steps = [*plan.steps[:where], step, *plan.steps[where:]]
    with pytest.raises(ValueError, match=r"is in no tensor|name of a tensor"):
        replay_message(plan.model_copy(update={"steps": steps}), SPEC, {})


def traced(steps_of_calls: list[int], buffers: int = 0) -> str:
    """What a trace says of one case whose calls have so many steps, as JSON."""
    ends = list(accumulate(steps_of_calls))
    place = {"tensor": "out0", "offset": 0}
    fill = {"at": place, "fill": "00", "bytes": 16}
    ended = [{"steps": one, "buffers": 0, "outputs": [place], "left_out": None} for one in ends]
    plan = {
        "steps": [fill] * ends[-1],
        "buffers": {f"new.{number}": 4 for number in range(buffers)},
        "constants": {},
        "record": {"calls": ended, "inputs": {}},
    }
    return json.dumps({"plans": [plan], "kernels": []})


def verdict_on(text: str) -> tuple[Verdict, str] | None:
    try:
        found = triton._Traced.model_validate_json(text)
        triton._plans(found.plans, [SPEC], found.kernels)
    except ValueError as error:
        judged = misused(error)
        return judged.verdict, judged.reason
    return None


def test_an_answer_with_too_many_launches_is_no_cheat() -> None:
    most, too_many = MOST_STEPS, (Verdict.TIMED_OUT, "too_many_launches")
    assert verdict_on(traced([1, most, most])) is None
    assert verdict_on(traced([1, most + 1, 1])) == too_many
    assert verdict_on(traced([most, most, most + 1])) == too_many
    assert verdict_on(traced([1, 1, 1], buffers=3 * most + 1)) == too_many
    assert verdict_on(traced([2, 1, 1])[:-1]) == (Verdict.CHEATED, "launch_misused")
