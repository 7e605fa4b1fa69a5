"""Rejection sampling: the problems of a round, and which correct answers it trains on.

Yuan et al. 2023 (arXiv:2308.01825); CUDA-L1's second stage (arXiv:2507.14111) is this on kernels.
It needs no two answers that differ, so it learns where groups of GRPO are all right or all wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernelwright.envs.types import Problem, Record, Task, Verdict, content_hash
from kernelwright.rl.methods.base import Example
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.recipe.supervised import RftSection
from kernelwright.rl.rollout.player import hash_seed

STAGE = "rft"
NOTHING_KEPT = (
    "rft: none of the {1} answers up to round {0} is correct, so there is nothing to learn from; "
    "begin with stages=[sft, rft], or raise rft.samples"
)


def round_problems(
    problems: Sequence[Problem], number: int, section: RftSection, seed: int
) -> list[Problem]:
    """The problems of round `number`, from 1: `section.problems` of a shuffled suite, whose next
    ones the next round takes; around again at its end."""
    shuffled = sorted(problems, key=lambda one: content_hash(STAGE, str(seed), one.key))
    count = min(section.problems or len(shuffled), len(shuffled))
    first = (number - 1) * count
    return [shuffled[place % len(shuffled)] for place in range(first, first + count)]


def round_seed(seed: int, number: int) -> int:
    """The seed of a round's sampling."""
    return hash_seed(STAGE, "sampling", str(seed), str(number))


def unsolved(tasks: Sequence[Task], first: Iterable[Record]) -> list[Task]:
    """Those that none of these answers solved, in their order."""
    solved = {_task(one) for one in first if one.evaluation.verdict is Verdict.CORRECT}
    return [one for one in tasks if (one.problem.key, one.dialect) not in solved]


def undecided(records: Sequence[Record]) -> list[Record]:
    """Those to problems that have a wrong answer among these."""
    neither = (Verdict.CORRECT, Verdict.UNJUDGED)
    wrong = {_task(one) for one in records if one.evaluation.verdict not in neither}
    return [one for one in records if _task(one) in wrong]


def _task(one: Record) -> tuple[str, str]:
    return one.problem_key, one.dialect


def kept(records: Iterable[Record], each: int) -> list[Record]:
    """At most `each` correct answers of a problem in a language, no two with the same kernel: by
    turns the shortest answer and the fastest kernel that are left (ConCuR's rule,
    arXiv:2510.07356)."""
    found: dict[tuple[str, str], dict[str, Record]] = {}
    for one in sorted(records, key=lambda one: len(one.completion)):
        if one.evaluation.verdict is Verdict.CORRECT and one.source:
            found.setdefault(_task(one), {}).setdefault("".join(one.source.split()), one)
    return [one for kernels in found.values() for one in _best(list(kernels.values()), each)]


def _best(shortest_first: list[Record], each: int) -> list[Record]:
    left, chosen = list(shortest_first), list[Record]()
    while left and len(chosen) < each:
        by_speed = len(chosen) % 2 == 1
        chosen.append(
            left.pop(max(range(len(left)), key=lambda k: _speed(left[k])) if by_speed else 0)
        )
    return chosen


def _speed(record: Record) -> float:
    """The lower end of the speedup's interval; 0 where it was not timed."""
    timing = record.evaluation.timing
    return timing.speedup.low if timing else 0.0


def examples_of(
    records: Iterable[Record], taught: Sequence[Example], section: RftSection, number: int
) -> list[Example]:
    """The answers kept up to round `number`, and `section.replay` times as many of those that SFT
    is taught, other ones each round. Raises ModelError where nothing is kept."""
    mine = [one for one in records if one.stage == STAGE and one.step <= number]
    mine.sort(key=lambda one: one.id)  # processes write them in any order
    undecided_ones = undecided(mine) if section.skip_solved else []
    found = kept(undecided_ones, section.kept_per_problem) or kept(mine, section.kept_per_problem)
    own = [Example(prompt=one.prompt, completion=one.completion) for one in found]
    if not own:
        raise ModelError(NOTHING_KEPT.format(number, len(mine)))
    places = sorted(range(len(taught)), key=lambda k: content_hash(STAGE, str(number), str(k)))
    return own + [taught[k] for k in places[: round(section.replay * len(own))]]


def as_sft(recipe: Recipe) -> Recipe:
    """The recipe whose SFT is a round's training."""
    section = recipe.rft
    change = {"epochs": section.epochs, "learning_rate": section.learning_rate, "tokens": None}
    return recipe.model_copy(update={"sft": recipe.sft.model_copy(update=change)})
