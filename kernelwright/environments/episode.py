"""One problem and several turns: an answer goes in, its verdict, reward and feedback come out.

Answers are found, judged and priced as in training. A bad answer is data: a step with a low reward.
A judge that gives no verdict raises `UnjudgedError`, and one that cannot go on raises `JudgeError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from kernelwright.envs.answer import extract
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.judged import Batch, Response, judged
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.referee.feedback import feedback
from kernelwright.envs.referee.reasons import what_is_wrong
from kernelwright.envs.types import Evaluation, Reward, Task
from kernelwright.rewards.price import price, require_preset

Message = dict[str, str]


class UnjudgedError(RuntimeError):
    """An answer got no verdict, which is no answer's fault. `evaluation` says why."""

    def __init__(self, evaluation: Evaluation) -> None:
        super().__init__(f"unjudged ({evaluation.reason}): {what_is_wrong(evaluation)}")
        self.evaluation = evaluation


class EpisodeOverError(RuntimeError):
    """An answer came before `reset`, or after the last turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What an answer brought. `feedback` is for the model; without `done` it asks for more."""

    evaluation: Evaluation
    reward: Reward
    feedback: str
    done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How answers are priced (`rewards/price.py`), how many there are, and whether they are timed.

    Raises ValueError for what there is not.
    """

    preset: str = "default"
    turns: int = 1
    timed: bool = True

    def __post_init__(self) -> None:
        require_preset(self.preset)
        if self.turns < 1:
            raise ValueError(f"an episode has at least one turn, not {self.turns}")


class Episode:
    """An environment: `reset` gives the prompt of a task, `step` judges an answer to it.

    One belongs to one conversation at a time; any number of them may share a judge, in threads.
    """

    def __init__(self, judge: AnyJudge, rules: Rules) -> None:
        self._judge, self.rules = judge, rules
        self.task: Task | None = None
        self.steps: list[Step] = []
        self.messages: list[Message] = []

    @property
    def done(self) -> bool:
        """Whether no more answers are taken."""
        return len(self.steps) >= self.rules.turns

    def reset(self, task: Task) -> list[Message]:
        """Begins anew; the conversation as it starts."""
        self.messages = [{"role": "user", "content": task_prompt(task)}]
        self.task, self.steps = task, []
        return list(self.messages)

    def step(self, answer: str) -> Step:
        """Judges a model's whole answer, in which the kernel is a code block (docs/answers.md)."""
        task = self._asked()
        return self._judged(task, answer, extract(answer, task.dialect))

    def submit(self, source: str) -> Step:
        """Judges a kernel that is handed in as source; one in a code block is taken out of it."""
        task = self._asked()
        return self._judged(task, source, extract(source, task.dialect) or source)

    def _asked(self) -> Task:
        if self.task is None or self.done:
            raise EpisodeOverError("there is no turn left: reset the environment")
        return self.task

    def _judged(self, task: Task, answer: str, source: str | None) -> Step:
        prompt = self.messages[-1]["content"]
        response = Response(
            task=task, row=len(self.steps), prompt=prompt, completion=answer, source=source
        )
        batch = Batch(stage="environment", price=partial(price, self.rules.preset))
        (record,) = judged(self._judge, [response], batch, timed=self.rules.timed)
        if record.reward is None:
            raise UnjudgedError(record.evaluation)
        done = len(self.steps) + 1 == self.rules.turns
        step = Step(
            evaluation=record.evaluation,
            reward=record.reward,
            feedback=feedback(record.evaluation, None if done else DIALECTS[task.dialect].another),
            done=done,
        )
        self.steps.append(step)
        self.messages += [
            {"role": "assistant", "content": answer},
            {"role": "user", "content": step.feedback},
        ]
        return step
