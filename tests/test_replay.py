"""A record can be judged again: the same inputs, the same errors, the same binary."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.commands.replay import ReplayError, find_problem, find_record, replay, text
from kernelwright.data.runs.records import RecordStore
from kernelwright.data.suites.load import load_suite
from kernelwright.envs.judge import NO_CODE_BLOCK, Judge
from kernelwright.envs.reference.admitted import without_kept
from kernelwright.envs.types import Candidate, Evaluation, Problem, Record, Verdict
from kernelwright.machine.facts import versions

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[1]
SUITE = f"kernelbench:{Path(__file__).parent / 'fixtures' / 'kernelbench'}?levels=1&ids=1"
KERNEL = """#include <stdint.h>
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t x_1,
                       int64_t y_0, int64_t y_1, int64_t out_0, int64_t out_1) {
  for (int64_t i = 0; i < x_0 * x_1; ++i) out[i] = (x[i] > y[i] ? x[i] - y[i] : 0) + 0.25f;
}
"""
RIGHT, NEARLY, UNTIMED, BROKEN, NONE = range(5)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_suite(SUITE).problems[0]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, problem: Problem) -> Path:
    """The folder of an evaluation with one answer of each kind."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "eval.json").write_text(json.dumps({"question": {"suite": SUITE}, "seconds": 1}))
    nearly = KERNEL.replace("0.25f", "0.26f")
    with Judge(workers=1) as judge:

        def judged(one: str, *, timed: bool = True) -> Evaluation:
            candidate = Candidate(problem_key=problem.key, dialect="cpp", source=one)
            return judge.evaluate(problem, candidate, timed=timed)

        answers: list[tuple[str | None, Evaluation]] = [
            (KERNEL, judged(KERNEL)),
            (nearly, judged(nearly)),
            (KERNEL, judged(KERNEL, timed=False)),
            ("nonsense", judged("nonsense")),
            (None, NO_CODE_BLOCK),
        ]
    RecordStore(folder).append(
        Record(
            stage="eval",
            step=0,
            row=row,
            problem=problem.name,
            problem_key=problem.key,
            dialect="cpp",
            prompt="",
            completion="",
            source=one,
            evaluation=evaluation,
            reward=None,
            versions=versions(),
        )
        for row, (one, evaluation) in enumerate(answers)
    )
    return folder


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (RIGHT, Verdict.CORRECT),
        (NEARLY, Verdict.WRONG),
        (UNTIMED, Verdict.CORRECT),
        (BROKEN, Verdict.BUILD_FAILED),
    ],
)
def test_a_verdict_holds_with_the_same_errors_and_the_same_binary(
    run: Path, row: int, verdict: Verdict
) -> None:
    found = replay(run, f"eval/0/{row}", versions())
    assert (found.holds, found.again.verdict) == (True, verdict)
    assert found.record.evaluation.reason == found.again.reason
    common, alike = found.rounds
    assert common == alike
    assert (common == 0) == (verdict is Verdict.BUILD_FAILED)
    told = found.plain()
    assert told["same_environment"] is True
    assert told["same_binary"] is (None if verdict is Verdict.BUILD_FAILED else True)
    assert row == RIGHT or told["speedup"] == [None, None]
    assert not found.changed_versions


def test_another_seed_has_other_errors(run: Path) -> None:
    record = find_record(run, f"eval/0/{NEARLY}")
    other = RecordStore(run / "other")
    other.path.parent.mkdir()
    (run / "other" / "eval.json").write_text((run / "eval.json").read_text())
    other.append([replace(record, evaluation=replace(record.evaluation, seed=1))])
    found = replay(run / "other", f"eval/0/{NEARLY}", versions())
    assert found.holds
    common, alike = found.rounds
    assert alike < common


@pytest.mark.slow
def test_a_verdict_that_does_not_hold_is_said_and_exits_with_1(run: Path, tmp_path: Path) -> None:
    record = find_record(run, f"eval/0/{NEARLY}")
    wrong = replace(record.evaluation, verdict=Verdict.CRASHED, reason="signal_11")
    old = {**record.versions, "torch": "0.1"}
    RecordStore(tmp_path).append([replace(record, evaluation=wrong, versions=old)])
    (tmp_path / "eval.json").write_text((run / "eval.json").read_text())
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from kernelwright.cli import main; main()",
            *("replay", str(tmp_path), f"eval/0/{NEARLY}"),
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "crashed (signal_11), again wrong (mismatch): DOES NOT HOLD" in done.stdout
    assert f"torch 0.1 {versions()['torch']}" in done.stdout


def test_every_comparison_is_a_line(run: Path) -> None:
    lines = text(replay(run, f"eval/0/{RIGHT}", versions())).splitlines()
    names = ["record", "verdict", "rounds", "speedup", "environment", "binary"]
    # A module may be too quick, on a busy machine, to have a speed.
    assert [line.split()[0] for line in lines] in (
        names,
        [one for one in names if one != "speedup"],
    )


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("eval/0", "names no record: write STAGE/STEP/ROW"),
        ("eval/0/99", "has no record eval/0/99; its stages are: eval"),
        (f"eval/0/{NONE}", r"was never run: no_kernel \(no_code_block\)"),
    ],
)
def test_what_cannot_be_replayed_is_said(run: Path, place: str, said: str) -> None:
    with pytest.raises(ReplayError, match=said):
        replay(run, place, versions())


def test_a_record_of_a_version_without_seeds_is_read_and_cannot_be_replayed(
    run: Path, tmp_path: Path
) -> None:
    lines = (run / "records.jsonl").read_text(encoding="utf-8").splitlines()
    plain = json.loads(lines[RIGHT])
    del plain["evaluation"]["seed"]
    (tmp_path / "records.jsonl").write_text(json.dumps(plain) + "\n", encoding="utf-8")
    with pytest.raises(ReplayError, match="did not keep the seed"):
        replay(tmp_path, f"eval/0/{RIGHT}", versions())


def test_a_problem_that_changed_since_is_not_judged_in_its_place(run: Path) -> None:
    record = replace(find_record(run, f"eval/0/{RIGHT}"), problem_key="0123456789abcdef")
    with pytest.raises(ReplayError, match="has the key 0123456789abcdef"):
        find_problem(run, record)


def test_a_training_run_names_its_suites_in_its_recipe(tmp_path: Path, problem: Problem) -> None:
    text = f"data:\n  train_suite: '{SUITE}'\n  held_out_suite: starter:held_out\n"
    text += "  sft_suite: starter:sft?sizes=gpu\n"
    (tmp_path / "recipe.resolved.yaml").write_text(text)
    suites = ("starter:train", "starter:sft?sizes=gpu")
    loaded = [load_suite(one).problems for one in suites]
    keys = [problem.key, *(one[0].key for one in loaded)]
    keys += [without_kept(one).key for one in loaded[0]][:20]
    for key in keys:
        record = Record(
            stage="grpo",
            step=0,
            row=0,
            problem="p",
            problem_key=key,
            dialect="cpp",
            prompt="",
            completion="",
            source="",
            evaluation=Evaluation(verdict=Verdict.WRONG, reason="mismatch"),
            reward=None,
        )
        assert find_problem(tmp_path, record).key == key
