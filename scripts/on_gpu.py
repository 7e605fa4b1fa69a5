#!/usr/bin/env python3
"""Finds out in minutes, without a network, how this project does on a machine's GPU.

    umask 022; python3 scripts/on_gpu.py --out "$OUT" --call a --seconds 325
    umask 022; python3 scripts/on_gpu.py --out "$OUT" --call b --seconds 480

Standard library only: it runs before anything is installed. Each stage is a process with a limit;
its rows go to on_gpu.jsonl when it has ended or was cut, and to a copy on the machine: the next
call does only what is not done. Prints a table last; exits 1 where a stage did not end well.
docs/on_gpu.md says what each stage measures and what has to be carried.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BROUGHT = ROOT / ".gpu"
END_S = 8
"""Kept back for the table and for the files to be closed."""
CUT_S = 2
"""A stage is told so much less than its limit, so that one which ends in time is not cut."""
REHEARSAL_SLOWER, LONG_SLOWER, LONG_S = 6, 3, 120
"""Factor of a rehearsal's limits; half of it for stages that use up a long limit."""
ALL_LINES, ROW_LINES, LINE_LETTERS, TABLE_LETTERS = 110, 4, 130, 11_500
MOST_FILES, FILE_BYTES = 8, 15 << 20
"""Of what comes back: more files, or larger ones, are packed into one."""
OF_A_MACHINE = ("setup", "weights")
"""Stages that every machine needs anew."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Stage:
    """A module of scripts/on_gpu_stages, what it should take, and when it is cut."""

    name: str
    call: str
    seconds: int
    limit_s: int
    needs: tuple[str, ...] = ("setup",)


# Within a call in the order of value per second: what comes last is left out first.
STAGES = (
    Stage("setup", "a", 14, 90, ()),
    Stage("facts", "a", 19, 40),
    Stage("tests", "a", 20, 100),
    Stage("driver", "a", 12, 40),
    Stage("verdicts", "a", 73, 90),
    Stage("clock", "a", 44, 60),
    Stage("twins", "a", 42, 50),
    Stage("tiny", "a", 85, 110),  # the last of its call: it may take what is left
    Stage("weights", "b", 22, 40),
    Stage("curve", "b", 205, 225, ("setup", "weights")),
    Stage("checkers", "b", 45, 70),
    Stage("compiled", "b", 50, 75),
    Stage("evaluate", "b", 94, 130),
)


class Stopped(Exception):
    """The runner was told to end."""


class Notes:
    """Rows of JSON, in the folder that comes back and on the machine."""

    def __init__(self, out: Path, kept: Path, card: str | None) -> None:
        out.mkdir(parents=True, exist_ok=True)
        kept.mkdir(parents=True, exist_ok=True)
        self.card, self.machine = card, _machine()
        self.files = (out / "on_gpu.jsonl", kept / "on_gpu.jsonl")
        carried = BROUGHT / "on_gpu.jsonl"  # of another machine, before this one
        if not self.files[1].exists() and carried.exists():
            shutil.copy(carried, self.files[1])
        self.rows = read_rows(self.files[1])
        self.known = len(self.rows)
        """So many rows are of earlier calls."""
        self.files[0].write_text("".join(json.dumps(row) + "\n" for row in self.rows))

    def add(self, **facts: object) -> None:
        row = {**facts, "card": self.card, "machine": self.machine}
        self.rows.append(row)
        for path in self.files:
            with path.open("a") as file:
                file.write(json.dumps(row) + "\n")

    def end(self, stage: Stage, how: str, seconds: float = 0.0) -> None:
        self.add(stage=stage.name, end=how, seconds=round(seconds, 1), planned=stage.seconds)
        print(f"{stage.name}: {how}" + f" after {seconds:.1f} s" * (seconds > 0), flush=True)

    def done(self) -> set[str]:
        """Names of the stages that need not run again on this machine."""
        return {
            row["stage"]
            for row in self.rows
            if row.get("end") == "ok"
            and (row["stage"] not in OF_A_MACHINE or row["machine"] == self.machine)
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder that comes back")
    parser.add_argument("--call", choices=("a", "b", "ab"), default="ab")
    parser.add_argument("--seconds", type=float, default=805.0, help="all of this call")
    parser.add_argument("--stages", help="only these, by name, with commas; and what they need")
    parser.add_argument("--rehearse", action="store_true", help="on a CPU: limits six times longer")
    parser.add_argument("--kept", type=Path, default=Path.home() / ".on_gpu")
    given = parser.parse_args()
    slower = REHEARSAL_SLOWER if given.rehearse else 1
    ends = time.monotonic() + given.seconds * slower - END_S
    out, kept = given.out.resolve(), given.kept.resolve()
    signal.signal(signal.SIGTERM, _stop)
    notes = Notes(out, kept, card())
    carried = _keep(kept)
    chosen = order(given.call, given.stages.split(",") if given.stages else None)
    try:
        for stage in chosen:
            if stage.name not in notes.done():
                start(stage, notes, ends, (out, kept, carried), rehearse=given.rehearse)
    except (Stopped, KeyboardInterrupt):
        print("stopped", flush=True)
    (out / "table.txt").write_text(table(notes) + "\n")
    _pack(out)
    print(table(notes), flush=True)
    sys.exit(any(stage.name not in notes.done() for stage in chosen))


def order(call: str, names: Sequence[str] | None) -> list[Stage]:
    """The stages of a call; call b ends with what a left, which is skipped where it is done."""
    if names is not None:
        unknown = set(names) - {one.name for one in STAGES}
        if unknown:
            raise SystemExit(f"no stage {', '.join(sorted(unknown))}")
        needed = {need for one in STAGES if one.name in names for need in one.needs}
        return [one for one in STAGES if one.name in names or one.name in needed]
    if call == "a":
        return [one for one in STAGES if one.call == "a"]
    first = [one for one in STAGES if one.name == "setup" or (one.call == "b" and call == "b")]
    return first + [one for one in STAGES if one not in first]


def start(
    stage: Stage, notes: Notes, ends: float, folders: tuple[Path, Path, Path], *, rehearse: bool
) -> None:
    """Runs a stage, or says why not."""
    slower = 1
    if rehearse:
        slower = REHEARSAL_SLOWER if stage.limit_s <= LONG_S else LONG_SLOWER
    left_s, lacking = (
        ends - time.monotonic(),
        [one for one in stage.needs if one not in notes.done()],
    )
    if lacking:
        notes.end(stage, f"left out: needs {lacking[0]}")
    elif left_s < stage.seconds * slower / 2:
        notes.end(stage, "left out: no time")
    else:
        limit_s = min(float(stage.limit_s * slower), left_s)
        print(f"{stage.name}: begins, at most {limit_s:.0f} s", flush=True)
        run(stage, notes, limit_s, folders, rehearse=rehearse)


def run(
    stage: Stage, notes: Notes, limit_s: float, folders: tuple[Path, Path, Path], *, rehearse: bool
) -> None:
    """One stage in a session of its own, of which nothing goes on afterwards."""
    out, kept, carried = folders
    started, rows = time.monotonic(), kept / f"{stage.name}.rows"
    rows.unlink(missing_ok=True)
    words = [sys.executable, "-m", "scripts.on_gpu_stages", stage.name, "--rows", str(rows)]
    words += ["--out", str(out), "--limit-s", f"{limit_s - CUT_S:.1f}", "--carried", str(carried)]
    how = "stopped"
    with (out / "log.txt").open("ab") as log:
        log.write(f"\n=== {stage.name}\n".encode())
        log.flush()
        process = subprocess.Popen(
            words + ["--rehearse"] * rehearse,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            status = process.wait(limit_s)
            how = "ok" if status == 0 else f"failed {status}"
        except subprocess.TimeoutExpired:
            how = "cut"
        finally:
            _end_session(process.pid)
            process.wait()
            for row in read_rows(rows):
                notes.add(stage=stage.name, **row)
            notes.end(stage, how, time.monotonic() - started)


def _end_session(leader: int) -> None:
    """Kills every process of a stage: its workers are in groups of their own."""
    for _ in range(20):
        members = list(_members(leader))
        for process in members:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if not members:
            return
        time.sleep(0.05)


def _members(session: int) -> Iterator[int]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] not in "ZX":
                yield int(folder.name)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise Stopped


def read_rows(path: Path) -> list[Row]:
    """The whole lines of a file; of a process that was killed the last may be half one."""
    rows: list[Row] = []
    for line in path.read_text(errors="replace").splitlines() if path.exists() else ():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


def _machine() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def card() -> str | None:
    """The first GPU's name; None where the driver's tool says none in a minute."""
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.splitlines()[0].strip() if done.stdout.strip() else None


def _keep(kept: Path) -> Path:
    """What was brought, kept on the machine: the next call brings something else."""
    folder = kept / "carried"
    folder.mkdir(exist_ok=True)
    for source in BROUGHT.glob("*") if BROUGHT.is_dir() else ():
        if source.is_dir():
            shutil.copytree(source, folder / source.name, dirs_exist_ok=True)
        else:
            shutil.copy(source, folder / source.name)
    return folder


def _pack(out: Path) -> None:
    """Puts what is too much to come back file by file into one archive."""
    own = ("on_gpu.jsonl", "log.txt", "table.txt")
    others = sorted(path for path in out.iterdir() if path.name not in own)
    flat = [one for one in others if one.is_file() and one.stat().st_size <= FILE_BYTES]
    if flat != others or len(others) + len(own) > MOST_FILES:
        flat = flat[: MOST_FILES - len(own) - 1]
        with tarfile.open(out / "more.tar.gz", "w:gz") as archive:
            for path in others:
                if path not in flat and path.name != "more.tar.gz":
                    archive.add(path, path.name)
        for path in others:
            if path not in flat and path.name != "more.tar.gz":
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def table(notes: Notes) -> str:
    """How each stage ended, and the rows of this call, as many of each stage as fit."""
    return next(text for most in range(ALL_LINES, -1, -1) if _fits(text := _table(notes, most)))


def _fits(text: str) -> bool:
    return len(text) < TABLE_LETTERS and text.count("\n") < ALL_LINES


def _table(notes: Notes, most: int) -> str:
    ends = {row["stage"]: row for row in notes.rows if "end" in row}
    lines = [f"card: {notes.card or 'none'}", f"{'stage':10}{'end':30}{'s':>7}{'planned':>9}"]
    for stage in STAGES:
        if row := ends.get(stage.name):
            times = f"{row['seconds']:7.1f}{row['planned']:9}"
            lines.append(f"{stage.name:10}{row['end'][:29]:30}{times}")
    for name in dict.fromkeys(row["stage"] for row in notes.rows[notes.known :]):
        rows = [row for row in notes.rows[notes.known :] if row["stage"] == name and "what" in row]
        lines += [line for row in rows[:most] for line in _lines(row)]
        if rows[most:]:
            lines.append(f"{name}: {len(rows) - most} more in on_gpu.jsonl")
    return "\n".join(line[:LINE_LETTERS] for line in lines)


def _lines(row: Row) -> list[str]:
    """A row as text, cut after a few lines: the whole of it is in the file."""
    left = ("stage", "what", "card", "machine")
    facts = " ".join(f"{name}={_short(value)}" for name, value in row.items() if name not in left)
    text = f"{row['stage']}/{row['what']}: {facts}"
    return textwrap.wrap(text, LINE_LETTERS, subsequent_indent="    ")[:ROW_LINES]


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return f"[{','.join(map(_short, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{name}:{_short(one)}' for name, one in value.items())}}}"
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value)


if __name__ == "__main__":
    main()
