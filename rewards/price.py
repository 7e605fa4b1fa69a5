"""What an evaluation is worth. Pure functions, looked up by exact name.

A reward sees only an `Evaluation`: it can neither run code nor read source. Failures and cheats
earn nothing; `unjudged` has no price, because it is our fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from envs.types import Evaluation, Reward, Verdict

Preset = Callable[[Evaluation], dict[str, float]]

CORRECT_FLOOR = 1.0
SPEED_WEIGHT = 0.5
LOG_SPEED_RANGE = (-1.5, 2.0)
KEVIN_FLOOR = 0.3


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
    """0.3·correct + T_baseline/T_kernel·correct (Kevin-32B, arXiv 2507.11948); median speedup."""
    if evaluation.verdict is not Verdict.CORRECT:
        return {"correct": 0.0, "speed": 0.0}
    timing = evaluation.timing
    return {"correct": KEVIN_FLOOR, "speed": timing.speedup.median if timing else 0.0}


PRESETS: dict[str, Preset] = {"default": default, "kevin": kevin}
