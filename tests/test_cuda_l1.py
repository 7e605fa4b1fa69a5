"""CUDA-L1's third stage: islands, clipped z-scores, second measurements and quarantine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, pstdev, pvariance, stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.types import Evaluation, Record, Reward, Verdict
from kernelwright.rl.methods.base import RunView
from kernelwright.rl.methods.contrastive import Exemplar
from kernelwright.rl.methods.cuda_l1 import (
    LEAST_SPREAD,
    Method,
    Moments,
    Options,
    islands_at,
    mixed,
)
from tests.nouns import record, timing, verdict
from tests.one_step import one_step
from tests.rollouts import ScriptedJudge, block, player, rollouts, sampled, task
from tests.test_rollout import TRAINER, prompts
from tests.tiny_model import save_tiny

NUMBERS = st.lists(st.floats(-5, 5), min_size=1, max_size=9)


def moments(values: Sequence[float]) -> Moments:
    found = Moments()
    for one in values:
        found.add(one)
    return found


@given(NUMBERS, NUMBERS, st.integers(1, 20))
def test_a_task_s_moments_are_mixed_with_those_of_all(
    own: list[float], everything: list[float], rows: int
) -> None:
    mean, spread = mixed(moments(own), moments(everything), rows)
    count = len(own) + rows
    middle = (len(own) * fmean(own) + rows * fmean(everything)) / count
    squares = sum((one - middle) ** 2 for one in own) + rows * (
        pvariance(everything) + (fmean(everything) - middle) ** 2
    )
    assert mean == pytest.approx(middle, abs=1e-9)
    assert spread == pytest.approx(max(LEAST_SPREAD, (squares / count) ** 0.5), abs=1e-6)


def exemplar(speedup: float) -> Exemplar:
    return Exemplar(key=str(speedup), source=f"kernel {speedup}", speedup=speedup)


def test_the_worse_half_of_the_islands_begins_anew_from_the_best_kernel() -> None:
    dated = [
        (-1, None, exemplar(1.0)),
        (0, 0, exemplar(2.0)),
        (1, 1, exemplar(1.5)),
        (4, 1, exemplar(1.2)),
    ]
    speeds = [
        [[one.speedup for one in island] for island in islands_at(dated, 2, step, 4)]
        for step in (3, 4, 6)
    ]
    assert speeds[0] == [[1.0, 2.0], [1.0, 1.5]]
    assert speeds[1] == [[1.0, 2.0], [2.0]]
    assert speeds[2] == [[1.0, 2.0], [2.0, 1.2]]


def test_one_island_holds_all_and_is_never_emptied() -> None:
    dated = [(-1, None, exemplar(1.0)), *((step, 0, exemplar(2.0 + step)) for step in range(20))]
    (island,) = islands_at(dated, 1, 15, 4)
    assert [one.speedup for one in island] == [1.0, *(2.0 + step for step in range(15))]


def method(folder: Path, records: Sequence[Record] = (), **options: Any) -> Method:
    store = RecordStore(folder)
    store.append(records)
    return Method(Options(**options), RunView(seed=0, store=store))


def judged(step: int, row: int, speedup: float, **changed: Any) -> Record:
    asked = task("a")
    return record(
        step=step,
        row=row,
        problem="a",
        problem_key=asked.problem.key,
        source=f"right {speedup}",
        evaluation=replace(record().evaluation, timing=timing(round(1_000 * speedup), 1_000)),
        reward=Reward(parts={"speed": speedup}),
        **changed,
    )


def test_a_prompt_shows_kernels_of_its_own_island(tmp_path: Path) -> None:
    records = [judged(step, 0, 1.0 + step) for step in range(12)]
    asked = method(tmp_path, records, islands=2, reset_every=100)
    key = task("a").problem.key
    for step in range(1, 12):
        island = asked.island(key, step)
        own = {f"right {1.0 + one}" for one in range(step) if asked.island(key, one) == island}
        shown = asked.drawn(task("a").key, key, step)
        assert {one.source for one in shown} <= own
        assert len(shown) == 2 or len(own) < 2


# Through the rollout


class Shaky(ScriptedJudge):
    """Finds every kernel half as fast when it is asked again."""

    def judge(self, source: str, timed: bool) -> Evaluation:
        found = super().judge(source, timed)
        first = sum(timed and source in sources for sources, timed in self.calls) < 2
        return found if first or not found.timing else replace(found, timing=timing(1_100, 1_000))


def played(
    folder: Path, judge: ScriptedJudge, words: Sequence[str], step: int = 3
) -> list[tuple[Verdict, bool, bool]]:
    answers = [sampled(block(one)) for one in words]
    found = rollouts(
        folder,
        answers,
        method="cuda_l1",
        rows_per_group=len(words),
        player_at=lambda trainer, at: player(judge, answers, step=step, group_size=len(words)),
    )
    found(prompts(found, "a", times=len(words)), TRAINER)
    last = [one for one in found.store.read() if one.step == 3]
    return [
        (one.evaluation.verdict, one.evaluation.timing is not None, one.reward is not None)
        for one in last
    ]


def test_a_speed_that_is_too_good_is_measured_twice_and_believed_if_it_holds(
    tmp_path: Path,
) -> None:
    judge = ScriptedJudge()
    held = (Verdict.CORRECT, True, True)
    assert played(tmp_path, judge, ["right 4", "right 2"]) == [held, held]
    assert [sources for sources, timed in judge.calls if timed][1:] == [["right 4\n"]]


def test_a_speed_that_does_not_hold_is_no_exemplar_and_leaves_the_group(tmp_path: Path) -> None:
    found = played(tmp_path, Shaky(), ["right 4", "right 2"])
    assert found == [(Verdict.CORRECT, False, False), (Verdict.CORRECT, True, True)]


def test_more_than_twice_the_task_s_best_is_doubted_too(tmp_path: Path) -> None:
    RecordStore(tmp_path).append([judged(0, 0, 1.2)])
    judge = ScriptedJudge()
    played(tmp_path, judge, ["right 3", "right 2"])
    assert [sources for sources, timed in judge.calls if timed][1:] == [["right 3\n"]]


def test_a_kernel_that_is_found_out_is_taken_back_from_earlier_steps(tmp_path: Path) -> None:
    class Wiser(ScriptedJudge):
        def judge(self, source: str, timed: bool) -> Evaluation:
            return verdict(Verdict.CHEATED) if "trick" in source else super().judge(source, timed)

    tricked = replace(judged(1, 0, 2.0), source="right trick\n")
    RecordStore(tmp_path).append([tricked, judged(1, 1, 1.5)])
    played(tmp_path, Wiser(), ["right trick", "right 2"])
    assert [one.row for one in RecordStore(tmp_path).read() if one.step == 1] == [1]
    assert '"void":true' in (tmp_path / "records.jsonl").read_text()


def test_an_example_that_is_found_out_is_shown_no_more(tmp_path: Path) -> None:
    example = replace(judged(0, 0, 2.0), stage="triples")
    wrong = replace(judged(2, 0, 1.5), source=example.source, evaluation=verdict(Verdict.WRONG))
    known = method(tmp_path, [example, judged(0, 1, 1.5), wrong]).known()
    key = task("a").key
    assert [one.source for one in known.before(key, 2)] == ["right 2.0", "right 1.5"]
    assert [one.source for one in known.before(key, 3)] == ["right 1.5"]


def test_what_another_process_wrote_in_the_same_step_stands_and_is_shown_no_more(
    tmp_path: Path,
) -> None:
    tricked = replace(judged(1, 0, 2.0), source="odd trick\n")
    other = replace(tricked, step=3, row=9)
    RecordStore(tmp_path).append([tricked, other])

    class Wiser(ScriptedJudge):
        def judge(self, source: str, timed: bool) -> Evaluation:
            return verdict(Verdict.CHEATED) if "trick" in source else super().judge(source, timed)

    played(tmp_path, Wiser(), ["odd trick", "right 2"])
    standing = [one.id for one in RecordStore(tmp_path).read() if one.source == "odd trick\n"]
    assert standing == [other.id, ("grpo", 3, 0)]
    shown = method(tmp_path).known().before(task("a").key, 4)
    assert [one.source for one in shown] == ["right 2\n"]


def test_no_more_than_the_id_of_a_record_is_remembered_to_take_it_back(tmp_path: Path) -> None:
    asked = method(tmp_path, [judged(1, row, 2.0) for row in range(3)])
    asked.known()
    (found,) = asked._memory.known.right.values()
    assert found == {("grpo", 1, row) for row in range(3)}


def test_a_second_look_that_the_judge_fails_at_takes_nothing_back(tmp_path: Path) -> None:
    class Failing(ScriptedJudge):
        def judge(self, source: str, timed: bool) -> Evaluation:
            first = sum(timed and source in sources for sources, timed in self.calls) < 2
            return super().judge(source, timed) if first else verdict(Verdict.UNJUDGED)

    RecordStore(tmp_path).append([replace(judged(1, 0, 2.5), source="right 4\n")])
    left = (Verdict.CORRECT, False, False)
    assert played(tmp_path, Failing(), ["right 4", "right 2"])[0] == left
    assert [one.row for one in RecordStore(tmp_path).read() if one.step == 1] == [0]


# Through the trainer


@pytest.mark.model
def test_advantages_are_clipped_z_scores_over_the_run_scaled_by_the_group(
    tmp_path: Path,
) -> None:
    words = ["right 4", "wrong", "wrong", "wrong", "right 2", "right 1", "wrong", "right 4"]
    rewards = [2.0, 0.0, 0.0, 0.0, 1.5, 1.0, 0.0, 2.0]
    found = one_step(
        save_tiny(tmp_path / "model"),
        tmp_path,
        [sampled(block(one)) for one in words],
        method="cuda_l1",
        group_size=4,
        groups_per_step=2,
        steps=2,
    )
    expected = []
    for step in range(2):
        for group in (rewards[:4], rewards[4:]):
            seen = rewards if step else group
            scores = [(one - fmean(seen)) / pstdev(seen) for one in group]
            clipped = [max(-1.5, min(one, 1.5)) for one in scores]
            middle, spread = fmean(clipped), stdev(clipped) + 1e-4
            expected += [(one - middle) / spread for one in clipped]
    assert found.advantages == pytest.approx(expected, abs=1e-6)
    assert found.records[0].credit == pytest.approx(1.5)
    assert found.trainer.fast
