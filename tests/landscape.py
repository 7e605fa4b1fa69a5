"""A world without a language model, in which methods learn in a second.

A policy has logits for each task: over plans, which decide how fast a kernel is, and over code,
which decides whether it is right. It begins with slow plans and wrong code. Where a prompt shows
kernels it tends to improve on the one that is said to be the fastest, and it mends what is said to
be wrong. Prompts, rollouts, judging,
rewards, credits and advantages are the real ones; in the place of the trainer is a step of policy
gradient.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from types import SimpleNamespace
from typing import Any

from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.policy import Completion, Finish, OnFinished, Sampling, text_of
from kernelwright.envs.types import Evaluation, Task, Verdict
from kernelwright.rl.methods.base import Method, RunView, centred
from kernelwright.rl.methods.find import method_options, start_method
from kernelwright.rl.rollout.rows import Rollouts, by_key
from tests import nouns
from tests.rollouts import ScriptedJudge, player, task

PLANS, CODES = 8, ("right", "wrong", "cheat")
RATE, HINT = 0.5, 4.0
KERNEL = re.compile(r"kernel (\d) (right|wrong|cheat)")
SAID = re.compile(r"([\d.]+)[^\n]*\n```\w+\n(kernel \d \w+)")
"""A kernel in a prompt, behind a line that has its speedup."""
TOLD = re.compile(r"kernel (\d) \w+\n```\n\n\w+:\nThis kernel is (not right|right)")
"""A kernel in a chat, and the verdict in the message after it."""


def speedup(plan: int) -> float:
    return float(2 ** ((plan - 2) / 2))


class World(ScriptedJudge):
    """What is right is as fast as its plan."""

    def judge(self, source: str, timed: bool) -> Evaluation:
        found = KERNEL.search(source)
        assert found
        kinds = {"wrong": Verdict.WRONG, "cheat": Verdict.CHEATED}
        if found[2] in kinds:
            return nouns.verdict(kinds[found[2]])
        ratio = round(10_000 * speedup(int(found[1])))
        return nouns.correct(nouns.timing(ratio, 10_000) if timed else None)


def softmax(logits: Sequence[float]) -> list[float]:
    powers = [math.exp(one - max(logits)) for one in logits]
    return [one / sum(powers) for one in powers]


@dataclass
class Learner:
    """A policy of two choices a task. A prompt's token is its number; an answer has two tokens."""

    plans: dict[str, list[float]] = field(default_factory=dict)
    codes: dict[str, list[float]] = field(default_factory=dict)
    asked: list[tuple[str, list[float], list[float]]] = field(default_factory=list)

    def complete(
        self, prompts: Sequence[Any], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        rng = random.Random(sampling.seed)
        found = []
        for number, prompt in enumerate(prompts):
            found.append(self._answer(text_of(prompt), rng))
            if on_finished:
                on_finished(number, found[-1])
        return found

    def _answer(self, prompt: str, rng: random.Random) -> Completion:
        name = re.findall(r"do (\w+)", prompt)[0]
        plans = list(self.plans.setdefault(name, [-0.8 * one for one in range(PLANS)]))
        codes = list(self.codes.setdefault(name, [0.0, 1.0, 0.0]))
        if (hint := hinted(prompt)) is not None:
            plans[min(hint + 1, PLANS - 1)] += HINT
        if (told := TOLD.findall(prompt)) and told[-1][1] == "not right":
            codes[0] += HINT / 2
        chances = softmax(plans), softmax(codes)
        plan, code = (rng.choices(range(len(one)), one)[0] for one in chances)
        self.asked.append((name, *chances))
        return Completion(
            text=spelled((plan, code)),
            finish=Finish.STOP,
            prompt_ids=(len(self.asked) - 1,),
            token_ids=(plan, code),
            logprobs=(math.log(chances[0][plan]), math.log(chances[1][code])),
        )

    def learn(self, prompt: int, tokens: Sequence[int], advantage: float | Sequence[float]) -> None:
        name, *chances = self.asked[prompt]
        both = [advantage] * 2 if isinstance(advantage, float) else advantage
        for logits, chance, token, one in zip(
            (self.plans[name], self.codes[name]), chances, tokens, both, strict=True
        ):
            for choice, likely in enumerate(chance):
                logits[choice] += RATE * one * ((choice == token) - likely)


def spelled(tokens: Sequence[int]) -> str:
    """The text of an answer, or of its first token, the plan."""
    plan = f"Plan {tokens[0]}.\n" if tokens else ""
    code = "".join(f"```cpp\nkernel {tokens[0]} {CODES[one]}\n```" for one in tokens[1:])
    return plan + code


def hinted(prompt: str) -> int | None:
    """The plan of the kernel that the prompt says is right, or the fastest."""
    if told := TOLD.findall(prompt):
        return int(told[-1][0]) if told[-1][1] == "right" else None
    said = [(float(one), KERNEL.search(kernel)) for one, kernel in SAID.findall(prompt)]
    fastest = max(said, key=lambda one: one[0], default=None)
    return int(fastest[1][1]) if fastest and fastest[1] else None


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What answers were like in the last steps: shares of right ones and cheats, and the mean plan
    of those that are right."""

    right: float
    cheats: float
    plan: float


def learned(
    folder: Path,
    method: Any,
    *,
    steps: int = 30,
    preset: str = "default",
    changed: Callable[[Method], None] = lambda _: None,
) -> Learned:
    """Trains a learner on four tasks, and looks at its last ten steps."""
    store, options, policy = RecordStore(folder), method_options(method), Learner()
    started = start_method(options, RunView(seed=0, store=store, decode=spelled))
    changed(started)
    tasks = by_key(started.tasks([task(name) for name in "abcd"]))
    rollouts = Rollouts(
        method=started,
        tasks=tasks,
        player_at=lambda _, step: player(
            World(),
            [],
            step=step,
            group_size=8,
            policy=policy,
            preset=preset,
            sampling=Sampling(max_new_tokens=64, temperature=1.0, seed=step),
        ),
        store=store,
        rows_per_group=8 * options.rows_per_trajectory,
        oversampled=0,
        seed=0,
        rank=0,
        versions={},
    )
    for step in range(steps):
        trainer = SimpleNamespace(state=SimpleNamespace(global_step=step))
        asked = [[{"role": "user", "content": key}] for key in tasks]
        found = rollouts(asked, trainer)
        for prompt, tokens, advantage in zip(
            found["prompt_ids"],
            found["completion_ids"],
            final(found, rollouts.rows_per_group, options.trainer.get("scale_rewards") == "group"),
            strict=True,
        ):
            policy.learn(prompt[0], tokens, advantage)
    return _seen(store, steps - 10)


def final(found: dict[str, list[Any]], size: int, scaled: bool) -> list[Any]:
    """A method's own advantages, or those that TRL makes of the credits."""
    made: list[Any] = []
    for start in range(0, len(found["credit"]), size):
        group = centred(found["credit"][start : start + size])
        spread = stdev(group) + 1e-4 if scaled else 1.0
        own = found["advantage"][start : start + size]
        made += [
            one / spread if given is None else given for one, given in zip(group, own, strict=True)
        ]
    return made


def _seen(store: RecordStore, first_step: int) -> Learned:
    last = [one for one in store.read() if one.stage == "grpo" and one.step >= first_step]
    verdicts = [one.evaluation.verdict for one in last]
    kernels = [KERNEL.search(one.source or "") for one in last]
    right = [int(one[1]) for one in kernels if one and one[2] == "right"]
    return Learned(
        right=fmean(one is Verdict.CORRECT for one in verdicts),
        cheats=fmean(one is Verdict.CHEATED for one in verdicts),
        plan=fmean(right) if right else 0.0,
    )


def named(one: Task) -> str:
    """The prompt of a task in this world."""
    return f"do {one.problem.name}"
