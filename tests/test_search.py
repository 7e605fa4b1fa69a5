"""Search: modes are pure functions of what was found, and what was stopped goes on as it was."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.commands.search_folder import file_of, given_kernels
from kernelwright.data.runs.stages import SEARCH, SEARCH_AGAIN, SEARCH_START
from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Evaluation, Verdict
from kernelwright.envs.workers.pool import JudgeError
from kernelwright.evals.numbers.search_results import best_so_far, found_in
from kernelwright.rl.policies.hf import ScriptedPolicy
from kernelwright.rl.search.archive import Archive
from kernelwright.rl.search.mode import mode_names, start_mode
from tests.landscape import hinted, speedup
from tests.nouns import RELU_KERNEL, RELU_MODULE
from tests.rollouts import ScriptedJudge
from tests.searches import (
    MODES,
    NAMES,
    PROBLEMS,
    Improver,
    best,
    plain,
    searched,
    settings,
    without_modules,
)
from tests.tiny_model import save_tiny

every_mode = pytest.mark.parametrize(("name", "options"), MODES, ids=NAMES)


@pytest.fixture(autouse=True)
def prompts_without_modules(monkeypatch: pytest.MonkeyPatch, request: Any) -> None:
    if "sandbox" not in request.keywords:
        without_modules(monkeypatch)


@every_mode
def test_a_mode_asks_for_as_many_as_it_is_told_and_from_kernels_it_was_given(
    name: str, options: dict[str, Any]
) -> None:
    mode, archive = start_mode(name, options), Archive()
    for record in searched(name, options):
        if record.stage == SEARCH and record.problem == "a":
            requests = mode.ask(archive, record.step, 5, random.Random(0))
            assert len(requests) == 5
            taken = {one.key for it in requests for one in (*filter(None, [it.parent]), *it.shown)}
            assert taken <= archive.kernels.keys()
            assert requests == mode.ask(archive, record.step, 5, random.Random(0))
            archive.add([record])


@every_mode
@pytest.mark.parametrize("kinds", ["none", "bandit"])
def test_a_search_that_was_killed_goes_on_with_the_records_it_would_have_had(
    name: str, options: dict[str, Any], kinds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelwright.rl.search.search.TOGETHER", 8)
    whole = searched(name, options, kinds=kinds)
    for calls in (1, 2, 5, 9):
        part = searched(name, options, kinds=kinds, stop_after=calls)
        assert 0 < len(part) < len(whole)
        assert plain(searched(name, options, kinds=kinds, kept=part)) == plain(whole)


@every_mode
def test_with_equal_budgets_what_learns_from_earlier_answers_finds_more(
    name: str, options: dict[str, Any]
) -> None:
    independent = fmean(best(searched("best_of_n", seed=seed)) for seed in range(8))
    found = fmean(best(searched(name, options, seed=seed)) for seed in range(8))
    assert speedup(1) <= independent <= speedup(2)
    gain = {"best_of_n": 1.0, "refine": 1.1}.get(name, 1.5)  # a chain goes on from its failures
    assert found >= gain * independent


@every_mode
def test_a_given_kernel_is_improved_on_and_measured_beside_what_was_found(
    name: str, options: dict[str, Any]
) -> None:
    start = {one.key: "kernel 4 right" for one in PROBLEMS[:2]}
    records = searched(name, options, start=start)
    assert [one.problem for one in records if one.stage == SEARCH_START] == ["a", "b"]
    first = [one for one in records if (one.stage, one.step, one.problem) == (SEARCH, 0, "a")]
    assert any("kernel 4 right" in one.prompt for one in first)
    assert best(records) > best(searched(name, options))
    for found in found_in(records):
        assert found.asked == 24
        assert (found.given is not None) == (found.problem != "c")
        assert found.again is not None
        assert found.given is None or found.again.low >= found.given.low
    assert best_so_far(records, [0])[0]["solved"] == pytest.approx(2 / 3)


@every_mode
def test_a_search_with_a_given_kernel_goes_on_with_the_records_it_would_have_had(
    name: str, options: dict[str, Any]
) -> None:
    start = {PROBLEMS[0].key: "kernel 3 wrong", PROBLEMS[1].key: "kernel 3 right"}
    whole = searched(name, options, start=start)
    for calls in (1, 3):
        part = searched(name, options, start=start, stop_after=calls)
        assert plain(searched(name, options, start=start, kept=part)) == plain(whole)


def test_where_no_answer_is_better_the_given_kernel_is_what_was_found() -> None:
    start = {PROBLEMS[0].key: "right 9"}
    policy = ScriptedPolicy(["```cpp\nright 3\n```"] * 4)
    records = searched(
        "refine",
        policy=policy,
        judge=ScriptedJudge(),
        problems=PROBLEMS[:1],
        start=start,
        budget=4,
        finalists=1,
    )
    (found,) = found_in(records)
    assert (found.row, found.source, found.right) == (None, "right 9", 4)
    assert found.given == found.again
    done = searched(judge=ScriptedJudge(), problems=PROBLEMS[:1], start=start, target=2)
    assert {one.stage for one in done} == {SEARCH_START, SEARCH_AGAIN}


def test_a_given_kernel_without_a_verdict_ends_the_search() -> None:
    with pytest.raises(JudgeError, match="no verdict on the given kernel of a"):
        searched(start={PROBLEMS[0].key: "unjudged"}, judge=Broken())


class Broken(ScriptedJudge):
    """A judge that cannot tell."""

    def judge(self, source: str, timed: bool) -> Evaluation:
        return Evaluation(verdict=Verdict.UNJUDGED, reason="worker_lost")


def test_a_kernel_that_was_judged_is_not_judged_again() -> None:
    judge = ScriptedJudge()
    policy = ScriptedPolicy(["```cpp\nright 3\n```"] * 24)
    found = searched(
        "best_of_n", judge=judge, policy=policy, problems=PROBLEMS[:1], budget=24, batch=4
    )
    assert len([one for one in found if one.stage == SEARCH]) == 24
    calls = [sources for sources, _ in judge.calls if sources]
    assert [len(one) for one in calls] == [4, 1]  # one step, whose equal ones the judge knows; last


def test_a_problem_ends_at_its_target_and_where_nothing_is_timed_with_a_right_kernel() -> None:
    policy = ScriptedPolicy(["```cpp\nright 3\n```"] * 24)
    ended = searched("best_of_n", policy=policy, judge=ScriptedJudge(), target=2.5)
    assert {one.step for one in ended if one.stage == SEARCH} == {0}
    on = searched("best_of_n", policy=policy, judge=ScriptedJudge(), target=4)
    assert {one.step for one in on if one.stage == SEARCH} == set(range(6))
    untimed = searched("best_of_n", policy=policy, judge=Untimed())
    assert {one.step for one in untimed if one.stage == SEARCH} == {0}
    assert not [one for one in untimed if one.stage == SEARCH_AGAIN]


class Untimed(ScriptedJudge):
    """As device code is judged without a GPU."""

    def judge(self, source: str, timed: bool) -> Evaluation:
        return super().judge(source, timed=False)


class Copies(Improver):
    """Writes the kernel that it is shown, or a new one."""

    def one(self, prompt: str, rng: random.Random) -> str:
        hint = hinted(prompt)
        plan = rng.choice([0, 1, 2]) if hint is None else hint
        return f"```cpp\nkernel {plan} right\n```"


@pytest.mark.parametrize("rule", ["puct", "ucb"])
def test_a_tree_turns_from_a_kernel_of_which_nothing_new_comes(rule: str) -> None:
    found = searched("tree", {"rule": rule}, policy=Copies(), budget=48)
    anew = [one for one in found if one.stage == SEARCH and one.parent is None]
    assert len(anew) > 5 * len(PROBLEMS)


def test_a_chain_has_as_many_answers_from_a_given_kernel_as_from_nothing() -> None:
    fields: Any = {"problems": PROBLEMS[:1], "budget": 7, "batch": 1}
    for start, turns in (None, [0, 1, 2, 0, 1, 2, 0]), ("kernel 0 right", [1, 2, 3, 1, 2, 3, 1]):
        given_ones = {PROBLEMS[0].key: start} if start else None
        found = searched("refine", {"turns": 3}, start=given_ones, **fields)
        assert [one.turn for one in found if one.stage == SEARCH] == turns


def test_prompts_show_the_parent_what_the_judge_said_and_other_kernels() -> None:
    records = searched("evolve", budget=48, kinds="uniform")
    children = [one for one in records if one.stage == SEARCH and one.parent]
    assert children
    for one in children:
        assert one.turn > 0
        assert re.search(
            r"assistant:\n```cpp\nkernel \d \w+\n```\n\nuser:\nThis kernel is", one.prompt
        )
        assert one.exemplars[-1] == one.parent
    assert any("Earlier kernels" in one.prompt and len(one.exemplars) > 1 for one in children)
    assert {one.skill != "" for one in children if "is right" in one.prompt} == {True}
    assert {one.skill for one in children if "is not right" in one.prompt} <= {""}


# Bad input, and the command


@pytest.mark.parametrize(
    ("start", "problems", "told"),
    [
        ("mine.cu", 1, "mine.cu: answers are in cpp (.cpp); see --dialect"),
        ("mine.cpp", 2, "mine.cpp: 2 problems need a folder of kernels"),
        (".", 2, "no a.cpp or the like"),
    ],
)
def test_a_kernel_that_cannot_be_improved_on_is_one_clear_line(
    start: str, problems: int, told: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.cu").write_text("kernel", encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(told)):
        given_kernels(tmp_path / start, PROBLEMS[:problems], "cpp")


@given(st.sets(st.text(st.sampled_from("ab1 -_./%|ß\ud800"), min_size=1), min_size=1))
def test_problems_whose_names_differ_have_files_that_differ_in_one_folder(names: set[str]) -> None:
    folder = Path("run")
    files = {file_of(folder, one, "cpp") for one in names}
    assert len(files) == len(names)
    assert {one.parent for one in files} == {folder / "best"}


def test_kernels_of_names_that_differ_by_punctuation_alone_are_found_again(tmp_path: Path) -> None:
    problems = [replace(PROBLEMS[0], name=one) for one in ("a b", "a-b", "a/b")]
    problems = [replace(one, code=f"{one.code}\n# {one.name}") for one in problems]
    for one in problems:
        path = file_of(tmp_path, one.name, "cpp")
        path.parent.mkdir(exist_ok=True)
        path.write_text(one.name, encoding="utf-8")
    found = given_kernels(tmp_path / "best", problems, "cpp")
    assert found == {one.key: one.name for one in problems}


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("anneal", {}, "no search mode 'anneal'; there are: best_of_n, evolve, refine, tree"),
        ("evolve", {"island": 3}, "search mode evolve has no option 'island'; there are: islands"),
        ("evolve", {"islands": "x"}, "search mode evolve, option islands: Input should be a valid"),
        ("best_of_n", {"turns": 3}, "has no option 'turns'; there are: none"),
    ],
)
def test_a_mode_or_an_option_that_does_not_exist_is_one_clear_line(
    name: str, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        start_mode(name, options)


def test_every_mode_is_an_option_of_the_command() -> None:
    from kernelwright.commands.option_types import MODES as OFFERED

    assert sorted(OFFERED) == mode_names()


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"batch": 30}, "for the budget at most"), ({"temperature": 0}, "raise --temperature")],
)
def test_settings_that_make_no_sense_are_refused(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        settings(**changed)


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_search_improves_on_a_wrong_kernel_by_the_real_judge(tmp_path: Path) -> None:
    from kernelwright.commands.problem_prompt import ask

    path = tmp_path / "m.py"
    path.write_text(RELU_MODULE.replace("4000", "400000"), encoding="utf-8")
    problem = ask(path, "cpp")[0]
    right = f"```cpp{RELU_KERNEL}```"
    policy = ScriptedPolicy([right.replace("> 0", "> 1"), right, right, right])
    with Judge(workers=1) as judge:
        records = searched(
            "refine", judge=judge, policy=policy, problems=[problem], budget=4, batch=1
        )
    verdicts = [one.evaluation.verdict for one in records]
    assert verdicts == ["wrong", "correct", "correct", "correct", "correct"]
    assert [one.turn for one in records if one.stage == SEARCH] == [0, 1, 2, 3]
    assert "This kernel is not right" in records[1].prompt
    assert found_in(records)[0].again is not None


@dataclass
class Seen:
    """What a search told while it ran."""

    said: list[str] = field(default_factory=list)

    def one_written(self) -> None:
        self.said.append("written")

    def one_judged(self) -> None:
        self.said.append("judged")

    def step_done(self, step: int) -> None:
        self.said.append(f"step {step}")

    def measures_again(self, count: int) -> None:
        self.said.append(f"again {count}")


@every_mode
def test_each_answer_is_told_of_once_when_it_is_written_and_once_when_it_is_judged(
    name: str, options: dict[str, Any]
) -> None:
    seen = Seen()
    records = searched(name, options, watcher=seen)
    asked = sum(one.stage == SEARCH for one in records)
    middle = seen.said.index(f"again {len(records) - asked}")
    assert Counter(seen.said[:middle]) == {
        **{f"step {step}": 1 for step in range(6)},
        "written": asked,
        "judged": asked,
    }
    assert seen.said[:13] == [*["written"] * 12, "judged"]
    assert seen.said[middle + 1 :] == ["judged"] * (len(records) - asked)


def search(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kernelwright", "search", *words],
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.sandbox
@pytest.mark.slow
def test_the_command_searches_is_resumed_and_refuses_another_question(tmp_path: Path) -> None:
    model, path, out = save_tiny(tmp_path / "model"), tmp_path / "m.py", tmp_path / "out"
    path.write_text(RELU_MODULE, encoding="utf-8")
    words = [str(path), "--model", str(model), "--budget", "4", "--batch", "2", "--out", str(out)]
    words += ["--max-new-tokens", "4", "-o", "islands=1"]
    done = search(*words)
    assert done.returncode == 1, done.stderr
    assert done.stdout == "m: 0 of 4 answers correct\n"
    assert "is asked for 4 answers, problems: 1" in done.stderr
    last = (out / "progress.log").read_text().splitlines()[-1]
    assert "4/4 written, 4 judged, 2/2 steps, 0% of problems solved" in last
    again = search(*words, "--resume", "--json")
    assert json.loads(again.stdout)["problems"][0]["asked"] == 4
    other = CliRunner().invoke(app, ["search", *words, "--resume", "--seed", "1"])
    assert other.exit_code == 2
    assert f"{out} asked another question: seed changed" in other.output
    kernel = tmp_path / "best" / "m.cpp"
    kernel.parent.mkdir()
    kernel.write_text(RELU_KERNEL, encoding="utf-8")
    for start in (kernel, kernel.parent):
        there = ["--out", str(tmp_path / f"out-{start.name}"), "--start", str(start)]
        given = search(*words, *there)
        assert given.returncode == 0, given.stderr
        assert "the given kernel is correct and was not timed" in given.stdout
    bad = CliRunner().invoke(app, ["search", *words[:3], "-o", "islands"])
    assert (bad.exit_code, bad.output) == (2, "-o islands: give KEY=VALUE, as islands=4\n")
