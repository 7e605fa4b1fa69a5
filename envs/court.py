"""One candidate, start to finish: build, check, time. The only place that gives a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import median

from envs.abi import UnsupportedDtypeError
from envs.build import Built, build_cpp
from envs.draws import Draws, Loaded, ReferenceFailedError, ReferenceProcess
from envs.referee import CandidateFailedError, SandboxedCandidate, compare
from envs.roofline import floor_ns, too_fast
from envs.sandbox import Zygote, sandbox_level
from envs.stopwatch import Pace, time_in_turns
from envs.types import (
    Candidate,
    CaseCheck,
    Check,
    Dialect,
    Evaluation,
    Problem,
    Target,
    Verdict,
    content_hash,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How long and how often. Times are wall-clock seconds."""

    check_rounds: int = 5
    """At least this many checked rounds, spread over all cases."""
    pace: Pace = field(default_factory=Pace)
    round_limit_s: float = 5.0


class WrongOutputError(Exception):
    """An output that was compared and is not right. A fact about the candidate."""


@dataclass(slots=True)
class Trial:
    """One candidate before the court: what it is, and what was seen of it so far."""

    loaded: Loaded
    built: Built
    draws: Draws
    checks: list[CaseCheck]
    log: str

    def decided(self, verdict: Verdict, reason: str) -> Evaluation:
        check = Check(rounds=tuple(self.checks)) if self.checks else None
        binary = content_hash(self.built.library.hex())
        return Evaluation(verdict=verdict, reason=reason, check=check, binary=binary, log=self.log)


class Court:
    """Judges candidates one after another, with one reference process. Not thread-safe."""

    def __init__(self, protocol: Protocol, target: Target) -> None:
        self.protocol = protocol
        self.target = target
        self.reference = ReferenceProcess()
        self.zygote = Zygote()
        self.loaded: Loaded | None = None
        self.draws = Draws(self.reference, 0)
        self.floors_ns: dict[str, float | None] = {}

    def judge(
        self, problem: Problem, candidate: Candidate, *, timed: bool, seed: int
    ) -> Evaluation:
        """The evaluation of this candidate; `unjudged` where the problem itself cannot be run.

        `seed` decides all inputs, and is secret until the candidates of its batch are judged.
        """
        started = time.perf_counter()
        try:
            evaluation = self._judge(problem, candidate, timed, seed)
        except (ReferenceFailedError, UnsupportedDtypeError) as error:
            evaluation = Evaluation(
                verdict=Verdict.UNJUDGED, reason="reference_failed", log=str(error)
            )
        return replace(
            evaluation,
            sandbox_level=sandbox_level(),
            environment=self.target.name,
            seed=seed,
            seconds=round(time.perf_counter() - started, 4),
        )

    def _judge(self, problem: Problem, candidate: Candidate, timed: bool, seed: int) -> Evaluation:
        if candidate.dialect is not Dialect.CPP:
            note = f"dialect {candidate.dialect} cannot be judged on this machine yet"
            return Evaluation(verdict=Verdict.UNJUDGED, reason="dialect_unavailable", log=note)
        if not candidate.source.strip():
            return Evaluation(verdict=Verdict.NO_KERNEL, reason="empty_source")
        loaded = self._load(problem)
        built = build_cpp(candidate.source, loaded.specs[0], self.zygote)
        if isinstance(built, Evaluation):
            return built
        trial = Trial(loaded, built, self._draws(seed), [], built.log)
        evaluation = self._run(trial, timed)
        facts = (*evaluation.facts, ("library_bytes", float(len(built.library))))
        return replace(evaluation, facts=facts)

    def _load(self, problem: Problem) -> Loaded:
        if self.loaded is None or self.loaded.problem.key != problem.key:
            self.draws.close()
            self.loaded = self.reference.load(problem)
        return self.loaded

    def _draws(self, seed: int) -> Draws:
        if self.draws.seed != seed:
            self.draws.close()
            self.draws = Draws(self.reference, seed)
        return self.draws

    def _run(self, trial: Trial, timed: bool) -> Evaluation:
        try:
            self._play(trial, lambda player: self._check(trial, player))
            if not timed:
                return trial.decided(Verdict.CORRECT, "ok")
            return self._time(trial)
        except CandidateFailedError as failure:
            verdict = Verdict.TIMED_OUT if failure.timed_out else Verdict.CRASHED
            return trial.decided(verdict, failure.reason)
        except WrongOutputError:
            outside = "outside" in trial.checks[-1].note
            return trial.decided(Verdict.WRONG, "out_of_bounds" if outside else "mismatch")

    def _play(self, trial: Trial, part: Callable[[SandboxedCandidate], None]) -> None:
        """Plays a part with a fresh process of the candidate, which is gone afterwards."""
        player = SandboxedCandidate(trial.built.library, self.protocol.round_limit_s, self.zygote)
        try:
            player.ready()
            part(player)
        finally:
            trial.log = trial.built.log + player.close()

    def _check(self, trial: Trial, player: SandboxedCandidate) -> None:
        """Rounds over all cases in turn; raises at the first output that is not right."""
        cases = len(trial.loaded.problem.cases)
        for number in range(max(self.protocol.check_rounds, cases)):
            self._round(trial, player, number % cases, number // cases)

    def _round(self, trial: Trial, player: SandboxedCandidate, case: int, number: int) -> int:
        """How long one round took, in nanoseconds; its outputs are compared."""
        spec = trial.loaded.specs[case]
        player.prime(spec)
        with trial.draws.of(trial.loaded, case, number) as draw:
            duration_ns, copy = player.round(draw.inputs, spec)
            name = trial.loaded.problem.cases[case].name
            trial.checks.append(compare(name, copy, spec, draw.expected))
        if not trial.checks[-1].passed:
            raise WrongOutputError
        return duration_ns

    def _time(self, trial: Trial) -> Evaluation:
        """Baseline and candidate in turns, on the same inputs; never two of them alive at once.

        A candidate that lives while the baseline runs can slow it down, so each of its blocks has a
        process of its own, which is gone before the baseline's next.
        """
        problem = trial.loaded.problem
        case = problem.cases.index(problem.timed_case())
        spec = trial.loaded.specs[case]
        self.reference.aim(problem, case)

        def baseline(numbers: range) -> list[int]:
            found = []
            for number in numbers:
                with trial.draws.of(trial.loaded, case, number) as draw:
                    found.append(self.reference.round(draw.inputs, spec)[0])
            return found

        def candidate(numbers: range) -> list[int]:
            found: list[int] = []

            def part(player: SandboxedCandidate) -> None:
                found.extend(self._round(trial, player, case, number) for number in numbers)

            self._play(trial, part)
            return found

        timing, drift = time_in_turns(baseline, candidate, self.protocol.pace)
        floor = self._floor_ns(trial.loaded, case)
        known = () if floor is None else (("floor_ns", floor),)
        facts = (("baseline_drift", drift), *known)
        median_ns = median(timing.candidate_ns)
        if too_fast(median_ns, floor):
            facts = (*facts, ("median_ns", float(median_ns)))
            return replace(trial.decided(Verdict.CHEATED, "too_fast"), facts=facts)
        return replace(trial.decided(Verdict.CORRECT, "ok"), timing=timing, facts=facts)

    def _floor_ns(self, loaded: Loaded, case: int) -> float | None:
        """The roofline of a problem's timed case (envs/roofline.py), worked out once."""
        key = loaded.problem.key
        if key not in self.floors_ns:
            self.floors_ns[key] = floor_ns(self.reference.work(loaded, case), self.target)
        return self.floors_ns[key]

    def close(self) -> None:
        self.draws.close()
        self.reference.close()
        self.zygote.close()
