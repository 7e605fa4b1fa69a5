"""Tests the judge on exploits and honest kernels: `kernelwright gallery`, and before training."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from kernelwright.data.gallery.exhibits import (
    Exhibit,
    Finding,
    GalleryError,
    Outcome,
    exploits,
    gallery_hash,
    honest,
    judge_exhibits,
)
from kernelwright.data.runs.progress import Counted
from kernelwright.envs.judge import BatchJudge
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.envs.sandbox.levels import sandbox_level
from kernelwright.envs.sandbox.rootfs import python
from kernelwright.envs.sandbox.toolchain import code_version, toolchain_fingerprint
from kernelwright.envs.system.hardware import gpus
from kernelwright.envs.system.paths import cache_folder, write_whole
from kernelwright.envs.system.processes import living_below, still_alive
from kernelwright.envs.types import Dialect, Verdict, content_hash
from kernelwright.envs.workers.pool import default_workers


def run_gallery() -> tuple[Outcome, int]:
    """(the judge's verdicts on the whole gallery, sandbox processes that outlive it)."""
    me = os.getpid()
    before = living_below(me)
    with open_judge() as judge:
        outcome = judged(judge, [*exploits(), *honest()], "judging the gallery")
        started = living_below(me) - before
    return outcome, len(still_alive(started | living_below(me) - before))


def judged(judge: BatchJudge, exhibits: Sequence[Exhibit], what: str) -> Outcome:
    """All of them judged, with their progress on standard error."""
    with Counted(what, len(exhibits), every=50) as on_done:
        return judge_exhibits(judge, exhibits, on_done)


def loose_exploits(
    judge_workers: int | None,
    minimum_sandbox: str,
    dialect: Dialect,
    ray_address: str | None = None,
) -> list[str]:
    """Names of the exploits in a dialect that the judge does not stop: this machine's, or a
    cluster's. Raises GalleryError where they cannot be tried.

    Tried once per machine, version and dialect, which is kept in the cache folder. The nodes of a
    cluster come and go, so it is tried at each start.
    """
    file = _kept(dialect)
    if file.exists() and ray_address is None:
        return list(json.loads(file.read_text()))
    exhibits = [one for one in exploits() if one.is_exploit and one.candidate.dialect == dialect]
    print(
        f"training in {dialect} with a judge that was not tried yet: {len(exhibits)} exploits are "
        "tried on it, and none may pass",
        file=sys.stderr,
    )
    if judge_workers is None and ray_address is None:
        judge_workers = default_workers([dialect])
    with open_judge(judge_workers, minimum_sandbox, ray_address=ray_address) as judge:
        outcome = judged(judge, exhibits, "exploits")
    if outcome.skipped:
        why, count = outcome.skipped.most_common(1)[0]
        raise GalleryError(f"{count} exploits in {dialect} could not be tried on its judge: {why}")
    if ray_address is None:
        keep_tried(dialect, outcome)
    return _loose(outcome)


def keep_tried(dialect: Dialect, outcome: Outcome) -> None:
    """Keeps what this machine's judge made of all exploits in a dialect, if it judged them all."""
    if any(one.evaluation.verdict is Verdict.UNJUDGED for one in outcome.findings):
        return
    write_whole(_kept(dialect), json.dumps(_loose(outcome)))


def _kept(dialect: Dialect) -> Path:
    return cache_folder() / "gallery" / f"{_key()}-{dialect}.json"


def _loose(outcome: Outcome) -> list[str]:
    return [_name(one.exhibit) for one in outcome.loose_exploits]


def gallery_text(outcome: Outcome, leftovers: int) -> str:
    """A table by family, the rates, and every unexpected verdict."""
    counted = Counter(one.exhibit.family for one in outcome.tried)
    passed = Counter(one.exhibit.family for one in outcome.tried if one.passed)
    lines = [f"{'family':24}{'kernels':>8}{'correct':>9}"]
    lines += [f"{name:24}{count:8}{passed[name]:9}" for name, count in sorted(counted.items())]
    killed = len(outcome.exploits) - len(outcome.loose_exploits)
    lines += ["", f"kill rate           {_share(killed, len(outcome.exploits))}"]
    rejected = len(outcome.rejected_honest)
    lines += [f"false-positive rate {_share(rejected, len(outcome.honest))}"]
    lines += [f"latency             exploits {_latency(outcome.exploits)}"]
    lines += [f"                    honest {_latency(outcome.honest)}"]
    lines += [f"leftover processes  {leftovers}"]
    lines += [f"not tried           {n} ({why})" for why, n in sorted(outcome.skipped.items())]
    lines += [f"surprises           {len(outcome.surprises)}"]
    return "\n".join([*lines, *(f"  {_surprise(one)}" for one in outcome.surprises)])


def gallery_object(outcome: Outcome, leftovers: int) -> dict[str, Any]:
    """The same for a program."""
    return {
        "exploits": len(outcome.exploits),
        "kill_rate": outcome.kill_rate,
        "honest": len(outcome.honest),
        "false_positive_rate": outcome.false_positive_rate,
        "leftover_processes": leftovers,
        "not_tried": dict(outcome.skipped),
        "cases": [
            {
                "name": _name(one.exhibit),
                "expected": [one.exhibit.verdict, one.exhibit.reason],
                "found": [one.evaluation.verdict, one.evaluation.reason],
                "seconds": one.evaluation.seconds,
            }
            for one in outcome.findings
        ],
    }


def is_just(outcome: Outcome, leftovers: int) -> bool:
    """No exploit passes, no honest kernel is rejected, nothing is left over."""
    return not (outcome.loose_exploits or outcome.rejected_honest or leftovers)


def _key() -> str:
    devices = (gpu.environment for gpu in gpus())  # with none, device code takes another way
    return content_hash(
        toolchain_fingerprint(),
        python().identity,
        sandbox_level(),
        gallery_hash(),
        code_version(),
        *devices,
    )


def _name(exhibit: Exhibit) -> str:
    return f"{exhibit.family}/{exhibit.name}"


def _surprise(one: Finding) -> str:
    wanted = f"{one.exhibit.verdict} {one.exhibit.reason}"
    return (
        f"{_name(one.exhibit)}: {one.evaluation.verdict} {one.evaluation.reason}, expected {wanted}"
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%} ({part} of {whole})" if whole else "not measured: there are none"


def _latency(findings: Sequence[Finding]) -> str:
    seconds = [one.evaluation.seconds for one in findings if one.evaluation.seconds is not None]
    if not seconds:
        return "not measured"
    return f"{median(seconds):.2f} s median, {max(seconds):.2f} s at most"
