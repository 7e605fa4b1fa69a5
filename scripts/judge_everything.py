"""Every honest kernel we have and every hostile one, through the judge that training uses.

Prints wrong verdicts, latencies and leftover processes; exits 1 if there is anything to report.

    python -m scripts.judge_everything
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rich.progress import Progress

from data.kernelbench import load_problem
from data.triples import template_triples
from envs.judge import Judge
from envs.types import Candidate, Dialect, Evaluation, Problem

HOSTILE = Path("tests/hostile")


def main() -> None:
    honest = [(one.problem, _candidate(one.problem, one.source)) for one in template_triples()]
    problem = load_problem(HOSTILE / "problem.py")
    files = sorted(HOSTILE.glob("*.cpp"))
    hostile = [(problem, _candidate(problem, file.read_text())) for file in files]
    before = _sandboxes()
    started = time.monotonic()
    with Judge() as judge, Progress() as progress:
        task = progress.add_task("judging", total=len(honest) + len(hostile))
        evaluations = judge.evaluate_many(honest + hostile, on_done=lambda: progress.advance(task))
    seconds = time.monotonic() - started
    leftovers = _leftovers(before)
    good, bad = evaluations[: len(honest)], evaluations[len(honest) :]
    rejected = [job[0].name for job, one in zip(honest, good, strict=True) if one.reason != "ok"]
    expected = [tuple(file.read_text().splitlines()[0].split()[2:4]) for file in files]
    surprises = [
        f"{file.name}: {one.verdict} {one.reason}, expected {' '.join(wanted)}"
        for file, one, wanted in zip(files, bad, expected, strict=True)
        if (one.verdict, one.reason) != wanted
    ]
    print(f"{len(honest)} honest kernels: {len(rejected)} rejected {rejected}")
    print(f"{len(files)} hostile kernels: {len(surprises)} with another verdict than expected")
    print(*surprises, sep="\n")
    print(f"hostile verdicts: {dict(Counter(one.verdict.value for one in bad))}")
    print(f"{seconds:.0f} s; honest: {_latency(good)}; hostile: {_latency(bad)}")
    print(f"leftover sandbox processes: {len(leftovers)}")
    sys.exit(bool(rejected or surprises or leftovers))


def _candidate(problem: Problem, source: str) -> Candidate:
    return Candidate(problem_key=problem.key, dialect=Dialect.CPP, source=source)


def _latency(evaluations: Sequence[Evaluation]) -> str:
    seconds = [one.seconds for one in evaluations if one.seconds is not None]
    return f"{median(seconds):.2f} s median, {max(seconds):.2f} s at most"


def _leftovers(before: set[int]) -> set[int]:
    """Sandboxes that do not end by themselves; a full namespace takes a moment to take down."""
    deadline = time.monotonic() + 20
    while (found := _sandboxes() - before) and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


def _sandboxes() -> set[int]:
    """Ids of the sandbox processes that run now."""
    listing = subprocess.run(["ps", "-eo", "pid,comm"], capture_output=True, text=True, check=True)
    rows = [line.split(None, 1) for line in listing.stdout.splitlines()[1:]]
    return {int(pid) for pid, name in rows if name.strip() in ("bwrap", "jail")}


if __name__ == "__main__":
    main()
