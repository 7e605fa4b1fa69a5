"""What an evaluation is worth. Pure functions, looked up by exact name.

A reward sees only an `Evaluation`: it can neither run code nor read source. Cheats earn nothing, or
less where a preset fines failures; nor do failures, but for a small tier where a preset says so;
`unjudged` has no price, because it is our fault. `papers.py` has those that papers publish.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from statistics import fmean

from kernelwright.envs.types import Evaluation, Reward, Speedup, Verdict
from kernelwright.rewards.papers import AGAINST_COMPILE, GATES, PAPERS, is_right

Preset = Callable[[Evaluation], dict[str, float]]

CORRECT_FLOOR = 1.0
SPEED_WEIGHT = 0.5
LOG_SPEED_RANGE = (-1.5, 2.0)
SMALL_SPEED_WEIGHT = 0.25
TIERS = {Verdict.CRASHED: 0.05, Verdict.WRONG: 0.1}
"""What `first_right` pays for a kernel that was built and is not correct. Nothing for one that
takes too long: it holds a worker longer than any other, and is the easiest of all to write."""
NOT_IN_TRAINING = (
    "reward {!r} pays for speed against torch.compile, and training times against eager PyTorch "
    "alone; `kernelwright reprice` prices records under it"
)


def price(preset: str, evaluation: Evaluation, compiled: Speedup | None = None) -> Reward | None:
    """The reward of this evaluation under a preset, as of a group of its own.

    None where it is `unjudged`, or where the preset compares with torch.compile and `compiled`, how
    many times as fast as eager PyTorch that is, is not known. Raises KeyError with the known names
    for a preset that does not exist.
    """
    if preset not in PRESETS and preset not in AGAINST_COMPILE:
        known = ", ".join(sorted((*PRESETS, *AGAINST_COMPILE)))
        raise KeyError(f"no reward preset {preset!r}; there are: {known}")
    if evaluation.verdict is Verdict.UNJUDGED:
        return None
    if preset in PRESETS:
        return Reward(parts=PRESETS[preset](evaluation))
    return Reward(parts=AGAINST_COMPILE[preset](evaluation, compiled)) if compiled else None


def price_groups(
    preset: str,
    groups: Sequence[Hashable],
    evaluations: Sequence[Evaluation],
    compiled: Sequence[Speedup | None] | None = None,
) -> list[Reward | None]:
    """The reward of each answer; `groups` names the prompt that each of them answers.

    A preset with a gate pays for speed only where enough of a group's judged answers are correct.
    A correct answer without a speed has no reward beside one that has: presets take no speed as the
    module's own, which may be far from it.
    """
    known: dict[Hashable, list[Evaluation]] = defaultdict(list)
    for group, one in zip(groups, evaluations, strict=True):
        if one.verdict is not Verdict.UNJUDGED:
            known[group].append(one)
    gate = GATES.get(preset, 0.0)
    closed = {group for group, some in known.items() if fmean(map(is_right, some)) < gate}
    clocked = {group for group, some in known.items() if any(one.timing for one in some)}
    found: list[Reward | None] = []
    for place, (group, one) in enumerate(zip(groups, evaluations, strict=True)):
        reward = price(preset, one, compiled[place] if compiled else None)
        if reward and group in closed:
            reward = Reward(parts={**reward.parts, "speed": 0.0})
        unknown = is_right(one) and one.timing is None and group in clocked
        found.append(None if unknown else reward)
    return found


def refused_in_training(preset: str) -> str | None:
    """Why a run cannot be paid by this preset; None where it can."""
    return NOT_IN_TRAINING.format(preset) if preset in AGAINST_COMPILE else None


def require_preset(preset: str) -> None:
    """Raises ValueError where a run cannot be paid by this preset: why not, or the known names."""
    if refusal := refused_in_training(preset):
        raise ValueError(refusal)
    if preset not in PRESETS:
        known = ", ".join(sorted(PRESETS))
        raise ValueError(f"no reward preset {preset!r}; there are: {known}")


def default(evaluation: Evaluation) -> dict[str, float]:
    """1 for correct, plus half the log2 of the speedup's lower confidence bound, within -0.75 to 1.

    So 4x is worth 2 and more is not worth more; a correct kernel, however slow, earns 0.25.
    """
    if not is_right(evaluation):
        return {"correct": 0.0, "speed": 0.0}
    speed = 0.0
    if evaluation.timing is not None:
        slowest, fastest = LOG_SPEED_RANGE
        log_speed = math.log2(evaluation.timing.speedup.low)
        speed = SPEED_WEIGHT * max(slowest, min(log_speed, fastest))
    return {"correct": CORRECT_FLOOR, "speed": speed}


def first_right(evaluation: Evaluation) -> dict[str, float]:
    """For short runs of weak policies: 1 for correct, at most 0.25 more or less for speed; tiers.

    0.05 for a kernel that builds and ends by itself, 0.1 for one that gives something and is wrong,
    be it in its values, shape or type. With them a group of failures differs and teaches something;
    they are small, because policies that are paid for building learn to build nothing that works
    (seen in long runs by Kevin-32B, arXiv 2507.11948).
    """
    parts = {"tier": TIERS.get(evaluation.verdict, 0.0), "correct": 0.0, "speed": 0.0}
    if is_right(evaluation):
        parts["correct"] = CORRECT_FLOOR
        if evaluation.timing is not None:
            log_speed = math.log2(evaluation.timing.speedup.low)
            parts["speed"] = SMALL_SPEED_WEIGHT * max(-1.0, min(log_speed / 2, 1.0))
    return parts


PRESETS: dict[str, Preset] = {"default": default, "first_right": first_right, **PAPERS}
"""Those that a run may be paid by."""
