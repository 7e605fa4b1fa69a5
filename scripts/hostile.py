"""Damages what others may write, in many ways, and hands it to each command that reads it.

Right is: the command does its work, or there is one clear line and an exit code. A traceback, a
wait without end, a file outside, or a damaged line that nobody is told of is a fault; exits 1 then.

    python -m scripts.hostile [--seed 0] [--count 20] [READER ...]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from typer.testing import CliRunner

from scripts.damage import damaged
from scripts.hostile_inputs import READERS, Reader

FINE, LINE, FAULT = "fine", "one line", "fault"
STARTS_WITHIN_S = 120.0
"""A first call imports what the others have."""


class TooLongError(BaseException):
    """The command ran past its limit; no handler of errors catches it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20, help="Inputs of a usual reader.")
    parser.add_argument("readers", nargs="*", metavar="READER")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hostile-") as place:
        counts = {
            name: tried(name, READERS[name], Path(place), options.seed, options.count)
            for name in options.readers or READERS
        }
    print("\n| reader | inputs | fine | one line | faults |\n|---|---|---|---|---|")
    for name, one in counts.items():
        print(f"| `{name}` | {one.total()} | {one[FINE]} | {one[LINE]} | {one[FAULT]} |")
    sys.exit(any(one[FAULT] for one in counts.values()))


def tried(name: str, reader: Reader, place: Path, seed: int, count: int) -> Counter[str]:
    """Damages a reader's input so many times; prints each fault."""
    draw, found = random.Random(f"{seed} {name}"), Counter[str]()
    whole = place / "whole" / name.replace(" ", "-") / "in"
    reader.make(whole)
    undamaged, told = _outcome(replace(reader, limit_s=STARTS_WITHIN_S), whole, place)
    shutil.rmtree(whole.parent / "out", ignore_errors=True)
    started = time.monotonic()
    print(f"{name}: undamaged: {undamaged}: {told}", file=sys.stderr)
    for number in range(max(2, round(count * reader.weight))):
        folder = place / "case" / "in"
        shutil.copytree(whole.parent, folder.parent)
        file = draw.choice(sorted(one for one in folder.rglob("*") if one.is_file()))
        kind = damaged(file, draw)
        outcome, told = _outcome(reader, folder, place)
        if outcome is FAULT:
            print(f"FAULT {name} #{number}: {file.name} {kind}: {told}", flush=True)
        found[outcome] += 1
        shutil.rmtree(folder.parent)
    print(f"{name}: {dict(found)} {time.monotonic() - started:.1f} s", file=sys.stderr)
    return found


def _outcome(reader: Reader, folder: Path, place: Path) -> tuple[str, str]:
    """(what came of a command, what it said)."""
    from kernelwright.cli import app

    out = folder.parent / "out"
    words = [
        one.replace("IN", str(folder)).replace("OUT", str(out)) for one in reader.words.split()
    ]
    try:
        with _limited(reader.limit_s):
            result = CliRunner().invoke(app, words)
    except TooLongError:
        return FAULT, "still running at its limit"
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        where = traceback.extract_tb(error.__traceback__)
        ours = [
            one
            for one in where
            if "kernelwright" in one.filename and "/scripts/" not in one.filename
        ]
        last = ours[-1] if ours else where[-1]
        at = f"{Path(last.filename).name}:{last.lineno}"
        return FAULT, f"{type(error).__name__} at {at}: {str(error)[:150]}"
    said = result.stderr.strip()
    if outside := sorted(set(os.listdir(place)) - {"whole", "case"}):
        return FAULT, f"wrote outside: {outside}"
    if result.exit_code == 0:
        quiet = not said and _has_damaged_line(folder) and words[0] not in ("view", "show")
        return (FAULT, "a damaged line is not told") if quiet else (FINE, said[:150])
    if result.exit_code not in (1, 2) or not (said or result.stdout.strip()):
        return FAULT, f"exit code {result.exit_code}: {said[:150]!r}"
    return LINE, said[-200:]


def _has_damaged_line(folder: Path) -> bool:
    """Whether a whole line of records, rows or answers is no object."""
    for file in folder.glob("*.jsonl"):
        if file.name == "metrics.jsonl" or not file.is_file():
            continue
        for line in file.read_bytes().split(b"\n")[:-1]:
            try:
                if line.strip() and not isinstance(json.loads(line), dict):
                    return True
            except (ValueError, RecursionError):
                return True
    return False


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def end(number: int, frame: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    main()
