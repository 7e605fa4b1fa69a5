"""`kernelwright data stats|show|check|export`: rows as tables, counted, judged again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelwright.commands.row_folders import show
from kernelwright.commands.shared import MISUSED
from kernelwright.data.exports import statistics
from kernelwright.data.exports.contents import Contents, read_contents
from kernelwright.data.exports.tables import TABLES, Cells
from kernelwright.data.exports.write import ExportError, card, export
from kernelwright.data.graphs.build import Draw
from kernelwright.data.graphs.problem import problem_of
from kernelwright.data.graphs.sample import draw
from kernelwright.data.suites.built import split_of
from kernelwright.data.suites.load import load_suite
from kernelwright.data.suites.row_folder import Done, Lost, RowFolder
from kernelwright.data.suites.rows import Row, RowError
from kernelwright.envs.codec import from_plain
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.types import Problem, Tolerance, Verdict
from tests.command import kernelwright, last_logged
from tests.nouns import RELU_MODULE

DRAWS = 24


def right(index: int) -> Row:
    """A drawn row with a verdict and a speed."""
    graph = draw(0, index)
    one = Draw(id=f"{index:05d}", graph=graph, problem=problem_of(graph, 0, index))
    speed = 0.5 + index / 10
    return replace(
        one.rows("cpp")[0],
        verdict=Verdict.CORRECT,
        reason="ok",
        speedup=speed,
        speedup_interval=(speed - 0.01, speed + 0.01),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of drawn problems; each third one has a slower answer and a wrong one more."""
    where = tmp_path_factory.mktemp("rows")
    out = RowFolder(where)
    out.open({"command": "data build", "seed": 0})
    for index in range(DRAWS):
        row = right(index)
        more = {"speedup": 0.1, "speedup_interval": (0.09, 0.11), "kernel": "// slow\n"}
        wrong = replace(row, kernel="// no\n", verdict=Verdict.WRONG, reason="wrong_values")
        slow = replace(row, **more)  # type: ignore[arg-type]
        third = index % 3 == 0
        out.add([Done(id=f"{index:05d}", rows=(slow, row)[not third :], wrong=(wrong,) * third)])
    out.add([Done(id="x", lost=Lost("x", "refused", "accepts zeros"))])
    return where


@pytest.fixture(scope="module")
def contents(folder: Path) -> Contents:
    return read_contents(folder)


@pytest.fixture(scope="module")
def tables(contents: Contents) -> dict[str, list[Cells]]:
    learn_shapes(one.problem for one in contents.entries)
    return {name: list(rows(contents)) for name, rows in TABLES.items()}


def test_every_answer_and_problem_stands_in_the_tables_under_one_id(
    contents: Contents, tables: dict[str, list[Cells]]
) -> None:
    problems = {one["problem"] for one in tables["problems"]}
    samples = {one["sample"]: one for one in tables["samples"]}
    assert len(problems) == DRAWS
    assert contents.dialects is contents.dialects, "they are counted once"
    assert len(samples) == DRAWS + 2 * len(range(0, DRAWS, 3))
    assert {one["problem"] for one in tables["samples"]} == problems
    assert all(samples[one["sample"]]["verdict"] == "correct" for one in tables["sft"])
    assert all(
        samples[one["sample"]]["kernel"].strip() in one["completion"][0]["content"]
        for one in tables["sft"]
    )


def test_the_fastest_answer_of_a_problem_is_the_example(tables: dict[str, list[Cells]]) -> None:
    assert tables["sft"]
    assert all(one["speedup"] > 0.1 for one in tables["sft"])


def test_no_problem_of_an_evaluation_is_in_a_table_for_training(
    tables: dict[str, list[Cells]],
) -> None:
    splits = {one["problem"]: one["splits"] for one in tables["problems"]}
    assert tables["held_out"]
    for name in ("sft", "rl", "prefs"):
        assert tables[name], name
        assert not [one for one in tables[name] if "held_out" in splits[one["problem"]]]
    assert {one["problem"] for one in tables["sft"]}.isdisjoint(
        one["problem"] for one in tables["rl"]
    )


def test_pairs_prefer_right_over_wrong_and_faster_over_slower(
    tables: dict[str, list[Cells]],
) -> None:
    reasons = {one["reason"] for one in tables["prefs"]}
    assert reasons == {"wrong_values", "slower"}
    for one in tables["prefs"]:
        assert one["chosen"] != one["rejected"]
        if one["reason"] == "slower":
            assert one["chosen_speedup"] > one["rejected_speedup"]


def test_a_wrong_answer_that_the_folder_brings_is_rejected(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    before = read_contents(tmp_path)
    entry = next(one for one in before.of_split("train") if one.right)
    texts = {"prompt": "p", "chosen": "// right\n", "rejected": "// mutant\n"}
    pair = {"problem_key": entry.problem.key, "dialect": "cpp", "why": "dropped_step", **texts}
    (tmp_path / "prefs.jsonl").write_text(json.dumps(pair) + "\n", encoding="utf-8")
    found = list(TABLES["prefs"](read_contents(tmp_path)))[-1]
    assert found["reason"] == "dropped_step"
    assert "// mutant" in found["rejected"][0]["content"]


def test_an_export_is_read_by_datasets_and_is_the_same_bytes_again(
    contents: Contents, tables: dict[str, list[Cells]], tmp_path: Path
) -> None:
    from datasets import load_dataset

    export(contents, tmp_path / "one")
    export(contents, tmp_path / "two")
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes(), file.name
    for name, rows in tables.items():
        read: Any = load_dataset(
            str(tmp_path / "one"), name, split="train", cache_dir=str(tmp_path / "cache")
        )
        assert read.to_list() == rows, name
    with pytest.raises(ExportError, match="there already"):
        export(contents, tmp_path / "one")


def test_lone_surrogates_are_exported_and_shown_as_question_marks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = replace(right(0), kernel="// \ud800\n", reasoning="\udfff")
    where = folder_of(tmp_path / "rows", [odd])
    export(read_contents(where), tmp_path / "out")
    (sample,) = parquet(tmp_path / "out" / "samples.parquet")
    assert (sample["kernel"], sample["reasoning"]) == ("// ?\n", "?")
    show(where, odd.name)
    assert "// ?\n" in capsys.readouterr().out


def test_an_export_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> str:
        raise OSError("no space left")

    monkeypatch.setattr("kernelwright.data.exports.write.card", full)
    contents, out = read_contents(folder_of(tmp_path / "rows", [right(0)])), tmp_path / "out"
    (out / "there").mkdir(parents=True)
    for name in ("new", "there"):
        with pytest.raises(OSError, match="no space left"):
            export(contents, out / name)
    assert list(out.rglob("*")) == [out / "there"]


def test_kernelbenchs_layout_has_the_same_problems(contents: Contents, tmp_path: Path) -> None:
    export(contents, tmp_path / "bench", "kernelbench")
    found = load_suite(f"kernelbench:{tmp_path / 'bench'}").problems
    assert sorted(one.code for one in found) == sorted(one.problem.code for one in contents.entries)


def test_verls_rows_hold_what_a_judge_needs(contents: Contents, tmp_path: Path) -> None:
    from datasets import Dataset

    assert export(contents, tmp_path / "verl", "verl").files == tuple(
        f"{name}.parquet: {len(list(TABLES[table](contents)))} rows"
        for name, table in (("train", "rl"), ("test", "held_out"))
    )
    first = Dataset.from_parquet(str(tmp_path / "verl" / "train.parquet"))[0]
    truth = json.loads(first["reward_model"]["ground_truth"])
    assert "class Model" in truth["code"]
    assert first["prompt"][0]["role"] == "user"


def test_statistics_count_each_problem_once_by_its_fastest_answer(contents: Contents) -> None:
    name, many, speeds = statistics.by_category(contents)[-1]
    assert (name, many) == ("all", DRAWS)
    assert speeds["cpp"].answers == speeds["cpp"].timed == DRAWS
    assert speeds["cpp"].faster == pytest.approx(18 / DRAWS)
    assert statistics.fates(contents) == {"kept": DRAWS, "refused": 1}
    assert statistics.wrong_reasons(contents) == {"wrong: wrong_values": 8}
    assert str(statistics.Speeds.of([])) == "0"


def test_a_share_of_faster_ones_says_of_how_many_and_one_core_is_no_gpus(tmp_path: Path) -> None:
    untimed = replace(right(1), speedup=None, speedup_interval=None)
    fast, slow = (replace(right(9), speedup=speed) for speed in (4.0, 1.0))
    assert str(statistics.Speeds.of([fast, slow])) == "2 (2.00x, 50 % faster)"
    assert str(statistics.Speeds.of([fast, slow, untimed])) == "3 (2.00x, 50 % faster of 2 timed)"
    for dialect, core in (("cpp", True), ("cuda", False)):
        rows = [replace(fast, dialect=dialect), replace(untimed, dialect="cuda")]
        page = card(read_contents(folder_of(tmp_path / dialect, rows)), {"samples": 2})
        assert (" on one core" in page) is core


def test_the_commands_count_and_show(folder: Path, contents: Contents, tmp_path: Path) -> None:
    said = kernelwright("data", "stats", str(folder)).stdout
    assert "refused: 1" in said
    assert "all  " in said.replace("│ ", "")
    name = contents.entries[0].problem.name
    shown = kernelwright("data", "show", str(folder), name).stdout
    assert contents.entries[0].problem.code in shown
    assert "wrong: wrong_values" in shown
    assert len(kernelwright("data", "show", str(folder)).stdout.splitlines()) == DRAWS
    none = kernelwright("data", "show", str(folder), "nothing")
    assert "has no problem 'nothing'" in none.stderr
    with pytest.raises(RowError, match="has no rows"):
        read_contents(tmp_path)


@pytest.mark.sandbox
def test_a_verdict_that_no_longer_holds_is_named(folder: Path, tmp_path: Path) -> None:
    rows = [right(0), replace(right(1), kernel='extern "C" void kernel() {}\n')]
    out = RowFolder(tmp_path)
    out.open({})
    out.add([Done(id=str(at), rows=(row,)) for at, row in enumerate(rows)])
    said = kernelwright("data", "check", str(tmp_path), "--count", "5")
    assert "1 of 2 answers are right, or wrong, as they were" in said.stdout
    assert f"{rows[1].name} in cpp: was correct (ok), is " in said.stderr
    assert "judged again 2/2" in last_logged(said.stderr)


def test_a_judge_rebuilds_the_very_problem_from_verls_ground_truth(
    contents: Contents, tmp_path: Path
) -> None:
    """With cases, type and tolerance that its code alone does not give."""
    tolerance = Tolerance(relative=0.5, of_spread=0.25)
    first, *others = contents.of_split("rl")
    odd = replace(first.problem, cases=first.problem.cases[:1], tolerance=tolerance)
    kept = (replace(first, problem=odd), *others)
    export(replace(contents, entries=kept), tmp_path / "out", "verl")
    rows = parquet(tmp_path / "out" / "train.parquet")
    truths = [json.loads(row["reward_model"]["ground_truth"]) for row in rows]
    problems = [from_plain(Problem, truth) for truth in truths]
    assert problems == [one.problem for one in kept]
    assert [one.key for one in problems] == [row["extra_info"]["problem"] for row in rows]
    assert {truth["dialect"] for truth in truths} == {"cpp"}


def parquet(path: Path) -> list[Cells]:
    from datasets import Dataset

    found: list[Cells] = Dataset.from_parquet(str(path)).to_list()
    return found


def folder_of(where: Path, rows: Sequence[Row]) -> Path:
    out = RowFolder(where)
    where.mkdir()
    out.open({})
    out.add([Done(id=str(at), rows=(row,)) for at, row in enumerate(rows)])
    return where


def without_answer(row: Row) -> Row:
    untold = Row(name=row.name, code=row.code, cases=row.cases, tags=row.tags, family=row.family)
    return replace(untold, category=row.category, source=row.source, licence=row.licence)


def test_problems_without_answers_are_tasks_in_cpp_or_what_is_asked_for(tmp_path: Path) -> None:
    rows = [without_answer(right(index)) for index in range(DRAWS)]
    where = folder_of(tmp_path / "rows", rows)
    held = read_contents(where)
    assert held.dialects == ()
    kernelwright("data", "export", str(where), str(tmp_path / "trl"))
    tasks = parquet(tmp_path / "trl" / "rl.parquet")
    assert {row["dialect"] for row in tasks} == {"cpp"}
    assert len(tasks) == len(list(held.of_split("rl")))
    words = ("--view", "verl", "--dialect", "triton", "--dialect", "cuda")
    kernelwright("data", "export", str(where), str(tmp_path / "verl"), *words)
    asked = parquet(tmp_path / "verl" / "train.parquet")
    assert [row["ability"] for row in asked] == ["triton", "cuda"] * len(tasks)
    assert "No kernel of theirs is right" in (tmp_path / "trl" / "README.md").read_text("utf-8")


def test_an_export_that_would_be_empty_is_refused_in_a_line(tmp_path: Path) -> None:
    """And leaves no folder behind."""
    rows = [right(index) for index in range(DRAWS)]
    taught = [row for row in rows if "sft" in split_of(row.problem)]
    where, out = folder_of(tmp_path / "rows", taught), tmp_path / "out"
    said = kernelwright("data", "export", str(where), str(out), "--view", "verl")
    assert said.returncode == MISUSED
    assert said.stderr.count("\n") == 1
    assert "has no problem of the splits rl and held_out" in said.stderr
    with pytest.raises(ValueError, match="no dialect 'cobol'"):
        export(read_contents(where), out, dialects=["cobol"])
    (where / "prefs.jsonl").write_text('{"problem": "a"}\n', encoding="utf-8")
    with pytest.raises(RowError, match=r"prefs\.jsonl:1: not a pair: expects .*problem_key"):
        export(read_contents(where), out)
    assert not out.exists()


def test_answers_that_nobody_has_judged_are_counted_and_left_out(tmp_path: Path) -> None:
    blank = {"verdict": None, "reason": "", "speedup": None, "speedup_interval": None}
    rows = [right(0), *(replace(right(index), **blank) for index in (1, 2))]  # type: ignore[arg-type]
    rows.append(without_answer(right(3)))
    where, out = folder_of(tmp_path / "rows", rows), tmp_path / "out"
    said = kernelwright("data", "export", str(where), str(out)).stdout
    assert "2 answers that nobody has judged are left out" in said
    assert "2 answers that nobody has judged" in (out / "README.md").read_text("utf-8")
    assert len(parquet(out / "samples.parquet")) == 1
    assert "nobody" not in kernelwright("data", "stats", str(where)).stdout


def test_a_task_in_a_language_without_the_modules_type_is_left_out_and_counted(
    tmp_path: Path,
) -> None:
    task = next(row for row in map(without_answer, map(right, range(DRAWS))) if is_rl(row))
    half = RELU_MODULE.replace("torch.randn(N)", "torch.randn(N).bfloat16()")
    odd = replace(task, name="odd", code=half, cases=())
    contents = read_contents(folder_of(tmp_path / "rows", [task, odd]))
    said = "1 tasks in cpp are left out, of modules with tensors of a type that it does not have"
    for view, tasks in (("trl", "rl"), ("verl", "train")):
        written = export(contents, tmp_path / view, view, ["cpp", "cuda"])
        assert written.left_out == (f"{said} (odd, …).",)
        assert len(parquet(tmp_path / view / f"{tasks}.parquet")) == 3
    assert said in (tmp_path / "trl" / "README.md").read_text("utf-8")
    alone = read_contents(folder_of(tmp_path / "alone", [odd]))
    with pytest.raises(ExportError, match="of the splits rl and held_out that can be asked in cpp"):
        export(alone, tmp_path / "none", "verl")


def is_rl(row: Row) -> bool:
    return "rl" in split_of(row.problem)


def test_an_answer_keeps_its_source_and_its_licence_where_another_brought_its_problem(
    tmp_path: Path,
) -> None:
    one = replace(right(0), source="mine:1", licence="MIT")
    other = replace(one, kernel=f"{one.kernel}\n", source="theirs:2", licence="GPL-3.0")
    contents = read_contents(folder_of(tmp_path / "rows", [one, other]))
    told = {(row["source"], row["licence"]) for row in TABLES["samples"](contents)}
    assert told == {("mine:1", "MIT"), ("theirs:2", "GPL-3.0")}
    said = card(contents, {"samples": 2})
    assert "license: other\n" in said
    assert "Licences of the answers: MIT 1, GPL-3.0 1." in said


def test_tables_have_one_schema_whether_timed_or_not(folder: Path, tmp_path: Path) -> None:
    from datasets import Dataset

    blank = {"speedup": None, "speedup_interval": None, "tags": ()}
    untimed = [replace(right(index), **blank) for index in range(DRAWS)]  # type: ignore[arg-type]
    untimed = [one for one in untimed if split_of(one.problem)[0] == "train"]
    where = folder_of(tmp_path / "rows", untimed)
    pair = dict.fromkeys(("prompt", "chosen", "rejected", "why"), "text")
    pairs = [pair | {"problem_key": one.problem.key, "dialect": "cpp"} for one in untimed]
    (where / "prefs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in pairs))
    export(read_contents(folder), tmp_path / "timed")
    export(read_contents(where), tmp_path / "untimed")
    for file in (tmp_path / "untimed").glob("*.parquet"):
        one, other = (
            Dataset.from_parquet(str(tmp_path / name / file.name)).features
            for name in ("timed", "untimed")
        )
        assert one == other, file.name
    names = {file.stem for file in (tmp_path / "untimed").glob("*.parquet")}
    assert names >= {"problems", "samples", "sft", "prefs"}


def test_a_card_names_the_owner_of_a_source_on_the_hub_and_no_path(contents: Contents) -> None:
    for source, shown in (
        ("hub:alice/kernels@abc", "hub:alice/kernels@abc"),
        ("kernelbook:/home/me/book.parquet", "kernelbook:book.parquet"),
        ("/home/me/rows", "rows"),
    ):
        page = card(replace(contents, made={"source": source}), {"problems": 1})
        assert json.dumps({"source": shown}) in page
