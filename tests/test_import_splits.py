"""Splits and ids of imported rows go by what a row holds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.data.exports.contents import read_contents
from kernelwright.data.exports.statistics import across_splits
from kernelwright.data.exports.write import card
from kernelwright.data.graphs.signature import family_of
from kernelwright.data.importers.import_rows import Import
from kernelwright.data.importers.item import Item
from kernelwright.data.importers.run import is_for_measuring, run_items
from kernelwright.data.importers.sources import open_source
from kernelwright.data.runs.records import RecordStore
from kernelwright.data.suites.built import SFT_ONLY, split_of
from kernelwright.data.suites.load import load_suite
from kernelwright.data.suites.row_folder import Done, RowFolder
from kernelwright.data.suites.rows import Row, row_line
from kernelwright.envs.types import Verdict
from tests import nouns
from tests.command import kernelwright
from tests.nouns import RELU_KERNEL, RELU_MODULE
from tests.test_data_diff import right
from tests.test_import_data import imported, item

CARRIED = ("category", "family", "tags", "pattern", "schedule")
RELU = Row(name="relu", code=RELU_MODULE, licence="MIT")


def written(path: Path, *rows: Row) -> Path:
    path.write_text("".join(map(row_line, rows)), encoding="utf-8")
    return path


def items(path: Path) -> list[Item]:
    return [one for one in open_source(str(path)).first(None) if isinstance(one, Item)]


@pytest.mark.sandbox
def test_rows_of_a_build_stay_in_their_splits(tmp_path: Path) -> None:
    drawn = [right(index) for index in range(12)]
    drawn[0] = replace(drawn[0], tags=(*drawn[0].tags, SFT_ONLY))
    drawn[1] = replace(drawn[1], schedule="naive")
    assert any("held_out" in split_of(one.problem) for one in drawn)
    file = written(tmp_path / "drawn.jsonl", *drawn)
    output, _ = imported(tmp_path / "out", items(file))
    found = {one.name: one for one in output.rows()}
    assert found.keys() == {one.name for one in drawn}
    for row in drawn:
        own = found[row.name]
        assert [getattr(own, one) for one in CARRIED] == [getattr(row, one) for one in CARRIED]
        assert split_of(own.problem) == split_of(row.problem)


def test_an_answer_of_a_run_has_what_splits_go_by(tmp_path: Path) -> None:
    row = replace(right(0), tags=(*right(0).tags, SFT_ONLY))
    spec = f"rows:{written(tmp_path / 'train.jsonl', row)}"
    data = {"train_suite": spec, "held_out_suite": "starter:held_out"}
    (tmp_path / "recipe.resolved.yaml").write_text(json.dumps({"data": data}), "utf-8")
    known = nouns.record(problem_key=row.problem.key, source=row.kernel)
    RecordStore(tmp_path).append([known])
    (found,) = run_items(tmp_path)
    assert isinstance(found, Item)
    assert (found.category, found.family, found.tags) == (row.category, row.family, row.tags)


@pytest.mark.parametrize(
    ("spec", "measures"),
    [
        *(
            (one, True)
            for one in (
                *("exam", "exam:losses", "starter:held_out", "starter:held_out?a=b"),
                *("kernelbench:KernelBench", "kernelbench:KernelBench:level_1?precision=fp16"),
                *("KernelBench/level1/19_ReLU.py", "modules:/home/me/KernelBench/level1"),
            )
        ),
        *((f"data:rows:held_out_{one}", True) for one in ("depth", "operator", "style")),
        *((one, False) for one in ("starter:rl", "modules:held_out/mine", "data:rows:train")),
        *((one, False) for one in ("modules:problems", "problems/mine.py", "starter")),
    ],
)
def test_suites_that_are_for_measuring_are_known_by_their_splits(spec: str, measures: bool) -> None:
    assert is_for_measuring(spec) is measures


@pytest.mark.parametrize("whole", ["starter", "starter?sizes=gpu", "data:rows"])
def test_held_out_problems_of_a_suite_that_was_searched_whole_stay_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").mkdir()
    held = Row(name="held", code=RELU_MODULE, family="softsign", tags=("operator:softsign",))
    rows = [held, Row(name="own", code=RELU_MODULE.replace("relu", "tanh"))]
    (tmp_path / "rows" / "rows.jsonl").write_text("".join(map(row_line, rows)), "utf-8")
    (tmp_path / "search.json").write_text(json.dumps({"question": {"searched": whole}}), "utf-8")
    kind, _, options = whole.partition("?")
    part = load_suite(f"{kind}:held_out" + (f"?{options}" if options else "")).by_key()
    RecordStore(tmp_path).append(
        nouns.record("search", row=row, problem_key=key, source=RELU_KERNEL)
        for row, key in enumerate(load_suite(whole).by_key())
    )
    found = dict(zip(load_suite(whole).by_key(), run_items(tmp_path), strict=True))
    assert 0 < len(part) < len(found)
    assert {key for key, one in found.items() if getattr(one, "reason", "") == "exam"} == set(part)


@pytest.mark.sandbox
def test_copies_of_a_module_share_a_split_whatever_their_names_and_sizes(tmp_path: Path) -> None:
    copies = [
        item(f"copy{n}", RELU_MODULE.replace("4000", str(5 + n)).replace("x)", f"x{n})"))
        for n in range(4)
    ]
    copies.append(item("method", RELU_MODULE.replace("torch.relu(x)", "x.relu()")))
    output, _ = imported(tmp_path, copies)
    rows = output.rows()
    assert len(rows) == 5
    assert {row.family for row in rows} == {"relu"}
    assert len({split_of(row.problem) for row in rows}) == 1


def test_a_family_is_short_and_known_where_operators_are_not() -> None:
    unknown = RELU_MODULE.replace("torch.relu(x)", "self.act(x)")
    many = RELU_MODULE.replace("torch.relu(x)", f"x{'.relu().tanh()' * 40}")
    families = {family_of(code) for code in (RELU_MODULE, unknown, many)}
    assert len(families) == 3
    assert max(map(len, families)) <= 80
    assert family_of(unknown.replace("4000", "17")) == family_of(unknown)
    assert family_of(unknown) != family_of(unknown.replace("self.act(x)", "self.act(x, x)"))


def test_a_card_counts_the_sequences_of_operators_that_splits_share(tmp_path: Path) -> None:
    rows = [
        replace(
            RELU,
            name=f"copy{n}",
            code=RELU_MODULE.replace("4000", str(5 + n)),
            dialect="cpp",
            kernel=RELU_KERNEL,
            verdict=Verdict.CORRECT,
        )
        for n in range(12)
    ]
    for name, family, shared in (("by_name", "", 1), ("by_content", "relu", 0)):
        folder = RowFolder(tmp_path / name)
        folder.folder.mkdir()
        folder.open({"command": "data import"})
        folder.add([Done(id=one.name, rows=(replace(one, family=family),)) for one in rows])
        contents = read_contents(folder.folder)
        assert across_splits(contents) == (shared, 1)
        said = f"{shared} of 1 sequences of operators are in more than one of `sft`, `rl`"
        assert said in card(contents, {"sft": 1})
    unread = [
        replace(one, code=one.code.replace("torch.relu(x)", f"self.act(x{', x' * n})"))
        for n, one in enumerate(rows)
    ]
    folder = RowFolder(tmp_path / "unread")
    folder.folder.mkdir()
    folder.open({"command": "data import"})
    folder.add([Done(id=one.name, rows=(one,)) for one in unread])
    assert across_splits(read_contents(folder.folder)) == (0, len(rows))


def test_ids_of_rows_stay_where_the_file_changes(tmp_path: Path) -> None:
    others = [
        replace(RELU, dialect="cpp", kernel=RELU_KERNEL),
        replace(RELU, dialect="cpp", kernel=f"{RELU_KERNEL}// another\n"),
        replace(RELU, code=RELU_MODULE.replace("relu", "tanh")),
        replace(RELU, name="another"),
    ]
    before = [one.id for one in items(written(tmp_path / "own.jsonl", RELU, *others))]
    after = [one.id for one in items(written(tmp_path / "own.jsonl", *others[1:], RELU))]
    assert len(set(before)) == 5
    assert after == [*before[2:], before[0]]


@pytest.mark.sandbox
def test_a_row_that_is_put_before_others_is_brought_in_by_the_next_call(tmp_path: Path) -> None:
    tanh = replace(RELU, name="tanh", code=RELU_MODULE.replace("relu", "tanh"))
    file = written(tmp_path / "own.jsonl", RELU)
    imported(tmp_path / "out", items(file))
    output, results = imported(tmp_path / "out", items(written(file, tanh, RELU)))
    assert [row.name for row in output.rows()] == ["relu", "tanh"]
    assert list(results.values()) == ["kept", "kept"]


@pytest.mark.parametrize(
    "spec",
    ["mine/KernelBench_rows.jsonl", "hub:me/kernel-bench-traces@1", "rows:kernelbench.parquet"],
)
def test_a_source_whose_own_name_is_an_exams_is_left_out(tmp_path: Path, spec: str) -> None:
    _, results = imported(tmp_path, [item("a")], Import(source="rows", spec=spec))
    assert results == {"a": "exam"}


def test_the_import_command_looks_at_its_source_and_at_who_began_the_folder(tmp_path: Path) -> None:
    file = written(tmp_path / "kernel_bench.jsonl", RELU)
    words = ("data", "import", str(file), str(tmp_path / "out"), "--no-judge")
    assert "left out, exam: 1" in kernelwright(*words).stdout
    made = tmp_path / "out" / "made.json"
    old = {k: v for k, v in json.loads(made.read_text("utf-8")).items() if k != "version"}
    made.write_text(json.dumps(old), encoding="utf-8")
    assert "was begun with no version: give another folder" in kernelwright(*words).stderr
