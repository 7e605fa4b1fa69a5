"""Interface of a method: its options, its prompts, its rollout and its credit rule, in one file.

A module of this folder (or any importable one, named with its dots) holds `Options`, whose keys
stand under `grpo.method` in a recipe, and `Method`, made from them. GRPO's own is `grpo.py`; a
method overrides `prompt` to show something else, `rollout` to take several turns, `credit` to pay
for something else, and `advantages` to compare rows otherwise, or to train tokens apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol

from kernelwright.envs.policy import Message
from kernelwright.envs.policy import Prompt as Chat
from kernelwright.envs.types import Evaluation, Reward, Task, Verdict
from kernelwright.rl.section import Section

if TYPE_CHECKING:
    from kernelwright.data.runs.records import RecordStore
    from kernelwright.data.triple import JudgedTriple


Advantage = float | tuple[float, ...]
"""What a row is trained with: one number for all of its tokens, or one for each."""


class MethodOptions(Section):
    """The keys of every method."""

    name: str
    """The method: a module of `rl/methods`, or the dotted name of one of your own."""

    @property
    def rows_per_trajectory(self) -> int:
        """Answers of one trajectory, one a turn; each is trained on by its own credit."""
        return 1

    @property
    def most_examples(self) -> float:
        """Examples that SFT learns from a judged triple, at most."""
        return 1.0

    @property
    def shown_answers(self) -> int:
        """Earlier kernels or answers that a prompt shows beside its task, at most."""
        return self.rows_per_trajectory - 1

    @property
    def trainer(self) -> Mapping[str, Any]:
        """Options of TRL's GRPOConfig that belong to the method; `grpo.trainer` overrules them."""
        return {}

    @property
    def needs_speeds(self) -> bool:
        """Whether it is of no use where kernels are not timed."""
        return False

    @property
    def needs_triples(self) -> bool:
        """Whether its prompts show judged examples: then they are judged without SFT too."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A user message, the messages before it, and the keys of the candidates that are shown."""

    text: str
    before: tuple[Message, ...] = ()
    exemplars: tuple[str, ...] = ()

    @property
    def chat(self) -> Chat:
        """As a policy is asked."""
        return (*self.before, Message("user", self.text)) if self.before else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A user message, the messages before it, and the answer to imitate, wherever they come
    from."""

    prompt: str
    completion: str
    before: tuple[Message, ...] = ()

    @property
    def chat(self) -> tuple[Message, ...]:
        """Up to the answer."""
        return (*self.before, Message("user", self.prompt))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request for one answer: `turn` of a task's `trajectory`, to improve on `parent`.

    With `parent_source` that kernel is timed again, in the batch of the answers.
    """

    task: Task
    prompt: Prompt
    trajectory: int
    turn: int = 0
    parent: str | None = None
    parent_source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One answer that was sampled and judged.

    `logprobs` are those of its tokens under the distribution they were drawn from. Without `ended`
    it was cut off: that is no answer, so its verdict is `no_kernel` (`truncated`). `weights_step`
    is the optimiser step whose weights wrote it, where what sampled says so.
    """

    ask: Ask
    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    ended: bool
    completion: str
    source: str | None
    evaluation: Evaluation
    reward: Reward | None
    weights_step: int | None = None
    parent_evaluation: Evaluation | None = None
    """Of `ask.parent_source`, where it was judged: not where no answer of its group is correct."""


class Player(Protocol):
    """The policy and the judge of a rollout, at one optimiser step."""

    step: int
    group_size: int

    def play(self, asked: Sequence[Ask]) -> list[Row]:
        """Samples an answer to each and judges it, in order."""
        ...

    def judge_again(self, rows: Sequence[Row]) -> list[Evaluation]:
        """Judges and times the kernels of these rows once more, on other inputs."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A method's view of its run: its seed, all records so far, and while it trains the text of
    token ids."""

    seed: int
    store: RecordStore
    decode: Callable[[Sequence[int]], str] | None = None


class Method:
    """The defaults of GRPO; methods override prompt, rollout, credit or advantages."""

    def __init__(self, options: Any, run: RunView) -> None:
        self.options, self.run = options, run

    def examples(self, triples: Sequence[JudgedTriple]) -> list[Example]:
        """What SFT learns from judged triples: those that are correct, as they were asked."""
        correct = [one for one in triples if one.evaluation.verdict is Verdict.CORRECT]
        return [Example(prompt=one.prompt, completion=one.triple.completion()) for one in correct]

    def tasks(self, tasks: Sequence[Task]) -> list[Task]:
        """What is trained on, made from the tasks of the training suite: here those.

        A method may ask for a problem in several skills or dialects: each is a task of its own.
        """
        return list(tasks)

    def prompt(self, task: Task, step: int) -> Prompt:
        """What a group is asked. A pure function of the run's records before this step."""
        from kernelwright.envs.prompt import (
            task_prompt,  # a recipe is checked without what runs modules
        )

        return Prompt(text=task_prompt(task))

    def rollout(self, tasks: Sequence[Task], player: Player) -> list[Row]:
        """Task by task, `player.group_size` trajectories of `options.rows_per_trajectory` rows."""
        asked = []
        for task in tasks:
            prompt = self.prompt(task, player.step)
            asked += [
                Ask(task=task, prompt=prompt, trajectory=number)
                for number in range(player.group_size)
            ]
        return player.play(asked)

    def credit(self, rows: Sequence[Row]) -> list[float | None]:
        """What each row of one group has earned: here its reward.

        Pure. None has no say in the group's mean and is not trained on. `unjudged` rows have no
        reward, and so no credit.
        """
        return [row.reward.total if row.reward else None for row in rows]

    def advantages(
        self, rows: Sequence[Row], credits: Sequence[float | None]
    ) -> list[Advantage] | None:
        """What each row of one group is trained with in the end, made from the credits. Pure.

        None is the credit less the group's mean, which TRL computes, and divides by what
        `scale_rewards` names.
        """
        return None


def centred(credits: Sequence[float | None]) -> list[float]:
    """Each credit less the mean of those that are known; 0 where it is None."""
    known = [one for one in credits if one is not None]
    mean = fmean(known) if known else 0.0
    return [0.0 if one is None else one - mean for one in credits]
