"""One candidate, start to finish: build, check, time. The only place that gives a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from envs.abi import CaseSpec, UnsupportedDtypeError
from envs.build import Built, build_cpp
from envs.referee import (
    CandidateFailedError,
    Draw,
    ReferenceFailedError,
    ReferenceProcess,
    SandboxedCandidate,
    compare,
)
from envs.sandbox import Zygote, sandbox_level
from envs.types import (
    Candidate,
    CaseCheck,
    Check,
    Dialect,
    Evaluation,
    Problem,
    Timing,
    Tolerance,
    Verdict,
)
from envs.wire import to_plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How long and how often. Rounds are counted, times are wall-clock seconds."""

    check_rounds: int = 5
    """At least this many checked rounds, spread over all cases."""
    timed_rounds: int = 7
    """Rounds of baseline and of candidate after an unrecorded one; each output is checked."""
    round_limit_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Loaded:
    """A problem as the reference process knows it."""

    problem: Problem
    specs: list[CaseSpec]
    tolerances: list[Tolerance]


class Court:
    """Judges candidates one after another, with one reference process. Not thread-safe."""

    def __init__(self, protocol: Protocol, environment: str) -> None:
        self.protocol = protocol
        self.environment = environment
        self.reference = ReferenceProcess()
        self.zygote = Zygote()
        self.loaded: Loaded | None = None

    def judge(self, problem: Problem, candidate: Candidate, *, timed: bool) -> Evaluation:
        """The evaluation of this candidate; `unjudged` where the problem itself cannot be run."""
        started = time.perf_counter()
        try:
            evaluation = self._judge(problem, candidate, timed)
        except (ReferenceFailedError, UnsupportedDtypeError) as error:
            evaluation = Evaluation(
                verdict=Verdict.UNJUDGED, reason="reference_failed", log=str(error)
            )
        return replace(
            evaluation,
            sandbox_level=sandbox_level(),
            environment=self.environment,
            seconds=round(time.perf_counter() - started, 4),
        )

    def _judge(self, problem: Problem, candidate: Candidate, timed: bool) -> Evaluation:
        if candidate.dialect is not Dialect.CPP:
            note = f"dialect {candidate.dialect} cannot be judged on this machine yet"
            return Evaluation(verdict=Verdict.UNJUDGED, reason="dialect_unavailable", log=note)
        if not candidate.source.strip():
            return Evaluation(verdict=Verdict.NO_KERNEL, reason="empty_source")
        loaded = self._load(problem)
        built = build_cpp(candidate.source, loaded.specs[0], self.zygote)
        if isinstance(built, Evaluation):
            return built
        return self._run(loaded, built, timed)

    def _load(self, problem: Problem) -> Loaded:
        if self.loaded is None or self.loaded.problem.key != problem.key:
            specs, tolerances = self.reference.load(to_plain(problem))
            self.loaded = Loaded(problem, specs, tolerances)
        return self.loaded

    def _run(self, loaded: Loaded, built: Built, timed: bool) -> Evaluation:
        """Checks in one process of the candidate's, and times in another."""
        evaluation = self._play(loaded, built, self._check)
        if evaluation.verdict is Verdict.CORRECT and timed:
            evaluation = self._time(loaded, built, evaluation)
        return replace(evaluation, facts=(("library_bytes", float(len(built.library))),))

    def _play(
        self,
        loaded: Loaded,
        built: Built,
        part: Callable[[Loaded, SandboxedCandidate, list[CaseCheck]], Evaluation],
    ) -> Evaluation:
        """What `part` finds with a fresh process of the candidate, which is gone afterwards."""
        player = SandboxedCandidate(built.library, self.protocol.round_limit_s, self.zygote)
        checks: list[CaseCheck] = []
        try:
            player.ready()
            evaluation = part(loaded, player, checks)
        except CandidateFailedError as failure:
            evaluation = Evaluation(
                verdict=Verdict.TIMED_OUT if failure.timed_out else Verdict.CRASHED,
                reason=failure.reason,
                check=Check(rounds=tuple(checks)) if checks else None,
            )
        finally:
            log = player.close()
        return replace(evaluation, log=built.log + log)

    def _check(
        self, loaded: Loaded, player: SandboxedCandidate, checks: list[CaseCheck]
    ) -> Evaluation:
        cases = loaded.problem.cases
        for number in range(max(self.protocol.check_rounds, len(cases))):
            case = number % len(cases)
            player.prime(loaded.specs[case])
            one = self._checked(loaded, case, lambda draw, spec: player.round(draw.inputs, spec)[1])
            checks.append(one)
            if not one.passed:
                return _wrong(checks)
        return _correct(checks)

    def _time(self, loaded: Loaded, built: Built, checked: Evaluation) -> Evaluation:
        """Half of the baseline's rounds, the candidate's, the other half: never two at once.

        A candidate that lives while the baseline runs can slow it down. So the baseline is timed
        before the candidate's process is started and after it is gone; drift falls on both halves.
        """
        case = loaded.problem.cases.index(loaded.problem.timed_case())
        rounds = self.protocol.timed_rounds
        self.reference.aim(loaded.problem, case)
        candidate_ns: list[int] = []

        def measure(
            loaded: Loaded, player: SandboxedCandidate, checks: list[CaseCheck]
        ) -> Evaluation:
            player.prime(loaded.specs[case])

            def run(draw: Draw, spec: CaseSpec) -> bytes:
                ns, copy = player.round(draw.inputs, spec)
                candidate_ns.append(ns)
                return copy

            for _ in range(rounds + 1):
                checks.append(self._checked(loaded, case, run))
                if not checks[-1].passed:
                    return _wrong(checks)
            return _correct(checks)

        before = self._baseline_ns(loaded, case, rounds - rounds // 2)
        evaluation = self._play(loaded, built, measure)
        if evaluation.verdict is not Verdict.CORRECT or not checked.check or not evaluation.check:
            return evaluation
        after = self._baseline_ns(loaded, case, rounds // 2)
        return replace(
            evaluation,
            check=Check(rounds=checked.check.rounds + evaluation.check.rounds),
            timing=Timing(baseline_ns=(*before, *after), candidate_ns=tuple(candidate_ns[1:])),
        )

    def _baseline_ns(self, loaded: Loaded, case: int, rounds: int) -> list[int]:
        """Durations of the baseline on fresh inputs, after one round that does not count."""
        found = []
        for _ in range(rounds + 1):
            draw = self.reference.draw(loaded.problem, case, loaded.specs[case])
            try:
                found.append(self.reference.round(draw.inputs, loaded.specs[case])[0])
            finally:
                draw.close()
        return found[1:]

    def _checked(
        self, loaded: Loaded, case: int, run: Callable[[Draw, CaseSpec], bytes]
    ) -> CaseCheck:
        """Draws inputs, lets `run` produce the outputs, and compares them."""
        spec, name = loaded.specs[case], loaded.problem.cases[case].name
        draw = self.reference.draw(loaded.problem, case, spec)
        try:
            copy = run(draw, spec)
        finally:
            draw.close()
        return compare(name, copy, spec, draw.expected, loaded.tolerances[case])

    def close(self) -> None:
        self.reference.close()
        self.zygote.close()


def _correct(checks: list[CaseCheck]) -> Evaluation:
    return Evaluation(verdict=Verdict.CORRECT, reason="ok", check=Check(rounds=tuple(checks)))


def _wrong(checks: list[CaseCheck]) -> Evaluation:
    reason = "out_of_bounds" if "outside" in checks[-1].note else "mismatch"
    return Evaluation(verdict=Verdict.WRONG, reason=reason, check=Check(rounds=tuple(checks)))
