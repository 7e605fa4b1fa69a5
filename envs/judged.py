"""Judges responses and makes their records: the only place where a verdict becomes a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernelwright.envs.answer import extract
from kernelwright.envs.judge import NO_CODE_BLOCK, TRUNCATED, AnyJudge
from kernelwright.envs.types import Candidate, Evaluation, Record, Reward, Task


def unpriced(evaluation: Evaluation) -> Reward | None:
    """No reward, whatever the verdict."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A prompt and its completion. `source` is None where the completion contains no kernel, and
    where it was cut off and that counts as none."""

    task: Task
    row: int
    prompt: str
    completion: str
    source: str | None
    torch_allowed: bool = False
    truncated: bool = False

    @classmethod
    def of_completion(
        cls, task: Task, row: int, prompt: str, completion: str, *, truncated: bool = False
    ) -> Response:
        """A model's answer: the kernel is its last code block."""
        return cls(
            task=task,
            row=row,
            prompt=prompt,
            completion=completion,
            source=None if truncated else extract(completion, task.dialect),
            truncated=truncated,
        )

    @property
    def unanswered(self) -> Evaluation:
        """The verdict where there is no kernel."""
        return TRUNCATED if self.truncated else NO_CODE_BLOCK


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The fields that the records of several responses share."""

    stage: str
    step: int = 0
    price: Callable[[Evaluation], Reward | None] = unpriced
    versions: Mapping[str, str] = field(default_factory=dict)

    def record(self, response: Response, evaluation: Evaluation) -> Record:
        """The record of a response with this verdict."""
        problem = response.task.problem
        return Record(
            stage=self.stage,
            step=self.step,
            row=response.row,
            problem=problem.name,
            problem_key=problem.key,
            dialect=response.task.dialect,
            skill=response.task.skill,
            prompt=response.prompt,
            completion=response.completion,
            source=response.source,
            evaluation=evaluation,
            reward=self.price(evaluation),
            torch_allowed=response.torch_allowed,
            versions=self.versions,
        )


def judged(
    judge: AnyJudge,
    responses: Sequence[Response],
    batch: Batch,
    *,
    timed: bool = True,
    on_done: Callable[[], None] | None = None,
) -> list[Record]:
    """The record of each response, in order; without a kernel there is nothing to judge.

    `on_done` is called once for each response, from another thread perhaps, as it is done.
    """
    jobs = {
        place: (one.task.problem, _candidate(one, one.source))
        for place, one in enumerate(responses)
        if one.source is not None
    }
    if on_done:
        for _ in range(len(responses) - len(jobs)):
            on_done()
    found = judge.evaluate_many(list(jobs.values()), timed=timed, on_done=on_done)
    evaluations = dict(zip(jobs, found, strict=True))
    return [
        batch.record(one, evaluations.get(place, one.unanswered))
        for place, one in enumerate(responses)
    ]


def _candidate(response: Response, source: str) -> Candidate:
    return replace(response.task.candidate(source), torch_allowed=response.torch_allowed)
