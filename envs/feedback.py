"""What a model is told of its kernel: the speed of a right one, the fault of another.

Later turns of methods and environments say it in the same words, which are those of the repairs
that SFT trains on (docs/data.md).
"""

from __future__ import annotations

from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.prompt import REPAIR_REQUEST
from kernelwright.envs.referee.reasons import verdict_and_fault
from kernelwright.envs.types import Dialect, Evaluation, Timing, Verdict

WHOLE = "Give the whole kernel again: one complete {answer}."
FASTER = f"Make it faster. {WHOLE}"


def feedback(evaluation: Evaluation, dialect: Dialect | None) -> str:
    """The verdict for a model to read; with a dialect it asks for another answer."""
    told, request = _told(evaluation)
    asked = [request.format(answer=DIALECTS[dialect].another)] if dialect else []
    return "\n".join([told, *asked])


def _told(evaluation: Evaluation) -> tuple[str, str]:
    """The verdict in words, and what a kernel with it has to become."""
    if evaluation.verdict is Verdict.UNJUDGED:
        return "The kernel could not be judged, which is not its fault.", WHOLE
    if evaluation.verdict is Verdict.CORRECT:
        speed = _speed(evaluation.timing) if evaluation.timing else ""
        return f"This kernel is right{speed}.", FASTER
    return f"This kernel is not right:\n{verdict_and_fault(evaluation)}", REPAIR_REQUEST


def _speed(timing: Timing) -> str:
    speedup = timing.speedup
    interval = f"{speedup.low:.2f} to {speedup.high:.2f}"
    return f", and {speedup.median:.2f} times as fast as PyTorch ({interval})"
