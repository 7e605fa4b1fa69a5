"""`kernelwright data import`: every item ends in a line, and answers count once they are judged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.importers.exams import Exams
from kernelwright.data.importers.import_rows import Import, import_items
from kernelwright.data.importers.item import Answer, Found, Item, NotTakenError
from kernelwright.data.importers.modules import Modules
from kernelwright.data.importers.run import best_steps, run_items
from kernelwright.data.importers.summary import summary
from kernelwright.data.runs.progress import LOG
from kernelwright.data.runs.records import RecordStore, answer_of
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.data.suites.load import load_suite
from kernelwright.data.suites.row_folder import Done, RowFolder
from kernelwright.data.suites.rows import Row, row_line
from kernelwright.data.triples.templates import triples_of
from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.judge import Judge
from kernelwright.envs.reference.module import Shapes
from kernelwright.envs.types import Case, Evaluation, Record, Timing, Verdict
from tests import nouns
from tests.command import kernelwright
from tests.nouns import PASSED, RELU_KERNEL, RELU_MODULE, correct, timing

RIGHT = Answer(dialect="cpp", kernel=RELU_KERNEL, reasoning="One pass.")
FIXED = Answer(dialect="cpp", kernel=RELU_KERNEL.replace("i < x_0", "i < 500"))
"""An answer that is right at some sizes."""
HIDING = replace(RIGHT, reasoning="<think>It has no end, and all is a thought.")
LITERAL = RELU_MODULE.replace("randn(N)", "randn(4000)").replace("N = 4000\n", "")


def item(name: str, code: str = RELU_MODULE, *answers: Answer, **more: Any) -> Item:
    return Item(
        **{"id": name, "name": name, "code": code, "licence": "MIT", **more}, answers=answers
    )


def imported(
    folder: Path, found: Sequence[Found], asked: Import | None = None
) -> tuple[RowFolder, dict[str, str]]:
    """The output, and what came of each item."""
    output = RowFolder(folder)
    output.open({"source": "test"})
    done: list[None] = []
    import_items(asked or Import(source="test"), found, output, lambda: done.append(None))
    return output, {line["id"]: line["result"] for line in output.funnel()}


def test_what_is_unlicensed_or_an_exam_is_left_out_by_name_with_a_count(tmp_path: Path) -> None:
    (tmp_path / "exam.jsonl").write_text(row_line(Row(name="relu", code=RELU_MODULE)), "utf-8")
    exams = Exams.of([f"rows:{tmp_path / 'exam.jsonl'}"])
    asked = Import(source="test", exams=exams)
    found = [
        item("bare", licence=""),
        item("named", origin="ScalingIntelligence/KernelBench"),
        item("same", RELU_MODULE.replace("4000", "17")),
        item("no_class", "x = 1"),
        item("nonlocal", f"nonlocal a\n{RELU_MODULE}".replace("relu", "tanh")),
        item("deep", f"{RELU_MODULE}\nx = {'-' * 5000}1".replace("relu", "tanh")),
    ]
    output, results = imported(tmp_path / "out", found, asked)
    assert results == {
        "bare": "unlicensed",
        "named": "exam",
        "same": "exam",
        "no_class": "not_a_problem",
        "nonlocal": "not_a_problem",
        "deep": "not_a_problem",
    }
    assert "left out, exam: 2 (named: its source names KernelBench)" in summary(output)
    assert not output.rows()


def test_a_folder_that_was_begun_otherwise_is_refused(tmp_path: Path) -> None:
    imported(tmp_path, [item("a", licence="")])
    with pytest.raises(ValueError, match="was begun with source test: give another folder"):
        RowFolder(tmp_path).open({"source": "another"})
    own = tmp_path / "own"
    own.mkdir()
    (own / "rows.jsonl").write_text("", "utf-8")
    with pytest.raises(ValueError, match=r"has a rows.jsonl that this command did not write"):
        RowFolder(own).open({"source": "test"})


def test_what_a_killed_call_left_of_an_item_is_removed(tmp_path: Path) -> None:
    imported(tmp_path, [item("a", licence="")])
    rows = [Row(name=name, code=RELU_MODULE, source=f"test:{name}") for name in "ab"]
    (tmp_path / "rows.jsonl").write_text("".join(map(row_line, rows)) + '{"name": "c', "utf-8")
    output, results = imported(tmp_path, [item("a", licence=""), item("b", licence="")])
    assert [row.name for row in output.rows()] == ["a"]
    assert list(results) == ["a", "b"]


def test_a_runs_correct_answers_come_back_but_not_those_to_its_exam(tmp_path: Path) -> None:
    suites = {"train": RELU_MODULE, "exam": RELU_MODULE.replace("relu", "tanh")}
    for name, code in suites.items():
        (tmp_path / f"{name}.jsonl").write_text(row_line(Row(name=name, code=code)), "utf-8")
    specs = {name: f"rows:{tmp_path / name}.jsonl" for name in suites}
    data = {"train_suite": specs["train"], "held_out_suite": specs["exam"]}
    (tmp_path / "recipe.resolved.yaml").write_text(json.dumps({"data": data}), "utf-8")
    right = Evaluation(verdict=Verdict.CORRECT, reason="ok", check=PASSED)
    wrong = Evaluation(verdict=Verdict.CRASHED, reason="signal_11")
    answered = [("train", right), ("train", wrong), ("exam", right)]
    RecordStore(tmp_path).append(
        Record(
            stage="grpo",
            step=0,
            row=row,
            problem=name,
            problem_key=load_suite(specs[name]).problems[0].key,
            dialect="cpp",
            prompt="",
            completion=f"One pass.\n\n```cpp\n{RELU_KERNEL}```",
            source=RELU_KERNEL,
            evaluation=evaluation,
            reward=None,
        )
        for row, (name, evaluation) in enumerate(answered)
    )
    kept, not_correct, exam = run_items(tmp_path)
    assert isinstance(kept, Item)
    assert (kept.id, kept.answers) == ("grpo/0/0", (RIGHT,))
    assert [one.reason for one in (not_correct, exam) if not isinstance(one, Item)] == [
        "not_correct",
        "exam",
    ]


@pytest.mark.parametrize("more", [{"exemplars": ("a",)}, {"turn": 1}, {}])
def test_reasoning_about_kernels_that_a_prompt_showed_is_left_out(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    (tmp_path / "m.py").write_text(RELU_MODULE, "utf-8")
    question = {"question": {"searched": str(tmp_path / "m.py")}, "seconds": 1.0}
    (tmp_path / "search.json").write_text(json.dumps(question), "utf-8")
    said: Any = {"completion": f"The last one reads twice.\n\n```cpp\n{RELU_KERNEL}```", **more}
    key = load_problem(tmp_path / "m.py").key
    own = nouns.record("search", source=RELU_KERNEL, problem_key=key, **said)
    RecordStore(tmp_path).append([own])
    (found,) = run_items(tmp_path)
    assert isinstance(found, Item)
    assert bool(found.answers[0].reasoning) is (not more)


@pytest.mark.parametrize("stage", ["triples", "search_start"])
def test_what_a_run_was_given_is_none_of_its_answers_and_may_be_what_they_gained_on(
    tmp_path: Path, stage: str
) -> None:
    (tmp_path / "m.py").write_text(RELU_MODULE, "utf-8")
    question = {"question": {"searched": str(tmp_path / "m.py")}, "seconds": 1.0}
    (tmp_path / "search.json").write_text(json.dumps(question), "utf-8")
    known: Any = {"problem_key": load_problem(tmp_path / "m.py").key}
    first = nouns.record(stage, source=RELU_KERNEL, **known)
    faster: Any = {"source": f"{RELU_KERNEL}// faster", "evaluation": correct(timing(9_000))}
    own = nouns.record("search", parent=answer_of(first).key, **faster, **known)
    RecordStore(tmp_path).append([first, own])
    for items_of in (run_items, best_steps):
        found = [(one.id, getattr(one, "reason", "kept")) for one in items_of(tmp_path)]
        assert found == [(f"{stage}/0/0", "given"), ("search/0/0", "kept")]


def test_best_steps_are_kernels_that_gained_surely_on_the_right_ones_they_were_made_from(
    tmp_path: Path,
) -> None:
    (tmp_path / "m.py").write_text(RELU_MODULE, "utf-8")
    question = {"question": {"searched": str(tmp_path / "m.py")}, "seconds": 1.0}
    (tmp_path / "search.json").write_text(json.dumps(question), "utf-8")
    known: Any = {"problem_key": load_problem(tmp_path / "m.py").key}
    wavering = Timing(baseline_ns=(1000, 2000, 3000), candidate_ns=(1000, 1000, 1000))
    first = nouns.record("search", source=RELU_KERNEL, **known)
    key = answer_of(first).key
    answers = [
        (key, correct(timing(2_600))),
        (key, correct(timing(2_300))),
        (key, correct(wavering)),
        (key, correct()),
        ("of nobody", correct(timing(9_000))),
        (None, correct(timing(9_000))),
    ]
    children = [
        nouns.record(
            "search",
            row=row,
            parent=parent,
            source=f"{RELU_KERNEL}// {row}",
            evaluation=evaluation,
            **known,
        )
        for row, (parent, evaluation) in enumerate(answers, start=1)
    ]
    RecordStore(tmp_path).append([first, *children])
    found = [(one.id, getattr(one, "reason", "kept")) for one in best_steps(tmp_path)]
    assert found == [
        ("search/0/0", "no_step"),
        ("search/0/1", "kept"),
        *((f"search/0/{row}", "no_step") for row in range(2, 7)),
    ]


@pytest.mark.parametrize(
    ("searched", "reason"),
    [("m.py", None), ("starter:held_out", "exam")],
)
def test_what_a_search_found_comes_back_but_not_of_suites_that_are_for_measuring(
    tmp_path: Path, searched: str, reason: str | None
) -> None:
    (tmp_path / "m.py").write_text(RELU_MODULE, "utf-8")
    problem = load_problem(tmp_path / "m.py")
    spec = str(tmp_path / searched) if searched.endswith(".py") else searched
    question = {"question": {"searched": spec}, "seconds": 1.0}
    (tmp_path / "search.json").write_text(json.dumps(question), "utf-8")
    changed: dict[str, Any] = {"problem_key": problem.key, "source": RELU_KERNEL}
    if reason:
        changed["problem_key"] = load_suite(searched).problems[0].key
    RecordStore(tmp_path).append([nouns.record("search", **changed)])
    (found,) = run_items(tmp_path)
    assert isinstance(found, Item) == (reason is None)
    assert getattr(found, "reason", None) == reason


class TellsNothing(Judge):
    """A judge whose workers are lost."""

    def __init__(self) -> None:
        self.workers = 1

    def evaluate_many(self, jobs: Any, **_: Any) -> list[Evaluation]:
        return [Evaluation(verdict=Verdict.UNJUDGED, reason="worker_lost") for _ in jobs]


@pytest.mark.sandbox
@pytest.mark.slow
def test_modules_that_raise_hang_or_end_their_process_cost_nobody_else(tmp_path: Path) -> None:
    found = [
        item("raises", RELU_MODULE.replace("return torch.relu(x)", "raise ValueError('no')")),
        item("hangs", RELU_MODULE.replace("return torch.relu(x)", "while True: pass")),
        item("ends", f"import os\n{RELU_MODULE}".replace("return torch.relu(x)", "os._exit(0)")),
        item("fine", RELU_MODULE, RIGHT),
        item("again", RELU_MODULE, RIGHT),
        item("fine", LITERAL, HIDING),
    ]
    found[5] = replace(found[5], id="literal")
    output, results = imported(tmp_path, found, Import(source="test", module_limit_s=5.0))
    assert results == {
        "raises": "module_fails",
        "hangs": "module_fails",
        "ends": "module_fails",
        "fine": "kept",
        "again": "duplicate",
        "literal": "kept",
    }
    whys = [line.get("why", "") for line in output.funnel()]
    assert "line 8: no" in whys[0]
    assert "took more than 5 s" in whys[1]
    assert not any("\n" in why for why in whys)
    fine, literal = output.rows()
    assert (fine.verdict, fine.reasoning) == (None, "One pass.")
    assert literal.name.startswith("fine_")  # another problem of the same name
    assert (literal.kernel, literal.reasoning) == (RELU_KERNEL, "")
    assert len({case.sizes for case in literal.problem.cases}) > 2
    assert len(triples_of(f"rows:{tmp_path}", "cpp")) == 2  # SFT judges it before it counts
    again, same = imported(tmp_path, found)
    assert (again.rows(), same) == (output.rows(), results)


@pytest.mark.sandbox
def test_an_exams_problem_too_large_for_this_machine_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "level1").mkdir()
    large = RELU_MODULE.replace("4000", str(10**13))
    (tmp_path / "level1" / "1_Relu.py").write_text(large, encoding="utf-8")
    exams = Exams.of([f"kernelbench:{tmp_path}?levels=1"])
    with pytest.raises(NotTakenError, match="is level1/1_Relu of kernelbench:"):
        exams.refuse_code(RELU_MODULE)


@pytest.mark.sandbox
def test_an_answer_that_we_could_not_judge_is_tried_again(tmp_path: Path) -> None:
    asked = Import(source="test", judge=TellsNothing())
    output = RowFolder(tmp_path)
    output.open({"source": "test"})
    assert import_items(asked, [item("a", RELU_MODULE, RIGHT)], output, lambda: None) == 1
    assert not output.funnel()
    assert not output.rows()


class ByLanguage(TellsNothing):
    """A judge whose verdict goes by the language."""

    def __init__(self, **said: Evaluation) -> None:
        super().__init__()
        self.said = said

    def evaluate_many(self, jobs: Any, **_: Any) -> list[Evaluation]:
        return [self.said[candidate.dialect] for _, candidate in jobs]


RIGHT_ONE = Evaluation(verdict=Verdict.CORRECT, reason="ok", check=PASSED)
WRONG_ONE = Evaluation(verdict=Verdict.WRONG, reason="mismatch")


def silent(reason: str) -> Evaluation:
    return Evaluation(verdict=Verdict.UNJUDGED, reason=reason)


@pytest.mark.parametrize(
    ("triton", "cpp", "result", "rows"),
    [
        (RIGHT_ONE, silent("reference_failed"), "kept", ["triton"]),
        (RIGHT_ONE, silent("device_too_small"), "kept", ["triton"]),
        (WRONG_ONE, silent("cases_differ"), "kept", []),
        (WRONG_ONE, silent("device_too_small"), "kept", [None]),
        (silent("device_too_small"), silent("cases_differ"), "module_fails", []),
        (silent("device_too_small"), silent("device_too_small"), "device_too_small", []),
        (RIGHT_ONE, silent("device_full"), None, []),
    ],
)
def test_an_answer_that_stays_unjudged_costs_none_that_was_judged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    triton: Evaluation,
    cpp: Evaluation,
    result: str | None,
    rows: list[str | None],
) -> None:
    shapes = Shapes(spec=CaseSpec(inputs=(), outputs=(), scalars=()), init="")
    monkeypatch.setattr(Modules, "shapes", lambda *_: shapes)
    asked = Import(source="test", judge=ByLanguage(triton=triton, cpp=cpp))
    other = Answer(dialect="triton", kernel="# triton\n")
    sized = item("a", RELU_MODULE, RIGHT, other, cases=(Case(name="time", sizes=()),))
    output, results = imported(tmp_path, [sized], asked)
    assert results == ({"a": result} if result else {})
    assert [row.dialect for row in output.rows()] == rows
    assert len(output.wrong()) == (triton is WRONG_ONE)
    told = f"answers that stay without a verdict here: 1 cpp: {cpp.reason}"
    assert (told in summary(output)) is (result == "kept")


def test_a_problem_has_no_answer_where_none_of_its_rows_has_one(tmp_path: Path) -> None:
    bare = Row(name="a", code=RELU_MODULE)
    rows = (bare, replace(bare, dialect="cpp", kernel=RELU_KERNEL), bare)
    output, _ = imported(tmp_path, [])
    output.add([Done(id="a", rows=rows)])
    assert "1 unjudged ones, 0 problems without an answer" in summary(output)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Three modules: one with a right answer and one for its size alone, one without any, one that
    raises."""
    folder = tmp_path / "mine"
    folder.mkdir()
    raises = RELU_MODULE.replace("return torch.relu(x)", "raise ValueError('no')")
    for name, text in {
        "relu.py": LITERAL,
        "relu.cpp": RIGHT.kernel,
        "relu.cpp.md": RIGHT.reasoning,
        "relu.fixed.cpp": FIXED.kernel,
        "bare.py": RELU_MODULE.replace("relu", "tanh"),
        "raises.py": raises,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.sandbox
@pytest.mark.slow
def test_the_command_judges_answers_and_sft_reads_what_is_right(tmp_path: Path, mine: Path) -> None:
    out = tmp_path / "out"
    words = ("data", "import", str(mine), str(out), "--licence", "MIT", "--untimed")
    done = kernelwright(*words)
    assert done.returncode == 0, done.stderr
    assert "2 of 3 items kept: 1 correct answers, 1 problems without an answer" in done.stdout
    assert "left out, module_fails: 1 (raises: " in done.stdout
    assert "imported 3/3" in (out / LOG).read_text(encoding="utf-8").splitlines()[-1]
    output = RowFolder(out)
    (wrong,) = output.wrong()
    assert wrong.kernel == FIXED.kernel
    assert wrong.verdict is Verdict.WRONG
    assert wrong.error
    assert {row.licence for row in output.rows()} == {"MIT"}
    (triple,) = triples_of(f"rows:{out}", "cpp")
    assert (triple.reasoning, triple.source) == (RIGHT.reasoning, RIGHT.kernel)
    assert "SIZE_0" in triple.problem.code
    before = (out / "rows.jsonl").read_bytes()
    again = kernelwright(*words)
    assert again.stdout == done.stdout
    assert (out / "rows.jsonl").read_bytes() == before
    refused = kernelwright(*words[:-1])
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "was begun with timed False: give another folder" in refused.stderr
