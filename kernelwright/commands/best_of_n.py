"""Has a model write a kernel for a module: the fastest correct one of n answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.data.runs.folder import DamagedError, Folder
from kernelwright.environments.verdict_object import verdict_object
from kernelwright.envs.dialects import known_dialect
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.judged import Batch, Response, judged
from kernelwright.envs.policy import Policy, Sampling
from kernelwright.envs.types import Dialect, Evaluation, Problem, Record, Task, Verdict
from kernelwright.evals.evaluate.run import Watcher
from kernelwright.rl.models.adapter_folder import find_adapter
from kernelwright.rl.models.load import check_name
from kernelwright.rl.policies.providers.find import own_name, provider_and_model


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOf:
    """Number of answers and sampling parameters; `temperature` 0 is greedy."""

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
    wanted: BestOf,
    watcher: Watcher | None = None,
) -> list[Record]:
    """The model's answers to one problem and its prompt, all judged; `watcher` hears of each."""
    problem, prompt = asked
    sampling = Sampling(
        max_new_tokens=wanted.max_new_tokens, temperature=wanted.temperature, seed=wanted.seed
    )
    task = Task(problem=problem, dialect=dialect)
    on_written = (lambda *_: watcher.one_written()) if watcher else None
    on_done = watcher.one_judged if watcher else None
    responses = [
        Response.of_completion(task, row, prompt, one.text)
        for row, one in enumerate(policy.complete([prompt] * wanted.samples, sampling, on_written))
    ]
    return judged(judge, responses, Batch(stage="write"), on_done=on_done)


def best_of(answers: Sequence[Record]) -> int | None:
    """Place of the correct answer whose speedup is surest to be high; None where none is correct.

    Answers without a timing come last.
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
    """A model's dialect, and the length of its answers in tokens."""

    dialect: Dialect = "cpp"
    max_new_tokens: int = 512


def failures(answers: Sequence[Record]) -> str:
    """What kept the answers from being correct, the commonest first: `2 wrong (mismatch), …`."""
    codes = (
        f"{one.evaluation.verdict} ({one.evaluation.reason})"
        for one in answers
        if one.evaluation.verdict is not Verdict.CORRECT
    )
    return ", ".join(f"{count} {code}" for code, count in Counter(codes).most_common())


def answers_object(answers: Sequence[Record], prompt: str) -> dict[str, Any]:
    """What `write --json` prints; `best` is the place of the best answer, null where none is."""
    told = [
        {"source": one.source, "completion": one.completion, **verdict_object(one.evaluation)}
        for one in answers
    ]
    return {"prompt": prompt, "best": best_of(answers), "answers": told}


def habits_of(model: str, dialect: Dialect | None = None) -> Habits:
    """The dialect and length that a run trained its model for, or that a published adapter says;
    defaults for other models.

    A `dialect` has the last word. Raises ValueError where a run names none, and ModelError.
    """
    run, usual = Folder(Path(own_name(model))), Habits(dialect or "cpp")
    if not run.recipe_file.is_file():
        adapter = None if provider_and_model(model) else find_adapter(model)
        if adapter is None or adapter.dialect is None:
            return usual
        tokens = adapter.max_new_tokens or usual.max_new_tokens
        return Habits(dialect or known_dialect(adapter.dialect), tokens)
    try:
        said = run.recipe() or {}
        taught = known_dialect(said["data"].get("dialect", "cpp"))
        tokens = int(said.get("eval", {}).get("max_new_tokens", usual.max_new_tokens))
        return Habits(dialect or taught, tokens)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if dialect:
            return usual
        why = error.why if isinstance(error, DamagedError) else " ".join(str(error).split())
        raise ValueError(
            f"{run.recipe_file}: it names no dialect ({why}): give --dialect"
        ) from None


def check_model(model: str) -> None:
    """Raises ModelError where no model has this name, before anything heavy is loaded."""
    if provider_and_model(model):
        return
    adapter = find_adapter(model)
    check_name(adapter.base if adapter else model)
