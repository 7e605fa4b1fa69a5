"""Stage `verdicts`: is the judge right on a device, how many answers a minute, and where the
seconds go. One answer of each list in turn, untimed, on all cores, until the time is up."""

from __future__ import annotations

import json
import os
import random
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.data.gallery.exhibits import exploits
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.data.triples.templates import template_triples
from kernelwright.envs.judge import Judge
from kernelwright.envs.types import UNSUPPORTED, Candidate, Evaluation, Problem, Verdict
from kernelwright.envs.workers.health import fresh_seed
from kernelwright.envs.workers.pool import JudgeError
from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.spans import VARIABLE, totals
from scripts.on_gpu_stages.stand_in import judge_of
from scripts.on_gpu_stages.worker import SPANS

WILD = Path(__file__).resolve().parents[2] / "data" / "answers" / "wild" / "open"
LAST_S, END_S = 22.0, 7.0
"""No answer is begun so late; and so much is left for the rows."""
NAMED = 6


@dataclass(frozen=True)
class Asked:
    """An answer and the verdict that it has to get."""

    group: str
    name: str
    problem: Problem
    candidate: Candidate
    verdict: Verdict = Verdict.CORRECT
    reason: str = "ok"


@dataclass
class Found:
    """What came of them so far, by group."""

    counts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    names: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    dialects: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, asked: Asked, found: Evaluation) -> None:
        kind = judged_as(asked, found)
        said = f"{found.verdict} {found.reason}"
        print(f"{kind} {asked.group} {asked.name}: {said} {found.seconds} s", flush=True)
        with self.lock:
            self.counts[asked.group][kind] += 1
            self.dialects[asked.candidate.dialect] += 1
            if kind != "right":
                self.names[asked.group].append(f"{asked.name[:28]}:{found.reason[:24]}")
                print(found.log[-1500:], flush=True)


def judged_as(asked: Asked, found: Evaluation) -> str:
    """right; unexpected: stopped, but for another reason; unsupported: a limit of ours, as on a
    CPU; else wrong, or unjudged."""
    if (found.verdict, found.reason) == (asked.verdict, asked.reason):
        return "right"
    if found.verdict is Verdict.UNJUDGED:
        return "unjudged"
    if found.reason.startswith(UNSUPPORTED):
        return "unsupported"
    both = Verdict.CORRECT not in (found.verdict, asked.verdict)
    return "unexpected" if both else "wrong"


def run(context: StageContext) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ[VARIABLE] = folder
        judge = judge_of(context, SPANS)
        started, found = time.monotonic(), Found()
        try:
            play(context, judge, found)
        finally:
            judged_s = time.monotonic() - started
            tell(context, found, judged_s, judge.workers, Path(folder))
            closing = threading.Thread(target=judge.close, daemon=True)
            closing.start()
            closing.join(max(1.0, context.left_s() - 1))


def play(context: StageContext, judge: Judge, found: Found) -> None:
    """As many threads as workers, each with the next answer until it is late."""
    answers, lock, seed = in_turns(), threading.Lock(), fresh_seed()
    most = [context.share(400)]

    def work() -> None:
        while context.left_s() > LAST_S:
            with lock:
                most[0] -= 1
                asked = next(answers, None) if most[0] >= 0 else None
            if asked is None:
                return
            with suppress(JudgeError):  # it was closed meanwhile
                one = judge.evaluate(asked.problem, asked.candidate, timed=False, seed=seed)
                found.add(asked, one)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(judge.workers)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(max(0.0, context.left_s() - END_S))


def tell(context: StageContext, found: Found, judged_s: float, workers: int, folder: Path) -> None:
    with found.lock:
        for group, counts in sorted(found.counts.items()):
            context.row(group, **counts, names=" ".join(found.names[group][:NAMED]))
        total = found.dialects.total()
    each, known = {}, totals(folder)
    for dialect, (count, seconds) in sorted(known.items()):
        each[f"{dialect}_alone"] = round(alone_a_minute(seconds, workers), 1)
        most = sorted(seconds.items(), key=lambda one: -one[1])
        some = {name: round(value, 2) for name, value in most if value >= 0.005}
        context.row(f"spans_{dialect}", answers=count, **some)
    minute = round(60 * total / judged_s, 1)
    context.row("pace", judged=total, minute=minute, workers=workers, **each)


def pace_of(context: StageContext) -> float | None:
    """Untimed Triton answers a minute on the device, as the stage `verdicts` found; None if not."""
    with suppress(OSError, ValueError):
        for line in (context.out / "on_gpu.jsonl").read_text().splitlines():
            row = json.loads(line)
            if row.get("stage") == "verdicts" and row.get("what") == "pace":
                return float(row["triton_alone"]) if "triton_alone" in row else None
    return None


def alone_a_minute(seconds: dict[str, float], workers: int) -> float:
    """How many answers of one dialect a minute, if all were: what they hold the GPU's lock for, or
    what all cores do, is the limit."""
    own = sum(took for name, took in seconds.items() if name not in ("held", "lock"))
    return 60 / max(0.001, seconds.get("held", 0.0), own / workers)


def in_turns() -> Iterator[Asked]:
    """One of each list in turn, until all are through; in an order that is always the same."""
    lists = [list(wild("triton")), list(wild("inline_cuda")), cuda_triples()]
    lists += [bad("triton"), bad("cuda")]
    for one in lists:
        random.Random(0).shuffle(one)
    for number in range(max(map(len, lists))):
        for one in lists:
            if number < len(one):
                yield one[number]


def wild(kind: str) -> Iterator[Asked]:
    """Honest answers that nobody wrote for the judge."""
    dialect = {"inline_cuda": "inline"}.get(kind, kind)
    for path in sorted((WILD / kind).glob("*.py")):
        problem = load_problem(WILD / "problems" / f"{path.stem.partition('__')[0]}.py")
        source = path.read_text(encoding="utf-8")
        candidate = Candidate(problem_key=problem.key, dialect=dialect, source=source)
        yield Asked(f"wild_{kind}", path.stem, problem, candidate)


def cuda_triples() -> list[Asked]:
    return [
        Asked(
            "triples_cuda",
            one.problem.name,
            one.problem,
            Candidate(problem_key=one.problem.key, dialect="cuda", source=one.source),
        )
        for one in template_triples(dialect="cuda")
    ]


def bad(dialect: str) -> list[Asked]:
    """Exploits, and the reason by which each is stopped on a CPU."""
    return [
        Asked(
            f"exploits_{dialect}",
            f"{one.family}/{one.name}",
            one.problem,
            one.candidate,
            one.verdict,
            one.reason,
        )
        for one in exploits()
        if one.candidate.dialect == dialect
    ]
