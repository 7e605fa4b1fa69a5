"""What is asked of the service and what it answers, as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from kernelwright.data.suites.kernelbench import problem_of
from kernelwright.environments.episode import Rules
from kernelwright.environments.verdict_object import verdict_object
from kernelwright.envs.answer import extract
from kernelwright.envs.dialects import known_dialect
from kernelwright.envs.referee.feedback import feedback
from kernelwright.envs.types import Candidate, Evaluation, Problem
from kernelwright.rewards.price import price
from kernelwright.service.waiting import Job

POSTED = "posted"
"""Name of a problem that came as code."""


class UnknownProblemError(LookupError):
    """The service has no problem of this name or key."""


class JudgeRequest(BaseModel):
    """One answer: to a `problem` by name or key, or to one as `code`; as `answer` or `source`."""

    model_config = ConfigDict(extra="forbid")

    problem: str | None = Field(None, description="Name or key of a problem of the service.")
    code: str | None = Field(None, description="A module in KernelBench's format.")
    answer: str | None = Field(None, description="A model's whole answer, with a code block.")
    source: str | None = Field(None, description="The kernel's source alone.")
    dialect: Annotated[str, AfterValidator(known_dialect)] = "cpp"
    preset: Annotated[str, AfterValidator(lambda name: Rules(preset=name).preset)] = "default"
    timed: bool = True
    torch_allowed: bool = Field(False, description="PyTorch may compute a part of it.")

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        for names in (("problem", "code"), ("answer", "source")):
            if sum(getattr(self, name) is not None for name in names) != 1:
                raise ValueError(f"give either {' or '.join(names)}")
        return self


class BatchRequest(BaseModel):
    """Several answers, which are judged or refused together."""

    model_config = ConfigDict(extra="forbid")

    jobs: list[JudgeRequest] = Field(min_length=1)


def job_of(asked: JudgeRequest, problems: Mapping[str, Problem]) -> Job | None:
    """What is to be judged; None where the answer has no kernel.

    Raises ProblemError for code that is no problem, and UnknownProblemError for a name that
    the service has not.
    """
    if asked.code is not None:
        problem = problem_of(asked.code, POSTED)
    elif asked.problem is not None and asked.problem in problems:
        problem = problems[asked.problem]
    else:
        raise UnknownProblemError(f"there is no problem {asked.problem!r}")
    source = asked.source if asked.answer is None else extract(asked.answer, asked.dialect)
    if source is None:
        return None
    candidate = Candidate(
        problem_key=problem.key,
        dialect=asked.dialect,
        source=source,
        torch_allowed=asked.torch_allowed,
    )
    return Job(problem=problem, candidate=candidate, timed=asked.timed)


def answered(evaluation: Evaluation, preset: str) -> dict[str, Any]:
    """The object of `judge --json` with `reward`, null where unjudged, and `feedback`."""
    reward = price(preset, evaluation)
    paid = {"total": reward.total, "parts": dict(reward.parts)} if reward else None
    return {**verdict_object(evaluation), "reward": paid, "feedback": feedback(evaluation)}


def to_bytes(value: Any) -> bytes:
    """JSON in ASCII: a log may hold half of a surrogate pair. Null for a number that is none."""
    return json.dumps(_finite(value), allow_nan=False, separators=(",", ":")).encode("ascii")


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
