"""How many mutants of each problem's module fail on its cases: the kill score of a suite.

    python -m scripts.kill_score [SUITE] [--out FILE] [--every N]

SUITE is a spec as everywhere (`starter` if none is given, with the problems that its admission
refused). One row of JSON a mutant goes to FILE, and a table by kind is printed: how many fail on
the problem's own cases, how many with those that its admission keeps, which live. Exit code 1 where
fewer than 98 in 100 fail.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kernelwright.data.factory.families import blueprints
from kernelwright.data.suites.check import Job, check_many
from kernelwright.data.suites.load import jobs_of, load_suite
from kernelwright.data.suites.starter import job
from kernelwright.envs.codec import to_plain
from kernelwright.envs.reference.admitted import Admission, MutantRow

ENOUGH = 0.98
COLUMNS = ("kind", "mutants", "equivalent", "fail on given cases", "with kept ones", "live")
LOG_EVERY = 25


def jobs_from(suite: str) -> list[Job]:
    """All starter problems, admitted or not; else those of the suite."""
    return [job(one) for one in blueprints()] if suite == "starter" else jobs_of(load_suite(suite))


def judged(jobs: Sequence[Job]) -> list[Admission]:
    """What came of each problem, with progress on stderr."""
    found, started = [], time.monotonic()
    for one in check_many(jobs):
        found.append(one)
        if len(found) % LOG_EVERY == 0 or len(found) == len(jobs):
            took_s = time.monotonic() - started
            print(f"{len(found)} of {len(jobs)} problems in {took_s:.0f} s", file=sys.stderr)
    return found


def fate(row: MutantRow) -> str:
    """The column that a mutant counts in."""
    if row.equivalent:
        return "equivalent"
    if row.killed_by:
        return "given"
    return "kept" if row.kinds else "live"


def table(found: Sequence[Admission]) -> Table:
    """By kind, the largest first, and all together."""
    counts = Counter((row.kind, fate(row)) for one in found for row in one.fates)
    kinds = Counter(row.kind for one in found for row in one.fates)
    result = Table(*COLUMNS)
    for kind, _ in (*kinds.most_common(), ("all", 0)):
        of = {
            it: sum(n for (k, f), n in counts.items() if f == it and kind in (k, "all"))
            for it in ("equivalent", "given", "kept", "live")
        }
        real = of["given"] + of["kept"] + of["live"]
        cells = [real, of["equivalent"], share(of["given"], real)]
        result.add_row(kind, *map(str, [*cells, share(of["given"] + of["kept"], real), of["live"]]))
    return result


def share(some: int, of: int) -> str:
    return f"{some} ({some / of:.1%})" if of else "0"


def score(found: Sequence[Admission]) -> float:
    """The share of the mutants that fail, of those that compute something else."""
    fates = Counter(fate(row) for one in found for row in one.fates)
    real = fates["given"] + fates["kept"] + fates["live"]
    return 1 - fates["live"] / real if real else 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("suite", nargs="?", default="starter")
    parser.add_argument("--out", type=Path, help="file for one row a mutant")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth problem")
    options = parser.parse_args()
    found = judged(jobs_from(options.suite)[:: options.every])
    if options.out:
        rows = [{"problem": one.problem, **to_plain(row)} for one in found for row in one.fates]
        options.out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for one in found:
        if one.failed:
            print(f"{one.problem} could not be tried: {one.failed}")
        for row in one.fates:
            if fate(row) == "live":
                print(f"{one.problem} {row.kind}@{row.place} lives")
    Console(width=120).print(table(found))
    kept = Counter(kind for one in found for kind in one.kept)
    print("kept:", ", ".join(f"{kind} {count}" for kind, count in kept.most_common()) or "nothing")
    print(
        f"{sum(one.admitted for one in found)} of {len(found)} admitted; "
        f"{score(found):.2%} of mutants fail"
    )
    return 0 if score(found) >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
