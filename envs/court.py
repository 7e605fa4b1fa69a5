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
from envs.sandbox import sandbox_level
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
    """Interleaved baseline/candidate pairs after one unrecorded pair; each output is checked."""
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
        built = build_cpp(candidate.source, loaded.specs[0])
        if isinstance(built, Evaluation):
            return built
        return self._run(loaded, built, timed)

    def _load(self, problem: Problem) -> Loaded:
        if self.loaded is None or self.loaded.problem.key != problem.key:
            specs, tolerances = self.reference.load(to_plain(problem))
            self.loaded = Loaded(problem, specs, tolerances)
        return self.loaded

    def _run(self, loaded: Loaded, built: Built, timed: bool) -> Evaluation:
        facts = (("library_bytes", float(len(built.library))),)
        player = SandboxedCandidate(built.library, self.protocol.round_limit_s)
        checks: list[CaseCheck] = []
        log = ""
        try:
            player.ready()
            evaluation = self._check(loaded, player, checks)
            if evaluation.verdict is Verdict.CORRECT and timed:
                evaluation = self._time(loaded, player, checks)
        except CandidateFailedError as failure:
            verdict = Verdict.TIMED_OUT if failure.timed_out else Verdict.CRASHED
            evaluation = Evaluation(
                verdict=verdict,
                reason=failure.reason,
                check=Check(rounds=tuple(checks)) if checks else None,
            )
        finally:
            log = player.close()
        return replace(evaluation, facts=facts, log=built.log + log)

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

    def _time(
        self, loaded: Loaded, player: SandboxedCandidate, checks: list[CaseCheck]
    ) -> Evaluation:
        case = loaded.problem.cases.index(loaded.problem.timed_case())
        spec = loaded.specs[case]
        self.reference.aim(loaded.problem, case)
        player.prime(spec)
        baseline_ns: list[int] = []
        candidate_ns: list[int] = []

        def pair(draw: Draw, spec: CaseSpec) -> bytes:
            """Candidate and baseline on the same inputs, the other one first each time."""
            players = (player, self.reference)
            order = players if len(baseline_ns) % 2 else players[::-1]
            found = {one: one.round(draw.inputs, spec) for one in order}
            baseline_ns.append(found[self.reference][0])
            candidate_ns.append(found[player][0])
            return found[player][1]

        for _ in range(self.protocol.timed_rounds + 1):
            one = self._checked(loaded, case, pair)
            checks.append(one)
            if not one.passed:
                return _wrong(checks)
        timing = Timing(baseline_ns=tuple(baseline_ns[1:]), candidate_ns=tuple(candidate_ns[1:]))
        return replace(_correct(checks), timing=timing)

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


def _correct(checks: list[CaseCheck]) -> Evaluation:
    return Evaluation(verdict=Verdict.CORRECT, reason="ok", check=Check(rounds=tuple(checks)))


def _wrong(checks: list[CaseCheck]) -> Evaluation:
    reason = "out_of_bounds" if "outside" in checks[-1].note else "mismatch"
    return Evaluation(verdict=Verdict.WRONG, reason=reason, check=Check(rounds=tuple(checks)))
