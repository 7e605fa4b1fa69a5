"""What an evaluation is worth. Pure functions, looked up by exact name.

A reward sees only an `Evaluation`: it can neither run code nor read source. Cheats earn nothing,
nor do failures, but for a small tier where a preset says so; `unjudged` has no price, because it is
our fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from kernelwright.envs.types import Evaluation, Reward, Verdict

Preset = Callable[[Evaluation], dict[str, float]]

CORRECT_FLOOR = 1.0
SPEED_WEIGHT = 0.5
LOG_SPEED_RANGE = (-1.5, 2.0)
KEVIN_FLOOR = 0.3
SMALL_SPEED_WEIGHT = 0.25
TIERS = {Verdict.CRASHED: 0.05, Verdict.WRONG: 0.1}
"""What `first_right` pays for a kernel that was built and is not correct. Nothing for one that
takes too long: it holds a worker longer than any other, and is the easiest of all to write."""


def price(preset: str, evaluation: Evaluation) -> Reward | None:
    """The reward of this evaluation under a preset; None where it is `unjudged`.

    Raises KeyError with the known names for a preset that does not exist.
    """
    if preset not in PRESETS:
        raise KeyError(f"no reward preset {preset!r}; there are: {', '.join(sorted(PRESETS))}")
    if evaluation.verdict is Verdict.UNJUDGED:
        return None
    return Reward(parts=PRESETS[preset](evaluation))


def default(evaluation: Evaluation) -> dict[str, float]:
    """1 for correct, plus half the log2 of the speedup's lower confidence bound, within -0.75 to 1.

    So 4x is worth 2 and more is not worth more; a correct kernel, however slow, earns 0.25.
    """
    if evaluation.verdict is not Verdict.CORRECT:
        return {"correct": 0.0, "speed": 0.0}
    speed = 0.0
    if evaluation.timing is not None:
        slowest, fastest = LOG_SPEED_RANGE
        log_speed = math.log2(evaluation.timing.speedup.low)
        speed = SPEED_WEIGHT * max(slowest, min(log_speed, fastest))
    return {"correct": CORRECT_FLOOR, "speed": speed}


def kevin(evaluation: Evaluation) -> dict[str, float]:
    """0.3·correct + T_baseline/T_kernel·correct (Kevin-32B, arXiv 2507.11948), the ratio being the
    lower confidence bound of the speedup: it has no ceiling, and noise is not paid for."""
    if evaluation.verdict is not Verdict.CORRECT:
        return {"correct": 0.0, "speed": 0.0}
    timing = evaluation.timing
    return {"correct": KEVIN_FLOOR, "speed": timing.speedup.low if timing else 0.0}


def first_right(evaluation: Evaluation) -> dict[str, float]:
    """For short runs of weak policies: 1 for correct, at most 0.25 more or less for speed; tiers.

    0.05 for a kernel that builds and ends by itself, 0.1 for one that gives something and is wrong,
    be it in its values, shape or type. With them a group of failures differs and teaches something;
    they are small, because policies that are paid for building learn to build nothing that works
    (seen in long runs by Kevin-32B, arXiv 2507.11948).
    """
    parts = {"tier": TIERS.get(evaluation.verdict, 0.0), "correct": 0.0, "speed": 0.0}
    if evaluation.verdict is Verdict.CORRECT:
        parts["correct"] = CORRECT_FLOOR
        if evaluation.timing is not None:
            log_speed = math.log2(evaluation.timing.speedup.low)
            parts["speed"] = SMALL_SPEED_WEIGHT * max(-1.0, min(log_speed / 2, 1.0))
    return parts


PRESETS: dict[str, Preset] = {"default": default, "first_right": first_right, "kevin": kevin}
