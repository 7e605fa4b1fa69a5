"""What a model is told of the kernel that it wrote: the speed of a right one, with what a GPU
counted in it where that was asked for, and the fault of another.

Later turns of methods and environments say it in the same words as repairs, which SFT trains on
(docs/data.md).
"""

from __future__ import annotations

from kernelwright.envs.referee.profile import profiled
from kernelwright.envs.referee.reasons import verdict_and_fault
from kernelwright.envs.types import Evaluation, Timing, Verdict

AGAIN = "Give the whole kernel again: one complete {answer}."
"""`another` of the dialect goes into it, as into the two below."""
FASTER = f"Make it faster. {AGAIN}"
NOT_RIGHT = "This kernel is not right:\n"
MEND = "Say which line is wrong. Then give the whole kernel again: one complete {answer}."


def feedback(evaluation: Evaluation, another: str | None = None) -> str:
    """The verdict for a model to read; with `another` of its dialect it asks for another answer."""
    told, request = _told(evaluation)
    return "\n".join([told, *([request.format(answer=another)] if another else [])])


def _told(evaluation: Evaluation) -> tuple[str, str]:
    """The verdict in words, and what a kernel with it has to become."""
    if evaluation.verdict is Verdict.UNJUDGED:
        return "The kernel could not be judged, which is not its fault.", AGAIN
    if evaluation.verdict is Verdict.CORRECT:
        speed = _speed(evaluation.timing) if evaluation.timing else ""
        told = [f"This kernel is right{speed}.", profiled(evaluation.facts)]
        return "\n".join(filter(None, told)), FASTER
    return NOT_RIGHT + verdict_and_fault(evaluation), MEND


def to_mend(fault: str, another: str) -> str:
    """The feedback on a kernel of this verdict and fault, as `feedback` words it."""
    return f"{NOT_RIGHT}{fault}\n{MEND.format(answer=another)}"


def _speed(timing: Timing) -> str:
    speedup = timing.speedup
    interval = f"{speedup.low:.2f} to {speedup.high:.2f}"
    return f", and {speedup.median:.2f} times as fast as PyTorch ({interval})"
