"""`kernelwright data diff`: what two folders of rows differ in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.data.exports.contents import read_contents
from kernelwright.data.exports.diff import Difference, difference
from kernelwright.data.graphs.build import Draw
from kernelwright.data.graphs.mutants.rows import PREFERENCES
from kernelwright.data.graphs.problem import problem_of
from kernelwright.data.graphs.sample import draw
from kernelwright.data.suites.row_folder import Done, Lost, RowFolder, write_lines
from kernelwright.data.suites.rows import Row
from kernelwright.envs.types import Verdict
from tests.command import kernelwright


def right(index: int) -> Row:
    graph = draw(0, index)
    one = Draw(id=f"{index:05d}", graph=graph, problem=problem_of(graph, 0, index))
    speeds = {"speedup": 2.0, "speedup_interval": (1.9, 2.1)}
    return replace(one.rows("cpp")[0], verdict=Verdict.CORRECT, reason="ok", **speeds)  # type: ignore[arg-type]


def folder(where: Path, rows: Sequence[Row]) -> Path:
    out = RowFolder(where)
    where.mkdir()
    out.open({"command": "data build", "seed": 0})
    for row in rows:
        good = row.is_right
        done = Done(id=row.name, rows=(row,) * good, wrong=(row,) * (not good))
        out.add([done])
    return where


def found(tmp_path: Path, first: Sequence[Row], second: Sequence[Row]) -> Difference:
    a, b = folder(tmp_path / "a", first), folder(tmp_path / "b", second)
    return difference(read_contents(a), read_contents(b))


def test_folders_with_the_same_rows_differ_in_nothing(tmp_path: Path) -> None:
    rows = [right(index) for index in range(4)]
    said = found(tmp_path, rows, rows[::-1])
    assert said.is_empty
    assert said.text("a", "b") == []


def test_each_kind_of_difference_is_found_alone(tmp_path: Path) -> None:
    rows = [right(index) for index in range(6)]
    near = replace(rows[1], speedup=2.05, speedup_interval=(2.0, 2.2))
    slow = replace(rows[2], speedup=1.5, speedup_interval=(1.4, 1.6))
    other = replace(rows[3], kernel=f"{rows[3].kernel}\n")
    wrong = replace(rows[4], verdict=Verdict.WRONG, reason="mismatch", speedup=None)
    wrong = replace(wrong, speedup_interval=None)
    said = found(tmp_path, rows[:5], [near, slow, other, wrong, rows[5]])
    assert said.only_first == (rows[0].name,)
    assert said.only_second == (rows[5].name,)
    assert [one.problem for one in said.kernels] == [other.name]
    assert [str(one) for one in said.verdicts] == [
        f"{wrong.name} in cpp: correct (ok) → wrong (mismatch)"
    ]
    assert [str(one) for one in said.speeds] == [
        f"{slow.name} in cpp: 2.00 [1.90, 2.10] → 1.50 [1.40, 1.60]"
    ]
    assert said.counts["right answers in cpp"] == (5, 4)
    assert said.counts["wrong answers"] == (0, 1)
    assert "problems" not in said.counts
    assert f"problems only in first: 1\n  {rows[0].name}" in "\n".join(said.text("first", "b"))


def test_answers_that_nobody_has_judged_are_compared_and_counted(tmp_path: Path) -> None:
    blank = {"verdict": None, "reason": "", "speedup": None, "speedup_interval": None}
    one, two, three = (replace(right(index), **blank) for index in range(3))  # type: ignore[arg-type]
    silent = replace(two, verdict=Verdict.UNJUDGED, reason="worker_lost")
    other = replace(three, kernel=f"{three.kernel}\n")
    said = found(tmp_path, [one, two, three], [right(0), silent, other])
    assert [change.problem for change in said.kernels] == [three.name]
    assert list(map(str, said.verdicts)) == [f"{one.name} in cpp: not judged → correct (ok)"]
    assert said.counts["answers that nobody has judged"] == (3, 2)


def test_what_became_of_draws_and_rows_of_mutants_are_counted(tmp_path: Path) -> None:
    row = right(0)
    a, b = folder(tmp_path / "a", [row]), folder(tmp_path / "b", [row])
    RowFolder(b).add([Done(id="x", lost=Lost("x", "refused", "accepts zeros"))])
    write_lines(b / PREFERENCES, [{"why": "slower"}] * 2)
    said = difference(read_contents(a), read_contents(b))
    assert said.counts == {"draws refused": (0, 1), PREFERENCES: (0, 2)}


def test_a_long_list_is_cut_in_text_alone(tmp_path: Path) -> None:
    rows = [right(index) for index in range(13)]
    said = found(tmp_path, rows, rows[:1])
    assert "  and 2 more" in said.text("a", "b")
    assert len(said.only_first) == 12


@pytest.mark.parametrize(("same", "code"), [(True, 0), (False, 1)])
def test_the_exit_code_is_that_of_diff(tmp_path: Path, same: bool, code: int) -> None:
    a = folder(tmp_path / "a", [right(0)])
    b = folder(tmp_path / "b", [right(0 if same else 1)])
    done = kernelwright("data", "diff", str(a), str(b), "--json")
    assert done.returncode == code
    plain = json.loads(done.stdout)
    assert plain["only_first"] == ([] if same else [right(0).name])
    assert kernelwright("data", "diff", str(a), str(tmp_path / "none")).returncode == 2
