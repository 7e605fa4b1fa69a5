"""Stored answers are priced again: as they were, and as every other reward would have paid."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.commands.reprice import RepriceError, reprice, text
from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.types import Evaluation, Record, Verdict
from kernelwright.envs.workers.compile_baseline import CompiledBaseline
from kernelwright.evals.numbers.compiled_baselines import Known, write_baselines
from kernelwright.rewards.price import PRESETS, price, price_groups
from kernelwright.rl.rollout.repriced import RECORDED, Repriced, groups_of, totals
from tests.nouns import correct, record, timing, verdict

FAST, SLOW = (correct(timing(1_000 * times, 1_000)) for times in (4, 1))
WRONG, ODD, CHEAT = (verdict(one) for one in (Verdict.WRONG, Verdict.UNJUDGED, Verdict.CHEATED))
GROUPS = {"a": [FAST, SLOW, WRONG, WRONG], "b": [WRONG, WRONG, WRONG, ODD], "c": [FAST] * 4}


def records(preset: str = "default", stage: str = "grpo") -> list[Record]:
    rows = [(name, one) for name, group in GROUPS.items() for one in group]
    return [
        record(stage, row=row, problem_key=name, evaluation=one, reward=price(preset, one))
        for row, (name, one) in enumerate(rows)
    ]


def repriced(folder: Path, some: Sequence[Record]) -> dict[str, Repriced]:
    RecordStore(folder).append(some)
    return {one.reward: one for one in reprice(folder)}


def test_the_run_s_own_reward_is_what_is_on_record(tmp_path: Path) -> None:
    found = repriced(tmp_path, records())
    assert found["default"] == replace(found[RECORDED], reward="default")
    assert found[RECORDED].priced == 11
    assert found[RECORDED].correlation == pytest.approx(1)
    assert next(iter(found)) == RECORDED
    assert {*PRESETS, "makora", "cuda_agent", RECORDED} == set(found)


def test_means_live_groups_and_advantages_are_those_of_the_groups(tmp_path: Path) -> None:
    found = repriced(tmp_path, records())
    one = found["default"]
    assert one.mean == pytest.approx((2 + 1 + 4 * 2) / 11)
    assert one.live == pytest.approx(1 / 3)
    right, wrong = (1.25 + 0.25 + 4 * 0) / 6, (2 * -0.75 + 3 * 0) / 5
    assert one.advantage == pytest.approx({"correct": right, "wrong": wrong})
    assert found["autotriton"].advantage == pytest.approx({"correct": 1 / 6, "wrong": -0.2})
    assert found["autotriton"].correlation is not None
    assert 0 < found["autotriton"].correlation < 1


def test_what_needs_torch_compile_is_priced_where_the_folder_has_it(tmp_path: Path) -> None:
    compiled = CompiledBaseline(timing=timing(2_000, 1_000), compile_s=1.0)
    write_baselines(tmp_path, [Known(problem="a", problem_key="a", compiled=compiled)])
    found = repriced(tmp_path, records())
    assert found["cuda_agent"].priced == found["makora"].priced == 4
    assert found["cuda_agent"].mean == pytest.approx((3 + 1 - 1 - 1) / 4)


def test_without_such_baselines_it_is_said_by_a_count_of_nothing(tmp_path: Path) -> None:
    one = repriced(tmp_path, records())["makora"]
    assert (one.priced, one.mean, one.correlation, one.live) == (0, None, None, None)


def test_answers_that_pytorch_may_compute_have_no_coverage() -> None:
    some = [record(evaluation=FAST), record(row=1, evaluation=FAST, torch_allowed=True)]
    assert totals("dr_kernel", some) == [2.5, None]
    assert totals("kevin", some) == [4.3, 4.3]


def test_a_gate_sees_the_answers_of_one_turn() -> None:
    first = [record(row=row, evaluation=one) for row, one in enumerate((FAST, WRONG, WRONG))]
    second = [
        record(row=row, evaluation=one, turn=1) for row, one in enumerate((FAST, FAST, WRONG), 3)
    ]
    assert totals("kernelzero", first + second) == pytest.approx([1, 0, 0, 1.4, 1.4, 0])


@given(st.lists(st.sampled_from([FAST, SLOW, WRONG, CHEAT, ODD, correct()]), max_size=8))
def test_prices_are_those_that_training_gives(group: list[Evaluation]) -> None:
    some = [record(row=row, evaluation=one) for row, one in enumerate(group)]
    for preset in PRESETS:
        rewards = price_groups(preset, ["k"] * len(group), group)
        assert totals(preset, some) == [one and one.total for one in rewards]


def test_a_task_that_two_processes_ask_in_one_step_is_two_groups() -> None:
    """Each has all trajectories; together they would be compared by another mean."""
    ways = [(process, way) for process in range(2) for way in range(3)]
    some = [
        record(row=10 * process + way, trajectory=way, turn=0) for process, way in reversed(ways)
    ]
    assert [[some[place].row for place in one] for one in groups_of(some)] == [
        [0, 1, 2],
        [10, 11, 12],
    ]
    measured = [record("eval_after", row=row) for row in range(4)]
    assert groups_of(measured) == [[0, 1, 2, 3]]


def test_a_run_without_records_of_the_stage_names_those_it_has(tmp_path: Path) -> None:
    RecordStore(tmp_path).append(records(stage="eval_after"))
    with pytest.raises(RepriceError, match="no records of stage grpo; its stages are: eval_after"):
        reprice(tmp_path)
    assert reprice(tmp_path, "eval_after")[0].priced == 11


def test_a_method_s_advantages_are_made_of_each_reward(tmp_path: Path) -> None:
    turns = [
        record(row=2 * way + turn, trajectory=way, turn=turn, evaluation=one)
        for way, pair in enumerate(((WRONG, FAST), (WRONG, WRONG), (SLOW, FAST)))
        for turn, one in enumerate(pair)
    ]
    RecordStore(tmp_path).append(turns)
    found = {one.reward: one for one in reprice(tmp_path, method="trloo")}["autotriton"]
    first, second = [1.0, 0.0, 2.0], [1.0, 0.0, 1.0]
    a, b = ([3 / 2 * (one - fmean(some)) for one in some] for some in (first, second))
    wrong, right = fmean([a[0], a[1], b[1]]), fmean([a[2], b[0], b[2]])
    assert found.advantage == pytest.approx({"correct": right, "wrong": wrong})
    kevin = {one.reward: one for one in reprice(tmp_path, method="kevin")}["autotriton"]
    returns = [0.4, 1.0, 0.0, 0.0, 1.4, 1.0]
    scaled = [(one - fmean(returns)) / (stdev(returns) + 1e-4) for one in returns]
    assert kevin.advantage["wrong"] == pytest.approx(fmean([scaled[0], scaled[2], scaled[3]]))


@pytest.mark.parametrize(
    ("method", "why"), [("tritonrl", "tokens are not on record"), ("kevn", "no method 'kevn'")]
)
def test_a_method_that_records_do_not_carry_is_refused(
    method: str, why: str, tmp_path: Path
) -> None:
    RecordStore(tmp_path).append(records())
    with pytest.raises(RepriceError, match=why):
        reprice(tmp_path, method=method)


def test_the_command_prints_a_table_or_a_list(tmp_path: Path) -> None:
    RecordStore(tmp_path).append(records())
    shown = CliRunner().invoke(app, ["reprice", str(tmp_path)])
    assert shown.exit_code == 0
    assert shown.stdout.rstrip("\n") == text(reprice(tmp_path))
    head, first, *_ = shown.stdout.splitlines()
    assert head.split("  ")[0] == "reward"
    assert head.endswith("A(wrong)")
    assert first.split() == [RECORDED, "11", "1.000", "1.000", "33%", "0.250", "-0.300"]
    listed = json.loads(CliRunner().invoke(app, ["reprice", str(tmp_path), "--json"]).stdout)
    assert [one["reward"] for one in listed] == [one.reward for one in reprice(tmp_path)]
    refused = CliRunner().invoke(app, ["reprice", str(tmp_path), "--stage", "rft"])
    assert refused.exit_code == 2
    assert "no records of stage rft" in refused.stderr
