"""Evaluations as the commands print them."""

from __future__ import annotations

from kernelwright.envs.device.sanitizer import sanitized
from kernelwright.envs.plan.counters import counted
from kernelwright.envs.referee.profile import profiled
from kernelwright.envs.referee.reasons import BESIDE_TORCH, fault
from kernelwright.envs.referee.resolution import GRAPHS
from kernelwright.envs.system.nvml import SM_MHZ, throttling
from kernelwright.envs.types import Evaluation, Verdict


def verdict_line(evaluation: Evaluation) -> str:
    """The verdict, its speedup with the interval, its trust and sandbox level."""
    parts = [f"{evaluation.verdict} ({evaluation.reason})"]
    if evaluation.timing:
        speedup = evaluation.timing.speedup
        parts.append(f"{speedup.median:.2f}x ({speedup.low:.2f} to {speedup.high:.2f})")
    elif not_resolved(evaluation):
        parts.append("no speed: " + not_resolved(evaluation))
    return " · ".join([*parts, evaluation.trust, f"sandbox {evaluation.sandbox_level}"])


def not_resolved(evaluation: Evaluation) -> str:
    """Why a timed kernel has no speedup; empty where it has one, or was not timed."""
    facts = dict(evaluation.facts)
    if evaluation.timing or evaluation.verdict is not Verdict.CORRECT:
        return ""
    if BESIDE_TORCH in facts:
        return "PyTorch computes a part of it, which no GPU replays"
    if "module_ns" not in facts:
        return ""
    if "baseline_drift" in facts:
        return f"the module came to take {facts['baseline_drift']:.2f} times as long meanwhile"
    module_us, overhead_us = facts["module_ns"] / 1000, facts["overhead_ns"] / 1000
    return f"the module takes {module_us:.0f} us, an empty round {overhead_us:.0f} us"


def timed_as(evaluation: Evaluation) -> str:
    """How a GPU timed it, and at which clock; empty where none did."""
    facts = dict(evaluation.facts)
    if not evaluation.timing or GRAPHS not in facts:
        return ""
    alone = "kernel by kernel: one side cannot be recorded as a CUDA graph"
    clock = f", at {facts[SM_MHZ]:.0f} MHz" if SM_MHZ in facts else ""
    return f"timed {'as CUDA graphs' if facts[GRAPHS] else alone}{clock}"


def verdict_text(evaluation: Evaluation) -> str:
    """The verdict in a line; below it how a GPU timed it, counts, what a sanitizer found, whether a
    GPU throttled, the fault, failed checks, and the log."""
    rounds = evaluation.check.rounds if evaluation.check else ()
    failed = [f"case {one.case}: {one.note or one.error}" for one in rounds if not one.passed]
    tellers = (counted, profiled, sanitized, throttling)
    words = [timed_as(evaluation), *(one(evaluation.facts) for one in tellers)]
    said = filter(None, [*words, fault(evaluation)])
    return "\n".join([verdict_line(evaluation), *said, *failed, evaluation.log]).rstrip()
