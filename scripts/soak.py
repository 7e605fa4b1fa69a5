"""Many candidates in every dialect, a fifth of them faulty, through the judge that training uses.

Prints verdicts, latencies, and what was lost, doubled, misjudged or left behind; exits 1 if
anything was.

    python -m scripts.soak [--count 10000] [--workers N] [--dialect cpp ...]
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles

from rich.progress import Progress

from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.judge import Judge
from kernelwright.envs.system.processes import living_below, still_alive
from kernelwright.envs.types import Candidate, Evaluation, Verdict
from kernelwright.envs.workers.pool import Worker
from scripts.kernels import FAULTY, HONEST, dialect_of, is_right, mixture, the_problem

GROUPS = Path("/sys/fs/cgroup")
FAULTY_SHARE = 0.2
BATCH = 256
"""As many as a training step might ask for."""


class ShortWorker(Worker):
    """Waits one second for a round, so that endless loops do not take most of the soak."""

    PROGRAM = (
        "-c",
        "from kernelwright.envs.candidate.evaluator import JudgingConfig\n"
        "from kernelwright.envs.workers.worker import main\n"
        "main(JudgingConfig(round_limit_s=1.0))",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--dialect", choices=list(DIALECTS), action="append", help="all")
    options = parser.parse_args()
    problem = the_problem()
    asked = mixture(_kinds(options.count, options.dialect or list(DIALECTS)), problem)
    calls: list[int] = []
    found: list[Evaluation] = []
    tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="soak-")
    before, started = footprint(), time.monotonic()
    with Judge(options.workers, hire=ShortWorker) as judge, Progress() as progress:
        task = progress.add_task("judging", total=options.count)

        def done() -> None:
            calls.append(1)
            progress.advance(task)

        for start in range(0, options.count, BATCH):
            jobs = [(problem, candidate) for _, candidate in asked[start : start + BATCH]]
            found += judge.evaluate_many(jobs, timed=start % (2 * BATCH) == 0, on_done=done)
    seconds = time.monotonic() - started
    print(f"{len(found)} evaluations in {seconds:.0f} s; {_latencies(found)}")
    print(f"verdicts: {dict(Counter(f'{one.verdict}/{one.reason}' for one in found))}")
    troubles = [*_misjudged(asked, found), *_left_behind(before)]
    if (len(found), len(calls)) != (options.count, options.count):
        troubles.append(f"{options.count} asked, {len(found)} found, {len(calls)} reported")
    shutil.rmtree(tempfile.tempdir)
    print(*troubles or ["nothing lost, doubled, misjudged or left behind"], sep="\n")
    sys.exit(bool(troubles))


def _kinds(count: int, dialects: Sequence[str]) -> list[str]:
    """A fifth of them faulty, every kind of these dialects in turn, in an order that is always the
    same."""
    faulty, honest = (
        [one for one in some if dialect_of(one) in dialects] for some in (FAULTY, HONEST)
    )
    wrong = round(count * FAULTY_SHARE)
    kinds = [faulty[number % len(faulty)] for number in range(wrong)]
    kinds += [honest[number % len(honest)] for number in range(count - wrong)]
    random.Random(0).shuffle(kinds)
    return kinds


def _misjudged(asked: Sequence[tuple[str, Candidate]], found: Sequence[Evaluation]) -> list[str]:
    return [
        f"{kind}: {one.verdict} {one.reason} {one.log[:200]}"
        for (kind, candidate), one in zip(asked, found, strict=True)
        if not is_right(kind, candidate, one)
    ]


def _latencies(found: Sequence[Evaluation]) -> str:
    seconds = [one.seconds for one in found if one.seconds is not None]
    cuts = quantiles(seconds, n=100, method="inclusive")
    unjudged = sum(one.verdict is Verdict.UNJUDGED for one in found)
    return f"p50 {cuts[49]:.2f} s, p99 {cuts[98]:.2f} s; {unjudged} unjudged"


def footprint() -> dict[str, set[str]]:
    """What this process and the machine hold that a judge could leave behind."""
    links = {f"{one} -> {_target(one)}" for one in Path("/proc/self/fd").iterdir()}
    return {
        "processes": {str(one) for one in living_below(os.getpid())},
        "descriptors": {one for one in links if not one.endswith("/fd")},
        "mounts": set(Path("/proc/self/mountinfo").read_text().splitlines()),
        "temporary files": set(os.listdir(tempfile.gettempdir())),
        "cgroups": {str(one) for one in GROUPS.glob("**/kernelwright-*") if not _in_use(one)},
    }


def _in_use(group: Path) -> bool:
    """Whether the worker that this group is named after still runs."""
    return Path("/proc", group.name.split("-")[1]).exists()


def _target(link: Path) -> str:
    return os.readlink(link) if link.is_symlink() else ""


def _left_behind(before: dict[str, set[str]]) -> list[str]:
    still_alive(living_below(os.getpid()))
    return [
        f"left behind, {name}: {sorted(now - before[name])}"
        for name, now in footprint().items()
        if now - before[name]
    ]


if __name__ == "__main__":
    main()
