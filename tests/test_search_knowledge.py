"""What a search showed of kinds of rewriting is a file that the next one begins with."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.commands.search_folder import Wanted, search_model
from kernelwright.data.runs.records import read_records
from kernelwright.data.runs.stages import SEARCH
from kernelwright.data.suites.load import Suite
from kernelwright.envs.policy import Completion, OnFinished, Sampling
from kernelwright.envs.types import Record, Task
from kernelwright.rl.search.archive import Archive
from kernelwright.rl.search.kinds import ELSEWHERE, Choice, arm_of, kinds_for, with_kinds
from kernelwright.rl.search.knowledge import (
    Knowledge,
    Known,
    Situation,
    add_knowledge,
    known_of,
    merged,
    read_knowledge,
)
from kernelwright.rl.search.mode import Request
from kernelwright.rl.search.prompts import ask_of
from tests.landscape import PLANS
from tests.searches import (
    HELPS,
    REWRITABLE,
    Rewriter,
    Steep,
    Stopped,
    plain,
    searched,
    settings,
    without_modules,
)

HERE, THERE = (Situation(dialect="cpp", category=name, limit="") for name in HELPS)
KNOWN = st.integers(0, 9).flatmap(
    lambda asked: st.integers(0, asked).flatmap(
        lambda helped: st.builds(
            Known, asked=st.just(asked), helped=st.just(helped), saved=st.floats(0, helped)
        )
    )
)
SITUATIONS = st.builds(
    Situation, dialect=st.sampled_from(["cpp", "cuda"]), category=st.text(), limit=st.text()
)
KNOWLEDGE = st.dictionaries(st.tuples(SITUATIONS, st.text()), KNOWN, max_size=4)


@pytest.fixture(autouse=True)
def prompts_without_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    without_modules(monkeypatch)


def rewritten(
    mode: str, seed: int, knowledge: Knowledge | None = None, budget: int = 96
) -> list[Record]:
    return searched(
        mode,
        policy=Rewriter(),
        judge=Steep(),
        problems=REWRITABLE,
        kinds="bandit",
        seed=seed,
        knowledge=knowledge,
        budget=budget,
    )


def learned(records: Sequence[Record]) -> Knowledge:
    archives = {one.key: Archive("cpp", one.category) for one in REWRITABLE}
    for record in records:
        archives[record.problem_key].add([record])
    return known_of(archives.values())


def answers_to_the_best(records: Sequence[Record]) -> float:
    """The mean over problems of the answers before the best plan; all where it was not found."""
    needed = []
    for problem in REWRITABLE:
        told = [one for one in records if (one.stage, one.problem) == (SEARCH, problem.name)]
        best = (n for n, one in enumerate(told) if f"kernel {PLANS - 1}" in (one.source or ""))
        needed.append(next(best, len(told)))
    return fmean(needed)


@pytest.mark.parametrize("mode", ["evolve", "tree"])
def test_a_search_that_knows_what_helped_finds_the_best_with_fewer_answers(mode: str) -> None:
    seeds = range(8)
    without = [answers_to_the_best(rewritten(mode, seed)) for seed in seeds]
    knowledge = [learned(rewritten(mode, 100 + seed)) for seed in seeds]
    known = [
        answers_to_the_best(rewritten(mode, seed, one))
        for seed, one in zip(seeds, knowledge, strict=True)
    ]
    assert fmean(known) < 0.85 * fmean(without)
    for one in knowledge:
        assert {place for place, it in one.items() if it.helped} == {
            (HERE, HELPS[HERE.category]),
            (THERE, HELPS[THERE.category]),
        }


def test_what_is_known_elsewhere_counts_as_a_few_answers() -> None:
    there = {(THERE, "fuse"): Known(asked=40, helped=20, saved=10.0)}
    arm = arm_of(there, HERE, "fuse")
    assert (arm.asked, arm.mean) == (ELSEWHERE, 0.25)
    here = {(HERE, "fuse"): Known(asked=4)}
    arm = arm_of(merged([there, here]), HERE, "fuse")
    assert (arm.asked, arm.mean) == (4 + ELSEWHERE, 0.125)
    assert arm_of(there, HERE, "tile").asked == 0


@pytest.mark.parametrize("choice", ["bandit", "uniform"])
def test_a_prompt_says_what_its_kind_came_to_in_the_kernels_situation_where_it_helped(
    choice: Choice,
) -> None:
    known = {
        (HERE, "fuse"): Known(asked=8, helped=5, saved=1.6),
        (HERE, "tile"): Known(asked=3),
        (THERE, "order"): Known(asked=9, helped=9, saved=8.1),
    }
    problem = REWRITABLE[0]
    archive = Archive("cpp", problem.category)
    archive.add(searched("refine", judge=Steep(), policy=Rewriter(), problems=[problem], budget=4))
    requests = [Request(parent=archive.best)] * 200
    found = with_kinds(requests, choice, archive, known, random.Random(0))
    asked = Task(problem=problem, dialect="cpp")
    texts = {one.kind: ask_of(asked, one).prompt.text for one in found}
    assert texts.keys() == kinds_for("cpp").keys()
    led = " This made 5 of 8 kernels like it faster, and saved 32 % of their time on average."
    told = {kind: text for kind, text in texts.items() if "This made" in text}
    assert told.keys() == ({"fuse"} if choice == "bandit" else set())
    assert all(text.endswith(f"{kinds_for('cpp')['fuse']}{led}") for text in told.values())


# The file


@given(st.lists(KNOWLEDGE, max_size=4))
def test_a_file_holds_the_sum_of_what_was_added_each_search_once(
    tmp_path_factory: pytest.TempPathFactory, parts: list[Knowledge]
) -> None:
    path = tmp_path_factory.mktemp("knowledge") / "k.jsonl"
    for number, part in [*enumerate(parts), *enumerate(parts)]:
        add_knowledge(path, str(number), part)
    found, expected = read_knowledge(path), merged(parts)
    assert found.keys() == expected.keys()
    for place, known in expected.items():
        assert found[place].saved == pytest.approx(known.saved)
        assert (found[place].asked, found[place].helped) == (known.asked, known.helped)
    twice = path.with_name("twice")
    twice.write_bytes(2 * path.read_bytes() if parts else b"")
    assert read_knowledge(twice) == found


def _add(path: Path, number: int) -> None:
    add_knowledge(path, str(number), {(HERE, "fuse"): Known(asked=1)})


def test_searches_that_end_at_the_same_time_all_add_to_the_file(tmp_path: Path) -> None:
    path, context = tmp_path / "k.jsonl", get_context("fork")
    processes = [context.Process(target=_add, args=(path, number)) for number in range(8)]
    for one in processes:
        one.start()
    for one in processes:
        one.join()
    assert read_knowledge(path) == {(HERE, "fuse"): Known(asked=8)}


def test_what_a_full_disk_left_of_a_line_is_no_knowledge_and_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "k.jsonl"
    _add(path, 0)
    whole = path.read_bytes()
    for cut in range(1, len(whole)):
        path.write_bytes(whole + whole[:-cut])
        assert read_knowledge(path) == {(HERE, "fuse"): Known(asked=1)}
    path.write_bytes(whole + whole[:20])
    _add(path, 1)
    assert read_knowledge(path) == {(HERE, "fuse"): Known(asked=2)}
    assert path.read_bytes().startswith(whole)


# A search with the file


class Killed(Rewriter):
    """Ends after so many calls, as by a kill."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def complete(
        self, prompts: Sequence[Any], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        self.left -= 1
        if self.left < 0:
            raise Stopped
        return super().complete(prompts, sampling, on_finished)


def asked(
    monkeypatch: pytest.MonkeyPatch, folder: Path, policy: Rewriter, *, resume: bool = False
) -> None:
    """A search that begins with, and adds to, `k.jsonl` in the working directory."""
    monkeypatch.setattr("kernelwright.rl.policies.hf.open_policy", lambda _: policy)
    wanted = Wanted(
        model="scripted",
        suite=Suite(spec="given", problems=tuple(REWRITABLE)),
        mode="tree",
        settings=settings(kinds="bandit", budget=16),
        knowledge=Path("k.jsonl"),
    )
    judges: Any = lambda: nullcontext(Steep())  # noqa: E731
    search_model(wanted, folder, resume=resume, judges=judges)


def test_a_killed_search_leaves_once_resumed_the_records_and_the_file_of_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rewritten("tree", 7)
    found = []
    for calls in (99, 0, 1, 3):
        there = tmp_path / str(calls)
        there.mkdir()
        monkeypatch.chdir(there)
        add_knowledge(Path("k.jsonl"), "before", learned(before))
        with suppress(Stopped):
            asked(monkeypatch, Path("out"), Killed(calls))
        if calls < 99:
            _add(Path("k.jsonl"), 5)  # another search ends meanwhile
            asked(monkeypatch, Path("out"), Rewriter(), resume=True)
            lines = Path("k.jsonl").read_bytes().splitlines(keepends=True)
            Path("k.jsonl").write_bytes(b"".join([lines[0], *lines[2:]]))
        asked(monkeypatch, Path("out"), Rewriter(), resume=True)
        found.append((plain(read_records(Path("out"))), Path("k.jsonl").read_bytes()))
    records, kept = found[0]
    assert found == 4 * [found[0]]
    assert kept.count(b"\n") == 2
    own = merged([learned(before), learned(read_records(Path("out")))])
    assert {at: one.asked for at, one in read_knowledge(Path("k.jsonl")).items()} == {
        at: one.asked for at, one in own.items()
    }
    assert records != plain(rewritten("tree", 0, budget=16))  # the knowledge was used


# Bad input


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{}\n", ":1: not a search's knowledge (search: Field required)"),
        (b'{"a": 1}', ":1: not a search's knowledge"),
        (b"a text\n", ":1: not a search's knowledge (Expecting value"),
        (b'{"search":"a","learned":[]}\n\xff\xfe\n', ":2: not a search's knowledge ("),
        (b'{"search":"a","learned":[{"kind":"fuse"}]}\n', "learned.0.situation: Field required"),
    ],
)
def test_a_damaged_or_foreign_file_is_one_clear_line_and_stays_as_it_is(
    content: bytes, why: str, tmp_path: Path
) -> None:
    path, out = tmp_path / "k.jsonl", tmp_path / "out"
    path.write_bytes(content)
    words = ["search", "starter", "--model", "no/model", "--out", str(out)]
    told = CliRunner().invoke(app, [*words, "--kinds", "bandit", "--knowledge", str(path)])
    assert told.exit_code == 2
    assert told.output.count("\n") == 1
    assert f"{path}" in told.output
    assert why in told.output
    assert path.read_bytes() == content
    assert not out.exists()


@pytest.mark.parametrize("counts", [(-1, 0, 0), (1, 2, 0), (2, 1, 1.5), (1, 1, float("nan"))])
def test_counts_that_cannot_be_are_refused(counts: tuple[int, int, float], tmp_path: Path) -> None:
    path = tmp_path / "k.jsonl"
    _add(path, 0)
    line = json.loads(path.read_text())
    line["learned"][0]["known"] = dict(zip(("asked", "helped", "saved"), counts, strict=True))
    path.write_text(f"{json.dumps(line)}\n")
    with pytest.raises(ValueError, match=re.escape(f"{path}:1: not a search's knowledge (")):
        read_knowledge(path)


def test_knowledge_of_kinds_without_kinds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give --kinds bandit too"):
        Wanted(
            model="m",
            suite=Suite(spec="given", problems=tuple(REWRITABLE)),
            mode="tree",
            settings=settings(),
            knowledge=tmp_path / "k.jsonl",
        )
