"""One candidate, start to finish: build, check, time. The only place that gives a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from kernelwright.envs.abi import UnsupportedDtypeError
from kernelwright.envs.candidate.process import SandboxedCandidate, nothing_native
from kernelwright.envs.candidate.session import Session
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.dialects.base import failed
from kernelwright.envs.hardware import Gpu
from kernelwright.envs.locks import exclusive
from kernelwright.envs.referee.resolution import (
    RESOLVING_ROUNDS,
    TRIES,
    Parts,
    costs,
    resolved,
    steady,
)
from kernelwright.envs.referee.roofline import floor_ns, too_fast
from kernelwright.envs.referee.rounds import CandidateFailedError, compare
from kernelwright.envs.referee.timing import Pace, time_in_turns
from kernelwright.envs.reference.client import (
    Draw,
    Draws,
    Loaded,
    ReferenceFailedError,
    ReferenceProcess,
)
from kernelwright.envs.replay.client import GpuCandidate
from kernelwright.envs.replay.counters import Facts, split_counters
from kernelwright.envs.replay.plan import GpuReplay
from kernelwright.envs.sandbox.levels import sandbox_level
from kernelwright.envs.sandbox.limits import RUN_LIMITS
from kernelwright.envs.sandbox.patience import look_again, patience
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.types import (
    Candidate,
    Evaluation,
    Problem,
    Target,
    Timing,
    Verdict,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingConfig:
    """How long and how often. Times are wall-clock seconds."""

    check_rounds: int = 5
    """At least this many checked rounds, spread over all cases."""
    pace: Pace = field(default_factory=Pace)
    round_limit_s: float = 5.0
    candidate_limit_s: float = 100.0
    """Of all of a candidate's processes together: a slow start or slow rounds add up."""


QUICK_S = 2.0
"""A candidate whose checked rounds took no longer is timed warm: a new process's first calls ask
for memory and find no code in the caches, and for a slower one that is nothing."""

EMULATED_TAKES = 4
"""So many times as long may a round take where a device's code is translated."""

OUT_OF_TIME = ("wall_limit", "candidate_limit", "compile_timeout")
"""Reasons that a machine which is slow now may have brought about."""

AnyCandidate = SandboxedCandidate | GpuCandidate


class WrongOutputError(Exception):
    """An output that was compared and is not right. A fact about the candidate."""


class Evaluator:
    """Judges candidates one after another, with one reference process. Not thread-safe.

    With a GPU, dialects that launch kernels are replayed on it.
    """

    def __init__(self, config: JudgingConfig, target: Target, gpu: Gpu | None = None) -> None:
        look_again()
        self.config = config
        self.target = target
        self.gpu = gpu
        self.reference = ReferenceProcess(gpu)
        self.sandboxes = Sandboxes()
        self.loaded: Loaded | None = None
        self.draws = Draws(self.reference, 0)
        self.floors_ns: dict[str, float | None] = {}
        self.resolving: dict[tuple[str, bool], Parts] = {}
        """Problem, and whether on a device → the rounds that decide whether speeds can be told."""

    def judge(
        self, problem: Problem, candidate: Candidate, *, timed: bool, seed: int
    ) -> Evaluation:
        """The evaluation of this candidate; `unjudged` where the problem itself cannot be run.

        `seed` decides all inputs, and is secret until the candidates of its batch are judged.
        """
        started = time.perf_counter()
        try:
            evaluation = self._judge(problem, candidate, timed, seed)
            if evaluation.reason in OUT_OF_TIME and look_again():
                evaluation = self._judge(problem, candidate, timed, seed)
        except (ReferenceFailedError, UnsupportedDtypeError) as error:
            evaluation = Evaluation(
                verdict=Verdict.UNJUDGED, reason="reference_failed", log=str(error)
            )
        return replace(
            evaluation,
            sandbox_level=sandbox_level(),
            environment=evaluation.environment or self.target.name,
            seed=seed,
            seconds=round(time.perf_counter() - started, 4),
        )

    def _judge(self, problem: Problem, candidate: Candidate, timed: bool, seed: int) -> Evaluation:
        if not candidate.source.strip():
            return Evaluation(verdict=Verdict.NO_KERNEL, reason="empty_source")
        loaded = self._load(problem)
        dialect = DIALECTS[candidate.dialect]
        built = dialect.build(candidate, loaded.specs, self.sandboxes)
        if isinstance(built, Evaluation):
            return built
        if sum(len(content) for _, content in built.files) > RUN_LIMITS.file_bytes:
            limit = f"what was built has more than {RUN_LIMITS.file_bytes >> 20} MB\n"
            return failed("output_too_large", built.log + limit)
        draws = self._draws(seed)
        session = Session(candidate.key, loaded, built, draws, [], built.log)
        if built.on_device is not None and self.gpu is not None:
            evaluation = self._replay(session, built.on_device, self.gpu, timed)
        elif not built.playable:
            log = f"{built.log}it builds; nothing on this machine can run it\n"
            evaluation = failed("built_only", log, Verdict.UNJUDGED)
        else:
            evaluation = self._run(session, timed and built.timed)
        return replace(evaluation, facts=(*built.facts, *evaluation.facts))

    def _load(self, problem: Problem) -> Loaded:
        if self.loaded is None or self.loaded.key != problem.key:
            self.draws.close()
            self.loaded = None  # the reference process forgets it, even where the next one fails
            self.loaded = self.reference.load(problem)
        return self.loaded

    def _draws(self, seed: int) -> Draws:
        if self.draws.seed != seed:
            self.draws.close()
            self.draws = Draws(self.reference, seed)
        return self.draws

    def _run(self, session: Session, timed: bool) -> Evaluation:
        try:
            self._play(session, lambda player: self._check(session, player))
            session.warm = session.device is None and session.spent_s < QUICK_S
            if not timed:
                return session.decided(Verdict.CORRECT, "ok")
            return self._time(session)
        except CandidateFailedError as failure:
            return session.decided(failure.verdict, failure.reason)
        except WrongOutputError:
            return session.decided(Verdict.WRONG, session.why_wrong)

    def _replay(self, session: Session, on_device: GpuReplay, gpu: Gpu, timed: bool) -> Evaluation:
        """The same on a GPU, which is ours alone meanwhile. The process that replays is trusted and
        idle between rounds, so one of them plays every part."""
        with exclusive(gpu.uuid):
            limit_s = self.config.round_limit_s
            device = session.device = GpuCandidate(on_device, gpu, self.sandboxes, limit_s)
            try:
                device.ready()
                evaluation = self._run(session, timed)
            finally:
                log = device.close()
            return replace(evaluation, log=session.built.log + log)

    def _play(self, session: Session, part: Callable[[AnyCandidate], None]) -> None:
        """Plays a part with a fresh process of the candidate, which is gone afterwards."""
        if session.device is not None:
            return part(session.device)
        limit_s = self.config.round_limit_s * (EMULATED_TAKES if session.built.emulated else 1)
        started = time.monotonic()
        player = SandboxedCandidate(session.built, self.sandboxes, limit_s)
        try:
            player.ready()
            part(player)
        finally:
            log = player.close()
            if session.built.emulated:
                session.counts, log = split_counters(log)
            session.log = session.built.log + log
            session.spent_s += time.monotonic() - started
        if session.spent_s > self.config.candidate_limit_s * patience():
            raise CandidateFailedError("candidate_limit", Verdict.TIMED_OUT)

    def _check(self, session: Session, player: AnyCandidate) -> None:
        """Rounds over all cases in turn; raises at the first output that is not right.

        One more, of the timed case and at a place that nobody can foresee, has inputs that no other
        candidate of the batch gets: whoever has another's answers by heart is wrong there.
        """
        cases = len(session.loaded.cases)
        count = max(self.config.check_rounds, cases)
        rounds: list[tuple[int, int | None]] = [(n % cases, n // cases) for n in range(count)]
        rounds.insert(session.draws.seed % (count + 1), (session.loaded.timed, None))
        for case, number in rounds:
            self._round(session, player, case, number)

    def _round(self, session: Session, player: AnyCandidate, case: int, number: int | None) -> None:
        """One round, whose outputs are compared.

        `number` names one of the draws that the batch has in common; None is the candidate's own.
        """
        spec, draws = session.loaded.specs[case], session.draws
        player.prime(spec)
        own = draws.only_for(session.key, session.loaded, case)
        with own if number is None else draws.of(session.loaded, case, number) as draw:
            self._compare(session, case, player.round(draw.inputs, spec)[1], draw)

    def _timed_round(
        self, session: Session, player: AnyCandidate, number: int, *, first: bool
    ) -> int:
        """How long one round took, in nanoseconds; its outputs and those of the rounds before it
        are compared. `first`: of a process that has just been started."""
        loaded = session.loaded
        spec = loaded.specs[loaded.timed]
        player.prime(spec)
        with session.draws.timed(loaded, number, first=first) as played:
            inputs = [draw.inputs for _, draw in played]
            took_ns, copies = player.rounds(inputs, spec, huge=session.huge)
            for (case, draw), copy in zip(played, copies, strict=True):
                self._compare(session, case, copy, draw)
        return took_ns

    def _compare(self, session: Session, case: int, copy: bytes, draw: Draw) -> None:
        """Raises WrongOutputError."""
        loaded = session.loaded
        checked = compare(loaded.cases[case].name, copy, loaded.specs[case], draw.expected)
        session.checks.append(checked)
        if not checked.passed:
            raise WrongOutputError

    def _time(self, session: Session) -> Evaluation:
        """Baseline and candidate in turns, on the same inputs; never two of them alive at once.

        A candidate that lives while the baseline runs can slow it down, so each of its blocks has a
        process of its own, which is gone before the baseline's next. No speed is told where the
        module is too quick for the clock, nor where the machine did not keep still, twice.
        """
        loaded, pace = session.loaded, self.config.pace
        self.reference.aim(loaded.problem, loaded.timed, on_device=session.device is not None)
        resolving = self._resolving(session)
        if not resolved(resolving):
            self._timed_rounds(session, range(pace.block))  # for what it does when called again
            return replace(session.decided(Verdict.CORRECT, "ok"), facts=costs(resolving))
        for _ in range(TRIES):
            parts = list[tuple[int, int]]()
            timing, drift = self._in_turns(session, parts)
            found = self._timed(session, timing, (("baseline_drift", drift), *costs(parts)))
            if steady(drift) or found.verdict is not Verdict.CORRECT:
                return found
            session.spent_s = 0.0  # the machine's fault: not at the candidate's cost
        return replace(found, timing=None)

    def _in_turns(self, session: Session, parts: list[tuple[int, int]]) -> tuple[Timing, float]:
        """Adds what the baseline's rounds consist of to `parts`."""
        # A process that replays goes on, and its device code may remember: no input comes twice.
        first = len(session.checks) if session.device else 0

        def own(numbers: range) -> range:
            return range(first + numbers.start, first + numbers.stop)

        def baseline(numbers: range) -> list[int]:
            found = self._baseline(session, own(numbers))
            parts.extend(found)
            return [sum(one) for one in found]

        def candidate(numbers: range) -> list[int]:
            return self._timed_rounds(session, own(numbers))

        def ahead(numbers: range) -> None:
            self._ahead(session, own(numbers))

        return time_in_turns(baseline, candidate, self.config.pace, ahead)

    def _ahead(self, session: Session, numbers: range) -> None:
        """Draws what some blocks need."""
        begin = numbers[:: self.config.pace.block] if session.warm else ()
        session.draws.ahead(session.loaded, numbers, begin)

    def _timed(self, session: Session, timing: Timing, facts: Facts) -> Evaluation:
        """Correct, and so fast; or faster than the roofline, which is a cheat."""
        floor = None if session.device else self._floor_ns(session.loaded, session.loaded.timed)
        facts = facts if floor is None else (*facts, ("floor_ns", floor))
        median_ns = median(timing.candidate_ns)
        if too_fast(median_ns, floor):
            facts = (*facts, ("median_ns", float(median_ns)))
            return replace(session.decided(Verdict.CHEATED, "too_fast"), facts=facts)
        return replace(session.decided(Verdict.CORRECT, "ok"), timing=timing, facts=facts)

    def _resolving(self, session: Session) -> Parts:
        """The rounds that decide whether a problem's speeds can be told: for all its answers."""
        key = (session.loaded.key, session.device is not None)
        if key not in self.resolving:
            self.resolving[key] = self._baseline(session, range(RESOLVING_ROUNDS))
        return self.resolving[key]

    def _timed_rounds(self, session: Session, numbers: Sequence[int]) -> list[int]:
        """How long each of these rounds took a process of the candidate's."""
        found: list[int] = []

        def part(player: AnyCandidate) -> None:
            for number in numbers:
                first = number == numbers[0] and session.warm
                found.append(self._timed_round(session, player, number, first=first))

        self._play(session, part)
        return found

    def _baseline(self, session: Session, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """For each of these rounds (the module's time, what a round costs besides), as this
        candidate's are timed: a device tells how long its work took, and with a native kernel goes
        what an empty round costs."""
        draws, loaded = session.draws, session.loaded
        if session.device is not None:
            return [(one, 0) for one in draws.rounds_ns(self.reference, loaded, numbers)]
        nothing = nothing_native(self.sandboxes, loaded.specs[loaded.timed])
        return draws.baseline_ns(loaded, numbers, nothing, huge=session.huge, warm=session.warm)

    def _floor_ns(self, loaded: Loaded, case: int) -> float | None:
        """The roofline of a problem's timed case (envs/referee/roofline.py), worked out once."""
        key = loaded.key
        if key not in self.floors_ns:
            self.floors_ns[key] = floor_ns(self.reference.work(loaded, case), self.target)
        return self.floors_ns[key]

    def close(self) -> None:
        self.draws.close()
        self.reference.close()
        self.sandboxes.close()
