"""The prompt of a request, in the words that training uses, so that a trained model knows them.

A kernel to improve on is the model's own turn in a chat, and the judge's feedback is the next
message, as in later turns of `kevin` and in repairs; other kernels are shown as `contrastive` does.
"""

from __future__ import annotations

from dataclasses import replace

from kernelwright.envs.answer import fenced
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.policy import Message
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.referee.feedback import feedback
from kernelwright.envs.types import Dialect, Task
from kernelwright.rl.methods.base import Ask, Prompt
from kernelwright.rl.methods.contrastive import beside
from kernelwright.rl.search.kinds import kinds_for
from kernelwright.rl.search.mode import Request


def ask_of(task: Task, request: Request) -> Ask:
    """A request in words, with its place in the search; the task has the kind as its skill."""
    parent = request.parent
    return Ask(
        task=replace(task, skill=request.kind),
        prompt=prompt_of(request, task_prompt(task), task.dialect),
        trajectory=request.lane,
        turn=parent.depth + 1 if parent else 0,
        parent=parent.key if parent else None,
    )


def prompt_of(request: Request, asked: str, dialect: Dialect) -> Prompt:
    """`asked` is the task's own prompt; the keys are those of the kernels that stand in this."""
    parent, keys = request.parent, tuple(one.key for one in request.shown)
    if shown := list(filter(None, (one.exemplar() for one in request.shown))):
        asked = beside(asked, dialect, shown)
    if parent is None:
        return Prompt(text=asked, exemplars=keys)
    said = feedback(parent.evaluation, DIALECTS[dialect].another)
    return Prompt(
        text="\n".join(filter(None, [said, _wanted(request, dialect)])),
        before=(
            Message("user", asked),
            Message("assistant", fenced(f"{parent.source.strip()}\n", dialect)),
        ),
        exemplars=(*keys, parent.key),
    )


def _wanted(request: Request, dialect: Dialect) -> str:
    """The kind of rewriting that is asked for, and what it came to before."""
    return " ".join(filter(None, [kinds_for(dialect).get(request.kind), request.helped]))
