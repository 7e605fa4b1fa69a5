"""A module in, the fastest correct kernel that a model writes for it out: the best of n."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from kernelwright.envs.dialects import known_dialect
from kernelwright.envs.judge import AnyJudge, judge_completions
from kernelwright.envs.types import Dialect, Evaluation, Problem, Task, Verdict
from kernelwright.rl.adapter_folder import find_adapter
from kernelwright.rl.models import check_name
from kernelwright.verdicts import verdict_object

if TYPE_CHECKING:
    from kernelwright.rl.policies import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model wrote; `source` is None where it wrote no code block."""

    completion: str
    source: str | None
    evaluation: Evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a model is asked; `temperature` 0 is greedy."""

    samples: int = 8
    temperature: float = 0.8
    max_new_tokens: int = 512
    seed: int = 0

    def __post_init__(self) -> None:
        if self.samples > 1 and self.temperature == 0:
            raise ValueError("greedy answers are all the same: -n 1, or raise --temperature")


def write_kernels(
    policy: Policy,
    judge: AnyJudge,
    asked: tuple[Problem, str],
    dialect: Dialect,
    sampling: Sampling,
    on_done: Callable[[], None] | None = None,
) -> list[Answer]:
    """The model's answers to one problem and its prompt, all judged; `on_done` after each."""
    problem, prompt = asked
    completions = policy.complete(
        [prompt] * sampling.samples,
        max_new_tokens=sampling.max_new_tokens,
        temperature=sampling.temperature,
        seed=sampling.seed,
    )
    tasks = [Task(problem=problem, dialect=dialect)] * len(completions)
    judged = judge_completions(judge, tasks, completions, on_done=on_done)
    return [
        Answer(completion=completion, source=source, evaluation=evaluation)
        for completion, (source, evaluation) in zip(completions, judged, strict=True)
    ]


def best_of(answers: Sequence[Answer]) -> int | None:
    """Place of the correct answer whose speedup is surest to be high; None where none is correct.

    Of intervals the lower bound counts; what could not be timed comes after what was.
    """
    correct = [
        place
        for place, one in enumerate(answers)
        if one.evaluation.verdict is Verdict.CORRECT and one.source is not None
    ]
    return max(correct, key=lambda place: _low(answers[place].evaluation), default=None)


def _low(evaluation: Evaluation) -> float:
    return evaluation.timing.speedup.low if evaluation.timing else -math.inf


@dataclass(frozen=True, slots=True)
class Habits:
    """What a model writes in, and how long its answers get."""

    dialect: Dialect = "cpp"
    max_new_tokens: int = 512


def failures(answers: Sequence[Answer]) -> str:
    """What kept the answers from being correct, the commonest first.

    >>> from kernelwright.envs.judge import NO_CODE_BLOCK
    >>> one = Answer(completion="", source=None, evaluation=NO_CODE_BLOCK)
    >>> failures([one, one])
    '2 no_kernel (no_code_block)'
    """
    codes = (
        f"{one.evaluation.verdict} ({one.evaluation.reason})"
        for one in answers
        if one.evaluation.verdict is not Verdict.CORRECT
    )
    return ", ".join(f"{count} {code}" for code, count in Counter(codes).most_common())


def answers_object(answers: Sequence[Answer], prompt: str) -> dict[str, Any]:
    """What `write --json` prints; `best` is the place of the best answer, null where none is."""
    told = [
        {"source": one.source, "completion": one.completion, **verdict_object(one.evaluation)}
        for one in answers
    ]
    return {"prompt": prompt, "best": best_of(answers), "answers": told}


def habits_of(model: str, dialect: Dialect | None = None) -> Habits:
    """How a run's model was taught to write; for what is no run's folder, what most can do.

    A `dialect` has the last word. Raises ValueError where a run names none.
    """
    recipe, usual = Path(model) / "recipe.resolved.yaml", Habits(dialect or "cpp")
    if not recipe.is_file():
        return usual
    try:
        said = yaml.safe_load(recipe.read_text(encoding="utf-8"))
        taught = known_dialect(said["data"].get("dialect", "cpp"))
        tokens = int(said.get("eval", {}).get("max_new_tokens", usual.max_new_tokens))
        return Habits(dialect or taught, tokens)
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError) as error:
        if dialect:
            return usual
        why = " ".join(str(error).split())
        raise ValueError(f"{recipe}: it names no dialect ({why}): give --dialect") from None


def check_model(model: str) -> None:
    """Raises ModelError where no model has this name, before anything heavy is loaded."""
    adapter = find_adapter(model)
    check_name(adapter.base if adapter else model)
