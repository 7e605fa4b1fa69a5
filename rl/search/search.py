"""Searches for a fast kernel of each problem: step by step, from what the steps before it found.

The records are all that a search keeps. What a step asks for follows from those of earlier steps
and the seed, and each answer draws its random numbers by its row, so a search that was stopped goes
on with the records that it would have had.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from kernelwright.data.runs.stages import SEARCH, SEARCH_AGAIN, SEARCH_START
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.judged import Batch, Response, judged
from kernelwright.envs.policy import Policy, Sampling, text_of
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.types import Problem, Record, Task
from kernelwright.rl.methods.base import Ask
from kernelwright.rl.search.archive import Archive, Tried
from kernelwright.rl.search.given import judge_given, unasked
from kernelwright.rl.search.kinds import with_kinds
from kernelwright.rl.search.knowledge import Knowledge, known_of, merged
from kernelwright.rl.search.mode import Mode
from kernelwright.rl.search.prompts import ask_of
from kernelwright.rl.search.settings import SearchSettings
from kernelwright.rl.search.surrogate import Forecast, forecast, is_audited, with_forecast

Keep = Callable[[Sequence[Record]], None]


class Watcher(Protocol):
    """Is called on the progress of a search, from any thread."""

    def one_written(self) -> None:
        """One more answer is written."""

    def one_judged(self) -> None:
        """One more is judged, or its kernel was judged before."""

    def step_done(self, step: int) -> None:
        """All answers of this step are on record."""

    def measures_again(self, count: int) -> None:
        """So many kernels are now timed once more; `one_judged` is called after each."""


class Unwatched:
    """Nobody looks."""

    def one_written(self) -> None: ...

    def one_judged(self) -> None: ...

    def step_done(self, step: int) -> None: ...

    def measures_again(self, count: int) -> None: ...


UNWATCHED = Unwatched()
TOGETHER = 128
"""Answers that are sampled at once, before they are judged and kept: a kill loses these at most."""


class Search:
    """A search of some problems. `kept` are the records of an earlier attempt, `knowledge` what
    other searches showed of the kinds of rewriting; `keep` gets new records as they are judged.
    `given` are kernels to improve on, by the problem's key."""

    def __init__(
        self,
        problems: Sequence[Problem],
        mode: Mode,
        settings: SearchSettings,
        keep: Keep,
        kept: Sequence[Record] = (),
        knowledge: Knowledge | None = None,
        given: Mapping[str, str] | None = None,
    ) -> None:
        self.problems, self.mode, self.settings, self.keep = problems, mode, settings, keep
        self.knowledge, self.given = knowledge or {}, dict(given or {})
        self.archives = {one.key: Archive(settings.dialect, one.category) for one in problems}
        self._measured = {one.problem_key for one in kept if one.stage == SEARCH_AGAIN}
        for record in kept:
            if record.stage in (SEARCH_START, SEARCH):
                self.archives[record.problem_key].add([record])

    def run(self, policy: Policy, judge: AnyJudge, watcher: Watcher = UNWATCHED) -> None:
        """All steps that are left. Raises JudgeError where a given kernel gets no verdict."""
        learn_shapes(self.problems)
        self._judge_given(judge)
        for step in range(self.settings.steps):
            learned = self.learned(before=step) if self.settings.kinds == "bandit" else {}
            knowledge = merged([self.knowledge, learned])
            for part in self._parts(step):
                asked = self._asked(part, step, knowledge)
                self._play(asked, step, policy, judge, watcher)
            watcher.step_done(step)

    def measure_again(self, judge: AnyJudge, watcher: Watcher = UNWATCHED) -> None:
        """Times the fastest kernels of each problem once more, on other inputs: what was chosen for
        its measured speed is slower on average than it was measured."""
        settings, responses, parents = self.settings, list[Response](), list[str]()
        for place, problem in enumerate(self.problems):
            if problem.key in self._measured:
                continue
            finalists = self.finalists(self.archives[problem.key])
            for row, one in enumerate(finalists, place * (settings.finalists + 1)):
                parents.append(one.key)
                responses.append(unasked(self._task(problem), row, one.source))
        watcher.measures_again(len(responses))
        batch = Batch(stage=SEARCH_AGAIN, versions=settings.versions)
        found = judged(judge, responses, batch, on_done=watcher.one_judged)
        pairs = zip(found, parents, strict=True)
        self.keep([replace(record, parent=key) for record, key in pairs])

    def learned(self, before: int | None = None) -> Knowledge:
        """What its answers show of the kinds of rewriting; of the steps before one."""
        return known_of(self.archives.values(), before)

    def finalists(self, archive: Archive) -> list[Tried]:
        """The fastest of the right kernels, best first, and the one that the search was given."""
        timed = [one for one in archive.right if one.speed]
        count = self.settings.finalists
        return timed[:count] + [one for one in timed[count:] if one is archive.given]

    def _judge_given(self, judge: AnyJudge) -> None:
        """Judges the given kernels that an earlier attempt did not judge."""
        left = [
            unasked(self._task(one), row, self.given[one.key])
            for row, one in enumerate(self.problems)
            if one.key in self.given and self.archives[one.key].given is None
        ]
        if not left:
            return
        found = judge_given(judge, left, self.settings.versions)
        for record in found:
            self.archives[record.problem_key].add([record])
        self.keep(found)

    def _task(self, problem: Problem) -> Task:
        return Task(problem=problem, dialect=self.settings.dialect)

    def _parts(self, step: int) -> Iterator[list[tuple[int, Problem]]]:
        """The problems that this step still asks for answers to, each with its number, in parts
        that are sampled together."""
        left = [
            (number, problem)
            for number, problem in enumerate(self.problems)
            if step not in self.archives[problem.key].steps
            and not self.settings.is_reached(self.archives[problem.key])
        ]
        each = max(1, TOGETHER // self.settings.batch)
        for start in range(0, len(left), each):
            yield left[start : start + each]

    def _asked(
        self, part: Sequence[tuple[int, Problem]], step: int, knowledge: Knowledge
    ) -> dict[int, Ask]:
        """Row → what is asked, of one step's answers to some problems."""
        found: dict[int, Ask] = {}
        for number, problem in part:
            first = number * self.settings.budget + step * self.settings.batch
            found |= dict(enumerate(self._asks(problem, step, knowledge), first))
        return found

    def _play(
        self, asked: Mapping[int, Ask], step: int, policy: Policy, judge: AnyJudge, watcher: Watcher
    ) -> None:
        """Samples and judges the answers, and keeps them all at once."""
        settings = self.settings
        sampling = Sampling(
            max_new_tokens=settings.max_new_tokens,
            temperature=settings.temperature,
            seed=settings.seed,
            numbers=tuple(asked),
        )
        chats = [ask.prompt.chat for ask in asked.values()]
        said = policy.complete(chats, sampling, lambda *_: watcher.one_written())
        responses = [
            Response.of_completion(ask.task, row, text_of(ask.prompt.chat), one.text)
            for (row, ask), one in zip(asked.items(), said, strict=True)
        ]
        batch = Batch(stage=SEARCH, step=step, versions=settings.versions)
        records = self._judged(responses, judge, batch, watcher.one_judged)
        placed = [_placed(one, asked[one.row]) for one in records]
        self.keep(placed)
        for record in placed:
            self.archives[record.problem_key].add([record])

    def _asks(self, problem: Problem, step: int, knowledge: Knowledge) -> list[Ask]:
        settings = self.settings
        rng = random.Random(f"{settings.seed}/{step}/{problem.key}")
        archive, task = self.archives[problem.key], self._task(problem)
        requests = self.mode.ask(archive, step, settings.count(step), rng)
        requests = with_kinds(requests, settings.kinds, archive, knowledge, rng)
        return [ask_of(task, one) for one in requests]

    def _judged(
        self,
        responses: Sequence[Response],
        judge: AnyJudge,
        batch: Batch,
        on_done: Callable[[], None],
    ) -> list[Record]:
        """The record of each, in order; a kernel that a problem has an evaluation of is not judged
        anew, and one that is forecast to be slow is not timed."""
        again = {}
        for one in responses:
            key = one.task.candidate(one.source).key if one.source is not None else ""
            if before := self.archives[one.task.problem.key].kernels.get(key):
                again[one.row] = batch.record(one, before.evaluation)
                on_done()
        new = [one for one in responses if one.row not in again]
        forecasts = self._forecasts(new)
        slow = {one.row for one in new if self._is_left_out(one, forecasts.get(one.row))}
        kept = [one for one in new if one.row not in slow]
        found = judged(judge, kept, batch, on_done=on_done)
        if slow:
            untimed = [one for one in new if one.row in slow]
            found += judged(judge, untimed, batch, timed=False, on_done=on_done)
        told = (
            with_forecast(one, forecasts.get(one.row), left_out=one.row in slow) for one in found
        )
        by_row = again | {one.row: one for one in told}
        return [by_row[one.row] for one in responses]

    def _forecasts(self, responses: Sequence[Response]) -> dict[int, Forecast]:
        """Row → what is forecast of its kernel."""
        if self.settings.surrogate == "off":
            return {}
        guesses = {
            one.row: forecast(one.source, self.archives[one.task.problem.key])
            for one in responses
            if one.source is not None
        }
        return {row: guess for row, guess in guesses.items() if guess}

    def _is_left_out(self, one: Response, guess: Forecast | None) -> bool:
        """Whether a kernel is not timed."""
        if self.settings.surrogate != "on" or guess is None or not guess.is_slower:
            return False
        assert one.source is not None
        return not is_audited(self.settings.seed, one.task.candidate(one.source).key)


def _placed(record: Record, ask: Ask) -> Record:
    """The record with its place in the search."""
    return replace(
        record,
        exemplars=ask.prompt.exemplars,
        trajectory=ask.trajectory,
        turn=ask.turn,
        parent=ask.parent,
    )
