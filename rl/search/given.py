"""Kernels that are given to improve on: judged before anything is asked, then shown in a prompt.

`search` and `eval` both begin with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelwright.data.runs.stages import SEARCH_START
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.judged import Batch, Response, judged
from kernelwright.envs.policy import Prompt as Chat
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.types import Record, Task, Verdict
from kernelwright.envs.workers.pool import JudgeError
from kernelwright.rl.search.archive import Tried
from kernelwright.rl.search.mode import Request
from kernelwright.rl.search.prompts import prompt_of


def unasked(task: Task, row: int, source: str) -> Response:
    """A kernel that is there already, to be judged without a prompt."""
    return Response(task=task, row=row, prompt="", completion="", source=source)


def judge_given(
    judge: AnyJudge, given: Sequence[Response], versions: Mapping[str, str]
) -> list[Record]:
    """The record of each given kernel. Raises JudgeError where one gets no verdict."""
    found = judged(judge, given, Batch(stage=SEARCH_START, versions=versions))
    for record in found:
        if record.evaluation.verdict is Verdict.UNJUDGED:
            raise JudgeError(f"no verdict on the given kernel of {record.problem}")
    return found


def improving(task: Task, given: Record) -> Chat:
    """The chat that asks for a better kernel than the given one, with the judge's words of it."""
    return prompt_of(Request(parent=Tried.of(given)), task_prompt(task), task.dialect).chat
