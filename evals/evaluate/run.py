"""A policy and problems in, answers out, or records: sample, extract, judge, price, keep.

Resumable: rows that are already kept are not sampled again, and a batch draws from a seed of its
own, so an interrupted evaluation ends with the records of an uninterrupted one. Several processes
share the problems, and together have the records that one would have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from kernelwright.data.runs.progress import told_while_waiting
from kernelwright.data.suites.broken import RUN, broken
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.judged import Batch, Response, judged
from kernelwright.envs.policy import Completion, Policy, Sampling, text_of
from kernelwright.envs.policy import Prompt as Chat
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.types import (
    Dialect,
    Evaluation,
    Precision,
    Problem,
    Record,
    Task,
    Verdict,
)
from kernelwright.evals.page.levels import PROBLEM_AT_FAULT
from kernelwright.rewards.price import price
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.recipe.schema import Recipe

Keep = Callable[[Sequence[Record]], None]
T = TypeVar("T")
A_WORKER = 4
"""Answers that each worker judges until they are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSettings:
    """Sampling parameters of an evaluation, and the stage of its records.

    `temperature` 0 is greedy; `batch` is how many completions are sampled before they are judged
    and kept: a kill loses at most so many; `timed` says whether correct ones are timed; `versions`
    is stored with every record; `precision` is the judge's. `share` is (which, of how many) where
    several processes ask: each asks whole problems. Rows are counted from `first_row`. `chats` are
    asked in place of plain prompts, by the task's key. `whole` says whether an answer that reaches
    the limit of tokens is none, as for what is learned from.
    """

    stage: str = "eval"
    step: int = 0
    dialect: Dialect
    samples: int
    max_new_tokens: int
    temperature: float
    seed: int = 0
    reward: str = "default"
    versions: Mapping[str, str]
    timed: bool = True
    batch: int = 128
    precision: Precision = Precision.IEEE
    share: tuple[int, int] = (0, 1)
    more_dialects: tuple[Dialect, ...] = ()
    first_row: int = 0
    chats: Mapping[str, Chat] = field(default_factory=dict)
    whole: bool = False

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """What each problem is asked for in."""
        return (self.dialect, *self.more_dialects)

    def __post_init__(self) -> None:
        if self.samples < 1 or self.batch < 1:
            raise ValueError("an evaluation needs at least one sample, and one to a batch")
        if self.samples > 1 and self.temperature == 0:
            raise ValueError("greedy samples are all the same: ask for one, or raise temperature")


def settings_of(recipe: Recipe, versions: Mapping[str, str]) -> EvalSettings:
    """As a recipe's last measurement has them; other stages and processes change their part."""
    section = recipe.eval
    return EvalSettings(
        dialect=recipe.data.dialect,
        more_dialects=recipe.data.more_dialects,
        samples=section.samples,
        max_new_tokens=section.max_new_tokens,
        temperature=section.temperature,
        seed=recipe.seed,
        reward=recipe.reward,
        versions=versions,
        timed=section.timed,
        precision=recipe.judge.precision,
    )


class Watcher(Protocol):
    """Is called on the progress of an evaluation, from any thread."""

    def one_written(self) -> None:
        """One more answer is written."""

    def one_judged(self) -> None:
        """One more is judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    index: int
    task: Task


def evaluate(
    policy: Policy,
    problems: Sequence[Problem],
    judge: AnyJudge,
    settings: EvalSettings,
    keep: Keep,
    done: Collection[tuple[str, int, int]] = (),
    watcher: Watcher | None = None,
) -> list[Record]:
    """New records of what `write` gives; `keep` gets each batch once judged. Of a problem whose
    module does not run nothing is asked, and its records are unjudged.

    Answers of a batch are all written before any of them is judged, and `watcher` hears of each as
    it is.
    """
    new: list[Record] = []
    shared = Batch(
        stage=settings.stage,
        step=settings.step,
        price=partial(price, settings.reward),
        versions=settings.versions,
    )
    on_written = watcher.one_written if watcher else None
    on_judged = watcher.one_judged if watcher else None
    if unasked := _unasked(problems, settings, done, shared):
        keep(unasked)
        new.extend(unasked)
    for one in filter(None, (on_written, on_judged)):
        for _ in unasked:
            one()
    done = {*done, *(record.id for record in unasked)}
    for responses in write(policy, problems, settings, done, on_written):
        records = judged(judge, responses, shared, timed=settings.timed, on_done=on_judged)
        keep(records)
        new.extend(records)
    return new


def _unasked(
    problems: Sequence[Problem],
    settings: EvalSettings,
    done: Collection[tuple[str, int, int]],
    shared: Batch,
) -> list[Record]:
    """Records of the rows, not done yet, whose module does not run: no model is at fault."""
    rows = [row for batch in _batches(problems, settings) for row in _left(batch, settings, done)]
    with told_while_waiting(lambda: RUN):
        why = broken(_problems(rows))
    return [
        shared.record(
            Response(task=row.task, row=row.index, prompt="", completion="", source=""),
            Evaluation(
                verdict=Verdict.UNJUDGED, reason=PROBLEM_AT_FAULT, log=why[row.task.problem.key]
            ),
        )
        for row in rows
        if row.task.problem.key in why
    ]


def write(
    policy: Policy,
    problems: Sequence[Problem],
    settings: EvalSettings,
    done: Collection[tuple[str, int, int]] = (),
    on_written: Callable[[], None] | None = None,
) -> Iterator[list[Response]]:
    """A model's answers, a batch at a time: row = first row + task index · samples + sample.

    Each problem is a task in each language. `done` holds the ids of records that exist: their rows
    are skipped, as are those whose module does not run. `on_written` is called after each answer,
    from any thread. Where a server fails for good, what it had answered comes first, then its
    ModelError.
    """
    for batch in _batches(problems, settings):
        left = _left(batch, settings, done)
        silent = broken(_problems(left))
        if left := [row for row in left if row.task.problem.key not in silent]:
            first = batch[0].index
            sampling = Sampling(
                max_new_tokens=settings.max_new_tokens,
                temperature=settings.temperature,
                seed=settings.seed + first,
                numbers=tuple(row.index - first for row in left),
            )
            chats = [settings.chats.get(row.task.key) or task_prompt(row.task) for row in left]
            asked = list(zip(left, chats, strict=True))
            completions, failed = _completed(policy, asked, sampling, on_written)
            if responses := [
                Response.of_completion(
                    row.task,
                    row.index,
                    text_of(chat),
                    completions[number].text,
                    truncated=settings.whole and not completions[number].ended,
                )
                for number, (row, chat) in enumerate(asked)
                if number in completions
            ]:
                yield responses
            if failed:
                raise failed


def count_left(
    problems: Sequence[Problem], settings: EvalSettings, done: Collection[tuple[str, int, int]]
) -> int:
    """How many answers this process has to ask for."""
    return sum(len(_left(batch, settings, done)) for batch in _batches(problems, settings))


def _left(
    batch: Sequence[_Row], settings: EvalSettings, done: Collection[tuple[str, int, int]]
) -> list[_Row]:
    """The rows of a batch that are this process's and not done."""
    which, of = settings.share
    return [
        row
        for row in batch
        if (row.index - settings.first_row) // settings.samples % of == which
        and (settings.stage, settings.step, row.index) not in done
    ]


def _problems(rows: Sequence[_Row]) -> list[Problem]:
    """Those of some rows, each once."""
    return list({row.task.problem.key: row.task.problem for row in rows}.values())


def _batches(problems: Sequence[Problem], settings: EvalSettings) -> Iterator[list[_Row]]:
    """All rows in batches that do not depend on what is done, so that their seeds do not either."""
    tasks = [Task(problem=one, dialect=it) for one in problems for it in settings.dialects]
    rows = [
        _Row(index=settings.first_row + index * settings.samples + sample, task=task)
        for index, task in enumerate(tasks)
        for sample in range(settings.samples)
    ]
    for start in range(0, len(rows), settings.batch):
        yield rows[start : start + settings.batch]


def _completed(
    policy: Policy,
    asked: Sequence[tuple[_Row, Chat]],
    sampling: Sampling,
    on_written: Callable[[], None] | None,
) -> tuple[dict[int, Completion], ModelError | None]:
    """(the answers by their number, why there are no more)."""
    finished: dict[int, Completion] = {}

    def keep(number: int, completion: Completion) -> None:
        finished[number] = completion
        if on_written:
            on_written()

    try:
        found = policy.complete([chat for _, chat in asked], sampling, keep)
    except ModelError as error:
        return finished, error
    return dict(enumerate(found)), None


def in_batches(rows: Sequence[T], judge: AnyJudge) -> Iterator[Sequence[T]]:
    """The rows in batches of a size that gives each worker its share."""
    size = A_WORKER * judge.workers
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
