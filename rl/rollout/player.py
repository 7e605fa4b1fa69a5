"""Samples and judges the answers of a method's rollout.

Building and checking answers overlaps with sampling the rest. Timing waits until nothing is sampled
any more: beside a decoder on the same cores, or the same GPU, no speed can be measured.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TypeVar

from kernelwright.envs.answer import extract
from kernelwright.envs.judge import NO_CODE_BLOCK, TRUNCATED, AnyJudge
from kernelwright.envs.policy import Completion, Policy, Sampling
from kernelwright.envs.types import Candidate, Evaluation, Problem, Verdict, content_hash
from kernelwright.envs.workers.health import fresh_seed
from kernelwright.rewards.price import price_groups
from kernelwright.rl.methods.base import Ask, Row
from kernelwright.rl.models.free_memory import give_back

T = TypeVar("T")
STALE = "an answer of step {} was sampled with the weights of step {}"
NOT_TRAINABLE = "this policy tells no {}: it can be measured, but cannot be trained"


def hash_seed(*parts: str) -> int:
    """A seed of 62 bits that these texts alone decide."""
    return int(content_hash(*parts), 16) % (1 << 62)


class EarlyCheck:
    """Builds and checks answers, untimed, while others are still sampled. One batch, one thread."""

    def __init__(self, judge: AnyJudge) -> None:
        self._judge, self._seed = judge, fresh_seed()
        self._known: dict[str, Evaluation] = {}
        self._submitted: set[str] = set()
        self._waiting: dict[str, tuple[Problem, Candidate]] = {}
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="early-check")
        self._calls: list[Future[None]] = []

    def submit(self, problem: Problem, candidate: Candidate) -> None:
        """Checks it soon; an equal one is checked once."""
        with self._lock:
            if candidate.key in self._submitted:
                return
            self._submitted.add(candidate.key)
            self._waiting[candidate.key] = (problem, candidate)
        self._calls.append(self._thread.submit(self._work))

    def finish(self) -> dict[str, Evaluation]:
        """Candidate's key → evaluation, of all that came. Raises what the judge raised."""
        self._thread.shutdown()
        for call in self._calls:
            call.result()
        return self._known

    def _work(self) -> None:
        """Judges all that wait by now in one call, so that the judge's workers share it."""
        with self._lock:
            batch, self._waiting = self._waiting, {}
        if batch:
            found = self._judge.evaluate_many(list(batch.values()), timed=False, seed=self._seed)
            with self._lock:
                self._known.update(zip(batch, found, strict=True))


@dataclass(kw_only=True)
class JudgedPlayer:
    """The policy and the judge at one optimiser step."""

    step: int
    group_size: int
    judge: AnyJudge
    policy: Policy
    sampling: Sampling
    preset: str
    timed: bool
    seconds: dict[str, float] = field(default_factory=dict)
    """Phase → how long it took so far."""
    plays: int = 0
    """How often it has played; each play draws random numbers of its own."""

    def play(self, asked: Sequence[Ask]) -> list[Row]:
        """Samples an answer to each and judges it, in order."""
        with self._phase("prompt"):
            prompts = [one.prompt.chat for one in asked]
            sampling = self._next_sampling()
        early = EarlyCheck(self.judge)
        sources: dict[int, str | None] = {}

        def on_finished(number: int, one: Completion) -> None:
            task = asked[number].task
            source = extract(one.text, task.dialect) if one.ended else None
            sources[number] = source
            if source is not None:
                early.submit(task.problem, task.candidate(source))

        with self._phase("generate"):
            completions = self.policy.complete(prompts, sampling, on_finished)
            self._refuse_stale(completions)
        with self._phase("judge"):
            give_back()  # a GPU's memory, too: kernels need it, and those checked by now may wait
            known = early.finish()
            self._time_correct(asked, sources, known)
        answers = zip(asked, completions, strict=True)
        return self._priced(
            [self._row(*one, sources[number], known) for number, one in enumerate(answers)]
        )

    def judge_again(self, rows: Sequence[Row]) -> list[Evaluation]:
        """Judges and times the kernels of these rows once more, on other inputs."""
        jobs = [
            (row.ask.task.problem, row.ask.task.candidate(row.source))
            for row in rows
            if row.source is not None
        ]
        if len(jobs) < len(rows):
            raise ValueError("a row without a kernel cannot be judged again")
        with self._phase("judge"):
            return self.judge.evaluate_many(jobs, timed=self.timed)

    def _time_correct(
        self, asked: Sequence[Ask], sources: dict[int, str | None], known: dict[str, Evaluation]
    ) -> None:
        """Judges the correct ones anew, timed this time, on inputs that none of them has seen, and
        with them the kernels that they were to improve on."""
        if not self.timed:
            return
        jobs = {}
        for number, source in sources.items():
            task, parent = asked[number].task, asked[number].parent_source
            if source is None or known[task.candidate(source).key].verdict is not Verdict.CORRECT:
                continue
            for one in filter(None, (source, parent)):
                candidate = task.candidate(one)
                jobs[candidate.key] = (task.problem, candidate)
        found = self.judge.evaluate_many(list(jobs.values()), timed=True) if jobs else []
        known.update(zip(jobs, found, strict=True))

    def _next_sampling(self) -> Sampling:
        """How the next play is sampled: with the step's seed first, later with one made from it."""
        number, self.plays = self.plays, self.plays + 1
        if not number:
            return self.sampling
        words = (str(self.sampling.seed), "play", str(number))
        return replace(self.sampling, seed=hash_seed(*words))

    def _row(
        self, ask: Ask, one: Completion, source: str | None, known: dict[str, Evaluation]
    ) -> Row:
        if source is not None:
            evaluation = known[ask.task.candidate(source).key]
        else:
            evaluation = NO_CODE_BLOCK if one.ended else TRUNCATED
        parent = ask.task.candidate(ask.parent_source).key if ask.parent_source else None
        return Row(
            ask=ask,
            prompt_ids=_told(one.prompt_ids, "token ids of a prompt"),
            token_ids=_told(one.token_ids, "token ids"),
            logprobs=_told(one.logprobs, "log-probabilities"),
            ended=one.ended,
            completion=one.text,
            source=source,
            evaluation=evaluation,
            reward=None,
            weights_step=one.weights_step,
            parent_evaluation=known.get(parent) if parent else None,
        )

    def _refuse_stale(self, completions: Sequence[Completion]) -> None:
        """Answers are of this step's weights: others would be trained on as what they are not."""
        for one in completions:
            if one.weights_step not in (None, self.step):
                raise ValueError(STALE.format(self.step, one.weights_step))

    def _priced(self, rows: Sequence[Row]) -> list[Row]:
        """The rows with their rewards: those of a task are priced together."""
        tasks = [row.ask.task.key for row in rows]
        rewards = price_groups(self.preset, tasks, [row.evaluation for row in rows])
        return [replace(row, reward=one) for row, one in zip(rows, rewards, strict=True)]

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        started = monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + monotonic() - started


def _told(known: tuple[T, ...] | None, what: str) -> tuple[T, ...]:
    if known is None:
        raise ValueError(NOT_TRAINABLE.format(what))
    return known
