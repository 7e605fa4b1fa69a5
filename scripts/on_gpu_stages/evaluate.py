"""Stage `evaluate`: stored answers in KernelBench's layout, as a user has them judged and timed: to
problems of our own, each answered in Triton and in CUDA."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from kernelwright.data.runs.records import read_records
from kernelwright.envs.referee.resolution import GRAPHS
from kernelwright.envs.types import Record, Verdict
from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.stand_in import command
from scripts.on_gpu_stages.verdicts import WILD, pace_of
from scripts.on_gpu_stages.worker import ROOT

COUNT, WITH_TORCH = 8, 4
"""Problems that are answered twice; and those whose Triton answers are judged by the other rule."""
TIMED_S, END_S = 2.5, 3.0


def run(context: StageContext) -> None:
    with tempfile.TemporaryDirectory() as folder:
        work, count = Path(folder), context.share(problems(context))
        write(work, count)
        (work / "less").mkdir()
        for one in sorted((work / "answers").glob("*_sample_0_*"))[: context.share(WITH_TORCH)]:
            shutil.copy(one, work / "less" / one.name)
        share = 0.7 * context.left_s()
        timed(context, work, "answers", "stored", [], share)
        timed(context, work, "less", "torch_allowed", ["--torch-allowed"], context.left_s() - END_S)


def problems(context: StageContext) -> int:
    """As many as there is time for, at the pace that was found before."""
    answer_s = 60 / (pace_of(context) or 60) + TIMED_S
    return min(COUNT, max(2, int(0.6 * context.left_s() / answer_s / 2)))


def write(work: Path, count: int) -> None:
    """A suite of one level, and to each problem an answer in Triton (sample 0) and one in CUDA."""
    (work / "suite" / "level1").mkdir(parents=True)
    (work / "answers").mkdir()
    for number, (problem, answers) in enumerate(chosen(count), 1):
        shutil.copy(problem, work / "suite" / "level1" / f"{number}_{problem.stem}.py")
        for sample, answer in enumerate(answers):
            name = f"level_1_problem_{number}_sample_{sample}_kernel.py"
            shutil.copy(answer, work / "answers" / name)


def chosen(count: int) -> list[tuple[Path, list[Path]]]:
    """Problems that were answered in both ways, evenly spread, with the first answer of each."""
    both = []
    for problem in sorted((WILD / "problems").glob("*.py")):
        kinds = ("triton", "inline_cuda")
        answers = [sorted((WILD / kind).glob(f"{problem.stem}__*.py")) for kind in kinds]
        if all(answers):
            both.append((problem, [some[0] for some in answers]))
    return [both[number * len(both) // count] for number in range(count)]


def timed(
    context: StageContext, work: Path, answers: str, what: str, more: list[str], limit_s: float
) -> None:
    """One command, and what it kept of its records."""
    out, started = work / f"out-{what}", time.monotonic()
    words = ["--suite", f"kernelbench:{work / 'suite'}", "--answers", str(work / answers)]
    status: object = "cut"
    with suppress(subprocess.TimeoutExpired):
        status = subprocess.run(
            [*command(context), "eval", *words, "--out", str(out), *more],
            cwd=ROOT,
            timeout=max(1.0, limit_s),
            check=False,
        ).returncode
    took_s = time.monotonic() - started
    records = read_records(out) if (out / "records.jsonl").exists() else []
    context.row(what, status=status, seconds=round(took_s, 1), **facts(records))


def facts(records: list[Record]) -> dict[str, Any]:
    """Verdicts, reasons, speeds; by dialect where they were timed."""
    found: dict[str, Any] = {"answers": len(records)}
    for dialect in sorted({one.dialect for one in records}):
        some = [one.evaluation for one in records if one.dialect == dialect]
        speeds = [one.timing.speedup.median for one in some if one.timing]
        right = sum(one.verdict is Verdict.CORRECT for one in some)
        graphs = sum(dict(one.facts).get(GRAPHS) == 1 for one in some if one.timing)
        found[dialect] = f"{right}/{len(some)} right, {len(speeds)} timed, {graphs} as graphs"
        if speeds:
            geomean = math.exp(math.fsum(map(math.log, speeds)) / len(speeds))
            fast = sum(one > 1 for one in speeds)
            found[dialect] += f", geomean {geomean:.2f}, {fast} above 1"
    reasons = Counter(one.evaluation.reason for one in records)
    seconds = [one.evaluation.seconds for one in records if one.evaluation.seconds is not None]
    print(json.dumps([(one.problem, one.dialect, one.evaluation.reason) for one in records]))
    each = round(math.fsum(seconds) / len(seconds), 1) if seconds else None
    others = {name[:40]: count for name, count in reasons.items() if name != "ok"}
    return {**found, "seconds_each": each, **({"others": others} if others else {})}
