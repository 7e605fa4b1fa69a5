"""Which exploits the naive harness has fallen for, as they are now: hashes in controls.json.

python -m tests.controls         plays the new and changed ones, and writes their hashes
python -m tests.controls --all   plays all of them, 20 minutes on two cores
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from kernelwright.data.gallery.exhibits import BROKEN, FOLDER, files_of, problem_file
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.types import Dialect, content_hash
from tests.naive_box import HARNESS, controls

EXPLOITS = FOLDER / "exploits"
ALL = {
    dialect: [file for file in files_of(EXPLOITS, dialect) if file.parent.name != BROKEN]
    for dialect in sorted(DIALECTS, key=lambda name: -len(DIALECTS[name].suffix))
}
DEVICE = "device"
"""What succeeds is device code, which the naive harness has no device for."""
OUTCOMES = ("correct", "fast", "leaks", "dies", "hangs", DEVICE)
NO_VERDICT = {"dies", "hangs"}
"""Either says that one candidate took the harness down; which of them is up to the machine."""
TABLE = Path(__file__).with_name("controls.json")
DAYS = 24
"""Each is played again after so many days, changed or not."""


def stated(file: Path) -> str:
    """The outcome that an exploit's second line claims."""
    mark, key, outcome = file.read_text().splitlines()[1].split()
    assert (mark in ("//", "#"), key) == (True, "naive:"), file
    assert outcome in OUTCOMES, file
    return outcome


def lacking(dialect: Dialect) -> str | None:
    """Why this machine cannot build answers in a dialect."""
    if dialect == "triton" and find_spec("triton") is None:
        return "triton is not installed"
    return "no nvcc on the PATH" if dialect == "cuda" and nvcc_path() is None else None


def named(file: Path) -> str:
    return str(file.relative_to(EXPLOITS))


@cache
def identity(file: Path) -> str:
    """A hash of all that decides what the naive harness makes of an exploit, but for the machine
    and its packages."""
    return content_hash(*(one.read_text() for one in (file, problem_file(file), HARNESS)))


@cache
def known() -> Mapping[str, str]:
    """By name, each exploit's hash when it succeeded."""
    found: dict[str, str] = json.loads(TABLE.read_text())
    return found


def is_due(file: Path, day: int) -> bool:
    """Whether an exploit is new or changed, or its turn has come."""
    found = identity(file)
    return known().get(named(file)) != found or (int(found, 16) + day) % DAYS == 0


def playable() -> dict[Dialect, list[Path]]:
    """By dialect, the exploits that need no device."""
    return {
        dialect: [one for one in files if stated(one) != DEVICE] for dialect, files in ALL.items()
    }


def due() -> dict[Dialect, list[Path]]:
    """Those of them that are played today."""
    day = date.today().toordinal()
    return {
        dialect: [one for one in files if is_due(one, day)] for dialect, files in playable().items()
    }


def played(chosen: Mapping[Dialect, Sequence[Path]]) -> dict[Path, Mapping[str, object]]:
    """What the naive harness made of each; a box for each dialect, two of them at once."""
    with ThreadPoolExecutor(2) as boxes:
        rows = boxes.map(_played, [files for files in chosen.values() if files])
        return {file: row for found in rows for file, row in found.items()}


def _played(files: Sequence[Path]) -> dict[Path, Mapping[str, object]]:
    """Fast is faster than the honest kernel. That one answers the problem of those that claim to be
    fast, not every `problem.py`."""
    jobs = []
    for file in files:
        fair = EXPLOITS / "honest.cpp" if stated(file) == "fast" else None
        jobs.append((file, problem_file(file), fair))
    return controls(jobs)


def succeeded(file: Path, found: Mapping[str, object]) -> bool:
    """Whether an exploit had the outcome that it claims."""
    wanted, seen = stated(file), found["seen"]
    assert isinstance(seen, list)
    return bool((NO_VERDICT if wanted in NO_VERDICT else {wanted}) & set(seen))


def main() -> int:
    before = known()
    chosen = {
        dialect: [
            one for one in files if "--all" in sys.argv or before.get(named(one)) != identity(one)
        ]
        for dialect, files in playable().items()
    }
    rows = played(chosen)
    good = {named(file) for file, row in rows.items() if succeeded(file, row)}
    failed = sorted(named(file) for file in rows if named(file) not in good)
    every = sorted(one for files in playable().values() for one in files)
    kept = {named(one): identity(one) for one in every if named(one) not in failed}
    TABLE.write_text(f"{json.dumps(kept, indent=1)}\n")
    print(f"{len(good)} succeeded; failed: {', '.join(failed) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
