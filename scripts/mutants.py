"""Mutation test of the files that decide verdicts: inserts small faults, and a test has to fail.

    python -m scripts.mutants [--share 0.1] [--seed 0] [FILE ...]

The faults are cosmic-ray's: a number one more or less, another operator, a condition turned round.
They are made in a copy of the repository, one at a time, and the file's own tests run there. Those
that no test noticed are printed; exit code 1 where fewer than nine in ten were noticed. All 1,800
take hours: `--share` draws some of them.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cosmic_ray.commands.init import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import use_db
from cosmic_ray.work_item import TestOutcome, WorkItem
from rich.progress import track

ROOT = Path(__file__).resolve().parents[1]
TESTS = {
    "envs/referee/layout.py": "tests/test_layout.py tests/test_compare.py",
    "envs/referee/rounds.py": "tests/test_rounds.py tests/test_compare.py",
    "envs/referee/timing.py": "tests/test_timing.py",
    "envs/referee/tolerance.py": "tests/test_tolerance.py tests/test_compare.py",
    "envs/stats.py": "tests/test_stats.py",
    "evals/numbers/metrics.py": "tests/test_metrics.py src/kernelwright/evals/numbers/metrics.py",
    "rewards/price.py": "tests/test_rewards.py",
}
PYTEST = f"{sys.executable} -m pytest -x -q -p no:cacheprovider --hypothesis-profile few"
ANNOTATIONS = "BitOr"
"""In these files `|` stands in annotations only, which nothing evaluates."""
LIMIT_S = 120.0
ENOUGH = 0.9


def faults(file: str) -> list[WorkItem]:
    """Every fault that can be put into a file."""
    with tempfile.TemporaryDirectory() as folder, use_db(str(Path(folder, "db"))) as db:
        init([Path(file)], db, {})
        items = list(db.work_items)
    return [one for one in items if ANNOTATIONS not in one.mutations[0].operator_name]


def unnoticed(file: str, chosen: list[WorkItem]) -> Iterator[str]:
    """The change, as a diff, of each fault with which the file's tests pass."""
    for item in track(chosen, file):
        result = mutate_and_test(item.mutations, f"{PYTEST} {TESTS[file]}", LIMIT_S)
        if result.test_outcome == TestOutcome.SURVIVED:
            yield result.diff or item.mutations[0].operator_name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", default=list(TESTS))
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw, tried, survivors = random.Random(options.seed), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), folder], check=True)
        os.chdir(folder)
        for file in options.files:
            every = faults(file)
            chosen = draw.sample(every, max(1, round(options.share * len(every))))
            left = list(unnoticed(file, chosen))
            tried, survivors = tried + len(chosen), survivors + len(left)
            print(
                f"{file}: {len(chosen) - len(left)} of {len(chosen)} noticed ({len(every)} known)"
            )
            print(*left, sep="\n")
    print(f"{tried - survivors} of {tried} noticed: {1 - survivors / tried:.1%}")
    return 0 if survivors <= (1 - ENOUGH) * tried else 1


if __name__ == "__main__":
    sys.exit(main())
