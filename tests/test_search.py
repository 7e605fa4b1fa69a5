"""Search: modes are pure functions of what was found, and what was stopped goes on as it was."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.envs.codec import to_plain
from kernelwright.envs.judge import Judge
from kernelwright.envs.policy import Completion, Finish, OnFinished, Sampling, text_of
from kernelwright.envs.types import Evaluation, Record, Verdict
from kernelwright.evals.numbers import search_results
from kernelwright.evals.numbers.search_results import best_so_far, found_in
from kernelwright.rl.policies.hf import ScriptedPolicy
from kernelwright.rl.search.archive import AGAIN, STAGE, Archive, Tried
from kernelwright.rl.search.features import features
from kernelwright.rl.search.kinds import Known, known_of, of_records, with_kinds
from kernelwright.rl.search.mode import Request, mode_names, start_mode
from kernelwright.rl.search.search import Search
from kernelwright.rl.search.settings import SearchSettings
from tests import nouns
from tests.landscape import CODES, PLANS, World, hinted, named, speedup
from tests.nouns import RELU_KERNEL, RELU_MODULE
from tests.rollouts import ScriptedJudge, task
from tests.tiny_model import save_tiny

MODES = [("best_of_n", {}), ("refine", {}), ("evolve", {}), ("tree", {}), ("tree", {"rule": "ucb"})]
NAMES = [f"{name}{'-ucb' if options else ''}" for name, options in MODES]
PROBLEMS = [task(name).problem for name in "abc"]
every_mode = pytest.mark.parametrize(("name", "options"), MODES, ids=NAMES)


@pytest.fixture(autouse=True)
def prompts_without_modules(monkeypatch: pytest.MonkeyPatch, request: Any) -> None:
    """The problems of this world are names."""
    if "sandbox" not in request.keywords:
        monkeypatch.setattr("kernelwright.rl.search.prompts.task_prompt", named)
        monkeypatch.setattr("kernelwright.rl.search.search.learn_shapes", lambda _: None)


class Improver:
    """Writes slow or wrong kernels; where a prompt shows a right one, often the next faster plan.
    What it draws depends on the number of a prompt alone."""

    def complete(
        self, prompts: Sequence[Any], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        return [
            Completion(
                text=self.one(
                    text_of(prompt), random.Random(f"{sampling.seed}/{sampling.number(place)}")
                ),
                finish=Finish.STOP,
            )
            for place, prompt in enumerate(prompts)
        ]

    def one(self, prompt: str, rng: random.Random) -> str:
        hint = hinted(prompt)
        if hint is not None and rng.random() < 0.4:
            plan = min(hint + 1, PLANS - 1)
        else:
            plan = rng.choice([0, 0, 0, 1, 1, 2])
        return f"```cpp\nkernel {plan} {rng.choices(CODES, [3, 2, 1])[0]}\n```"


class Stopped(Exception):
    """The search was killed."""


def settings(**changed: Any) -> SearchSettings:
    fields: dict[str, Any] = {
        "dialect": "cpp",
        "budget": 24,
        "batch": 4,
        "max_new_tokens": 64,
        "temperature": 1.0,
    }
    return SearchSettings(**fields | changed)


def searched(
    name: str = "evolve",
    options: dict[str, Any] | None = None,
    *,
    kept: Sequence[Record] = (),
    stop_after: int | None = None,
    judge: Any = None,
    policy: Any = None,
    problems: Any = None,
    **changed: Any,
) -> list[Record]:
    """The records of a search in this world; with `stop_after`, of one that is killed."""
    records = list(kept)
    calls: list[int] = []

    def keep(new: Sequence[Record]) -> None:
        records.extend(new)
        calls.append(1)
        if len(calls) == stop_after:
            raise Stopped

    mode, asked = start_mode(name, options or {}), settings(**changed)
    search = Search(problems or PROBLEMS, mode, asked, keep, kept)
    judge = judge or World()
    try:
        search.run(policy or Improver(), judge)
        search.measure_again(judge)
    except Stopped:
        pass
    return records


def plain(records: Sequence[Record]) -> list[Any]:
    return sorted((to_plain(one) for one in records), key=lambda one: (one["stage"], one["row"]))


@every_mode
def test_a_mode_asks_for_as_many_as_it_is_told_and_from_kernels_it_was_given(
    name: str, options: dict[str, Any]
) -> None:
    mode, archive = start_mode(name, options), Archive()
    for record in searched(name, options):
        if record.stage == STAGE and record.problem == "a":
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


def best(records: Sequence[Record]) -> float:
    """The mean over problems of the best speed that a search found."""
    lows = [
        max(
            (
                one.evaluation.timing.speedup.low
                for one in records
                if one.problem == problem.name and one.evaluation.timing
            ),
            default=0.0,
        )
        for problem in PROBLEMS
    ]
    return fmean(lows)


@every_mode
def test_with_equal_budgets_what_learns_from_earlier_answers_finds_more(
    name: str, options: dict[str, Any]
) -> None:
    independent = fmean(best(searched("best_of_n", seed=seed)) for seed in range(8))
    found = fmean(best(searched(name, options, seed=seed)) for seed in range(8))
    assert speedup(1) <= independent <= speedup(2)
    gain = {"best_of_n": 1.0, "refine": 1.1}.get(name, 1.5)  # a chain goes on from its failures
    assert found >= gain * independent


def test_a_kernel_that_was_judged_is_not_judged_again() -> None:
    judge = ScriptedJudge()
    policy = ScriptedPolicy(["```cpp\nright 3\n```"] * 24)
    found = searched(
        "best_of_n", judge=judge, policy=policy, problems=PROBLEMS[:1], budget=24, batch=4
    )
    assert len([one for one in found if one.stage == STAGE]) == 24
    calls = [sources for sources, _ in judge.calls if sources]
    assert [len(one) for one in calls] == [4, 1]  # one step, whose equal ones the judge knows; last


def test_a_problem_ends_at_its_target_and_where_nothing_is_timed_with_a_right_kernel() -> None:
    policy = ScriptedPolicy(["```cpp\nright 3\n```"] * 24)
    ended = searched("best_of_n", policy=policy, judge=ScriptedJudge(), target=2.5)
    assert {one.step for one in ended if one.stage == STAGE} == {0}
    on = searched("best_of_n", policy=policy, judge=ScriptedJudge(), target=4)
    assert {one.step for one in on if one.stage == STAGE} == set(range(6))
    untimed = searched("best_of_n", policy=policy, judge=Untimed())
    assert {one.step for one in untimed if one.stage == STAGE} == {0}
    assert not [one for one in untimed if one.stage == AGAIN]


class Untimed(ScriptedJudge):
    """As device code is judged without a GPU."""

    def judge(self, source: str, timed: bool) -> Evaluation:
        return super().judge(source, timed=False)


def test_prompts_show_the_parent_what_the_judge_said_and_other_kernels() -> None:
    records = searched("evolve", budget=48, kinds="uniform")
    children = [one for one in records if one.stage == STAGE and one.parent]
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


# What is learned of kinds of rewriting


def tried(key: str, low: float | None, parent: str | None = None, kind: str = "") -> Tried:
    measured = nouns.timing(round(1000 * low), 1000) if low else None
    evaluation = nouns.correct(measured) if low else nouns.verdict(Verdict.WRONG)
    return Tried(
        key=key,
        source=key,
        evaluation=evaluation,
        parent=parent,
        kind=kind,
        lane=0,
        depth=0,
        step=0,
    )


def test_a_kind_is_known_by_the_share_of_time_that_it_saved() -> None:
    archive = Archive()
    archive.kernels = {
        one.key: one
        for one in (
            tried("a", 1.0),
            tried("b", 2.0, "a", "fuse"),
            tried("c", 0.5, "a", "fuse"),
            tried("d", None, "a", "tile"),
            tried("e", 4.0, "gone", "tile"),
        )
    }
    assert known_of([archive]) == {
        "fuse": Known(asked=2, helped=1, saved=0.5),
        "tile": Known(asked=1),
    }
    assert known_of([archive], before=0) == {}


def test_a_bandit_asks_more_often_for_the_kind_that_helps() -> None:
    known: dict[str, Known] = {}
    rng, asked = random.Random(0), []
    for _ in range(400):
        (one,) = with_kinds([Request(parent=tried("a", 1.0))], "bandit", "cpp", known, rng)
        saved = 0.8 if one.kind == "tile" else 0.0
        known[one.kind] = known.get(one.kind, Known()) + Known(asked=1, saved=saved)
        asked.append(one.kind)
    assert asked.count("tile") > 0.5 * len(asked)
    assert len(set(asked)) == 6


def test_the_records_of_a_search_tell_the_next_one_what_helped() -> None:
    known = of_records(searched("evolve", kinds="uniform", budget=48))
    assert sum(one.asked for one in known.values()) > 10
    assert 0 < sum(one.helped for one in known.values()) < sum(one.asked for one in known.values())


@pytest.mark.parametrize(
    ("source", "cell"),
    [
        ("void kernel() { for (int i = 0; i < n; ++i) a[i] = b[i]; }", (1, 0, 0)),
        ("for (;;) x; for (;;) for (;;) y; while (z) { }", (2, 0, 0)),
        ("for (;;) { for (;;) { x; } for (;;) { for (;;) y; } }", (3, 0, 0)),
        ("float tile[64];\n#pragma omp simd\nfor (;;) x;", (1, 1, 1)),
        ("// for (;;) for (;;)\n/* float4 */ x;", (0, 0, 0)),
        (
            "def f():\n    for i in range(3):\n        while x:\n            y\n    for j in z:\n",
            (2, 0, 0),
        ),
        ("__shared__ float s[4]; for (;;) { float4 v; }", (1, 1, 1)),
    ],
)
def test_features_are_read_from_the_source_without_comments(
    source: str, cell: tuple[int, ...]
) -> None:
    one = tried("a", 1.0)
    assert (
        features(Tried(**{**{f: getattr(one, f) for f in Tried.__slots__}, "source": source}))
        == cell
    )


# Numbers


lows = st.lists(st.sampled_from([None, 0.0, 0.5, 1.5, 3.0]), min_size=1, max_size=12)


def records_of(speeds: Sequence[float | None], stage: str = STAGE) -> Iterator[Record]:
    """None is wrong, 0 right and not timed."""
    for row, low in enumerate(speeds):
        measured = nouns.timing(round(1000 * low), 1000) if low else None
        right = nouns.correct(measured)
        yield nouns.record(
            stage,
            row=row,
            source=f"kernel {low} {row}",
            evaluation=nouns.verdict(Verdict.WRONG) if low is None else right,
        )


@given(lows)
def test_the_best_so_far_never_gets_worse_and_ends_with_the_best(
    speeds: Sequence[float | None],
) -> None:
    curve = best_so_far(list(records_of(speeds)), len(speeds))
    for key in ("solved", "faster"):
        shares = [one[key] for one in curve]
        assert shares == sorted(shares, key=lambda one: one or 0.0)
    (found,) = found_in(records_of(speeds))
    assert found.right == sum(one is not None for one in speeds)
    assert (found.source is not None) == (found.right > 0) == (curve[-1]["solved"] == 1.0)
    timed = [one for one in speeds if one]
    assert (found.first.low if found.first else 0) == pytest.approx(max(timed, default=0))


def test_the_speed_that_counts_is_the_one_measured_again_of_a_kernel_that_is_still_right() -> None:
    first = list(records_of([3.0, 2.0, 1.5]))
    again = [
        nouns.record(AGAIN, row=0, source=first[0].source, evaluation=nouns.verdict(Verdict.WRONG)),
        nouns.record(
            AGAIN, row=1, source=first[1].source, evaluation=nouns.correct(nouns.timing(1_200))
        ),
        nouns.record(
            AGAIN, row=2, source=first[2].source, evaluation=nouns.correct(nouns.timing(1_400))
        ),
    ]
    (found,) = found_in([*first, *again])
    assert (found.row, found.changed) == (2, 1)
    assert found.first
    assert found.again
    assert (found.first.median, found.again.median) == (1.5, 1.4)
    (lost,) = found_in([first[0], again[0]])
    assert (lost.source, lost.again, lost.right, lost.changed) == (None, None, 1, 1)


def test_both_sides_call_the_stages_alike() -> None:
    assert (STAGE, AGAIN) == (search_results.STAGE, search_results.AGAIN)


# Bad input, and the command


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
    assert [one.turn for one in records if one.stage == STAGE] == [0, 1, 2, 3]
    assert "This kernel is not right" in records[1].prompt
    assert found_in(records)[0].again is not None


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
def test_the_command_searches_is_resumed_and_refuses_another_question(tmp_path: Path) -> None:
    model, path, out = save_tiny(tmp_path / "model"), tmp_path / "m.py", tmp_path / "out"
    path.write_text(RELU_MODULE, encoding="utf-8")
    words = [str(path), "--model", str(model), "--budget", "4", "--batch", "2", "--out", str(out)]
    words += ["--max-new-tokens", "4", "-o", "islands=1"]
    done = search(*words)
    assert done.returncode == 1, done.stderr
    assert done.stdout == "m: 0 of 4 answers correct\n"
    assert (out / "search.log").read_text().splitlines()[-1].startswith("2/2 steps, 0% of problems")
    again = search(*words, "--resume", "--json")
    assert json.loads(again.stdout)["problems"][0]["asked"] == 4
    other = CliRunner().invoke(app, ["search", *words, "--resume", "--seed", "1"])
    assert other.exit_code == 2
    assert f"{out} asked another question: seed changed" in other.output
    bad = CliRunner().invoke(app, ["search", *words[:3], "-o", "islands"])
    assert (bad.exit_code, bad.output) == (2, "-o islands: give KEY=VALUE, as islands=4\n")
