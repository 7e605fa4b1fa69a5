"""An evaluation as one JSON object, as the command and the service give it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from kernelwright.envs.referee.reasons import fault
from kernelwright.envs.types import Evaluation


def verdict_object(evaluation: Evaluation) -> dict[str, Any]:
    """The object of `judge --json`; `speedup` is null unless the kernel is correct and timed."""
    speedup = evaluation.timing.speedup if evaluation.timing else None
    rounds = evaluation.check.rounds if evaluation.check else ()
    return {
        "verdict": evaluation.verdict,
        "reason": evaluation.reason,
        "fault": fault(evaluation),
        "trust": evaluation.trust,
        "sandbox_level": evaluation.sandbox_level,
        "speedup": asdict(speedup) if speedup else None,
        "seconds": evaluation.seconds,
        "facts": dict(evaluation.facts),
        "checks": [asdict(one) for one in rounds],
        "log": evaluation.log,
    }
