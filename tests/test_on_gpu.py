"""The runner of scripts/on_gpu.py: what is kept of a stage, what a second call does, its table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts import on_gpu
from scripts.on_gpu import Notes, Stage
from tests.fake_nvidia_smi import H100, on_path, write_nvidia_smi

ROOT = Path(__file__).parents[1]


def notes(folder: Path) -> Notes:
    return Notes(folder / "out", folder / "kept", "a card")


def started(stage: Stage, folder: Path, *, seconds: float = 100.0, limit: int = 30) -> Notes:
    """What is noted after a call that starts this stage."""
    found = notes(folder)
    places = (folder / "out", folder / "kept", folder / "kept")
    on_gpu.start(stage, found, time.monotonic() + seconds, places, rehearse=False)
    return found


def stage(name: str, limit_s: int = 60, needs: tuple[str, ...] = ()) -> Stage:
    return Stage(f"tests.stages.{name}", "a", 1, limit_s, needs)


def ends(found: Notes) -> list[str]:
    return [row["end"] for row in found.rows if "end" in row]


def test_rows_of_a_stage_that_ends_well_are_kept_and_it_is_done(tmp_path: Path) -> None:
    found = started(stage("good"), tmp_path)
    assert ends(found) == ["ok"]
    assert [row["what"] for row in found.rows if "what" in row] == ["first", "second"]
    assert {row["card"] for row in found.rows} == {"a card"}
    assert found.done() == {"tests.stages.good"}
    lines = (tmp_path / "out" / "on_gpu.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == found.rows
    assert (tmp_path / "kept" / "on_gpu.jsonl").read_text().splitlines() == lines


def test_a_stage_that_fails_keeps_its_rows_and_is_not_done(tmp_path: Path) -> None:
    found = started(stage("failing"), tmp_path)
    assert ends(found) == ["failed 1"]
    assert [row["what"] for row in found.rows if "what" in row] == ["before"]
    assert found.done() == set()
    assert "it failed on purpose" in (tmp_path / "out" / "log.txt").read_text()


def test_a_stage_that_is_cut_keeps_its_rows_and_leaves_no_process(tmp_path: Path) -> None:
    found = started(stage("endless", limit_s=4), tmp_path)
    assert ends(found) == ["cut"]
    (row,) = (row for row in found.rows if row.get("what") == "started")
    state = Path(f"/proc/{row['child']}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_stage_without_time_or_without_what_it_needs_is_left_out(tmp_path: Path) -> None:
    assert ends(started(stage("good"), tmp_path / "a", seconds=0.1)) == ["left out: no time"]
    needy = stage("good", needs=("setup",))
    assert ends(started(needy, tmp_path / "b")) == ["left out: needs setup"]


def test_a_second_call_knows_what_the_first_did(tmp_path: Path) -> None:
    started(stage("good"), tmp_path)
    (
        tmp_path / "out" / "on_gpu.jsonl"
    ).unlink()  # what comes back is gone; the machine's copy is not
    again = notes(tmp_path)
    assert again.done() == {"tests.stages.good"}
    assert len((tmp_path / "out" / "on_gpu.jsonl").read_text().splitlines()) == len(again.rows) == 3


def test_another_machine_is_set_up_anew_and_measures_only_what_is_left(tmp_path: Path) -> None:
    found = notes(tmp_path)
    for name in ("setup", "weights", "facts"):
        found.end(next(one for one in on_gpu.STAGES if one.name == name), "ok", 1.0)
    assert found.done() == {"setup", "weights", "facts"}
    found.machine = "another"
    assert found.done() == {"facts"}


def test_half_a_row_of_a_killed_process_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "on_gpu.jsonl").write_text(
        '{"stage": "facts", "what": "a"}\n{"stage": "fa'
    )
    assert len(notes(tmp_path).rows) == 1


@pytest.mark.parametrize("rows", [0, 3, 10, 1000])
@pytest.mark.parametrize("letters", [1, 500])
@pytest.mark.slow
def test_the_table_fits_into_a_reply_and_shows_every_stage(
    tmp_path: Path, rows: int, letters: int
) -> None:
    found = notes(tmp_path)
    for one in on_gpu.STAGES:
        for number in range(rows):
            found.add(stage=one.name, what=f"row {number}", text="x" * letters, number=1 / 3)
        found.end(one, "left out: needs something that is long", 1.0)
    text = on_gpu.table(found)
    lines = text.splitlines()
    assert len(text) < 12_000
    assert len(lines) <= 110
    assert max(map(len, lines)) <= 130
    for one in on_gpu.STAGES:
        assert any(line.startswith(f"{one.name} ") for line in lines)
        assert rows == 0 or any(line.startswith(f"{one.name}/row 0") for line in lines)


def test_a_table_shows_rows_of_this_call_only(tmp_path: Path) -> None:
    started(stage("good"), tmp_path)
    again = notes(tmp_path)
    again.add(stage="facts", what="driver", text="two\nlines", number=1.23456789)
    text = on_gpu.table(again)
    assert "first" not in text
    assert "facts/driver: text=two lines number=1.235" in text


def test_the_second_call_ends_with_what_the_first_left() -> None:
    first, second = ([one.name for one in on_gpu.order(call, None)] for call in "ab")
    assert first[0] == second[0] == "setup"
    assert set(first) | set(second) == {one.name for one in on_gpu.STAGES}
    assert second[-len(first) + 1 :] == first[1:]


def test_a_stage_by_name_brings_what_it_needs() -> None:
    assert [one.name for one in on_gpu.order("a", ["curve"])] == ["setup", "weights", "curve"]
    with pytest.raises(SystemExit, match="no stage dance"):
        on_gpu.order("a", ["dance"])


def test_every_need_is_a_stage_that_comes_before() -> None:
    for call in ("a", "b", "ab"):
        seen: set[str] = set()
        for one in on_gpu.order(call, None):
            assert set(one.needs) <= seen, one.name
            seen.add(one.name)


def test_too_many_files_come_back_as_one(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("on_gpu.jsonl", "log.txt", "table.txt", *(f"{n}.csv" for n in range(12))):
        (tmp_path / name).write_text(name)
    on_gpu._pack(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert len(names) <= on_gpu.MOST_FILES
    assert {"on_gpu.jsonl", "log.txt", "table.txt", "more.tar.gz"} <= names


def test_the_runner_runs_on_a_bare_python(tmp_path: Path) -> None:
    """It imports nothing that has to be installed, and says which card there is: none."""
    command = [sys.executable, "-I", "-S", str(ROOT / "scripts" / "on_gpu.py")]
    command += ["--out", str(tmp_path / "out"), "--kept", str(tmp_path / "kept")]
    command += ["--seconds", "0", "--stages", "facts"]
    empty = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=empty, check=False)
    assert done.returncode == 1, done.stderr
    assert "setup: left out: no time" in done.stdout
    assert "facts: left out: needs setup" in done.stdout
    assert done.stdout.splitlines()[2] == "card: none"


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_rehearsal_sets_up_measures_the_driver_and_does_nothing_twice(tmp_path: Path) -> None:
    """Of the frame alone; `python -m scripts.on_gpu_rehearse` rehearses every stage."""
    write_nvidia_smi(tmp_path)
    command = [sys.executable, str(ROOT / "scripts" / "on_gpu.py"), "--rehearse"]
    command += ["--kept", str(tmp_path / "kept"), "--stages", "facts,driver"]
    paths = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PATH": on_path(tmp_path), "PYTHONPATH": paths}

    def call(name: str) -> str:
        words = [*command, "--out", str(tmp_path / name)]
        done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
        log = (tmp_path / name / "log.txt") if name == "a" else None
        assert done.returncode == 0, done.stdout + (log.read_text() if log else "")
        return done.stdout

    first, second = call("a"), call("b")
    assert f"card: {H100['name']}" in first
    for name in ("setup", "facts", "driver"):
        assert f"{name}: begins" in first
        assert f"{name}: begins" not in second
        assert any(line.startswith(f"{name} ") and " ok " in line for line in second.splitlines())
    lines = (tmp_path / "b" / "on_gpu.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    found = {f"{row['stage']}/{row['what']}" for row in rows if "what" in row}
    assert {"facts/gpu", "facts/sandbox", "driver/contexts", "driver/memory speed"} <= found
