"""Evaluates one candidate: builds it, checks its outputs, times it (`clock.py`), and gives the
verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from kernelwright.envs.abi import CaseSpec, UnsupportedDtypeError, smallest
from kernelwright.envs.candidate.clock import Clock
from kernelwright.envs.candidate.process import SandboxedCandidate
from kernelwright.envs.candidate.session import Session, WrongOutputError
from kernelwright.envs.candidate.tuning import Limits, tuned
from kernelwright.envs.candidate.watched import Watched, looked_at
from kernelwright.envs.device.client import GpuCandidate
from kernelwright.envs.device.memory import DeviceFullError, MemoryWait
from kernelwright.envs.device.messages import Messages
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.dialects.base import MODULE, Built, failed
from kernelwright.envs.plan.counters import split_counters
from kernelwright.envs.plan.plan import GpuReplay
from kernelwright.envs.referee.exit_codes import SEEN_ON_A_CPU
from kernelwright.envs.referee.rounds import CandidateFailedError, compare
from kernelwright.envs.referee.timing import Pace
from kernelwright.envs.reference.client import (
    Draw,
    Loaded,
    ReferenceFailedError,
    ReferenceProcess,
)
from kernelwright.envs.reference.draws import Draws
from kernelwright.envs.reference.settings import is_group
from kernelwright.envs.sandbox.levels import sandbox_level
from kernelwright.envs.sandbox.limits import RUN_LIMITS
from kernelwright.envs.sandbox.patience import look_again, patience
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.system.hardware import Gpu
from kernelwright.envs.system.locks import exclusive
from kernelwright.envs.system.tools import Tool
from kernelwright.envs.types import (
    Candidate,
    Evaluation,
    Precision,
    Problem,
    Target,
    Verdict,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingConfig:
    """Numbers of rounds and time limits of an evaluation. Times are wall-clock seconds."""

    check_rounds: int = 5
    """At least this many checked rounds, spread over all cases."""
    pace: Pace = field(default_factory=Pace)
    round_limit_s: float = 5.0
    candidate_limit_s: float = 100.0
    """Of all of a candidate's processes together: a slow start or slow rounds add up."""


EMULATED_TAKES = 4
"""Factor on a round's time limit where device code is translated."""

OUT_OF_TIME = ("wall_limit", "candidate_limit", "compile_timeout")
"""Reasons that a machine which is slow now may have brought about."""

FAILED = (Verdict.WRONG, Verdict.CRASHED, Verdict.TIMED_OUT)
"""Verdicts of one configuration of an answer that another need not have."""

TF32 = "tf32"
"""A fact of what ran on a GPU: 1 where float32 might be multiplied in TF32 there, else 0."""

AnyCandidate = SandboxedCandidate | GpuCandidate


def no_peaks(gpu: Gpu) -> Target:
    """Of a GPU that nobody has measured."""
    return Target(name=gpu.environment)


class Evaluator:
    """Judges candidates one after another, with one reference process. Not thread-safe.

    With a GPU, dialects that launch kernels are replayed on it: in this precision, and with the
    peaks that `device_target` measures there, while nobody else uses it. `tools` look at what is
    timed.
    """

    def __init__(
        self,
        config: JudgingConfig,
        target: Target,
        gpu: Gpu | None = None,
        precision: Precision = Precision.IEEE,
        device_target: Callable[[Gpu], Target] = no_peaks,
        tools: Sequence[Tool] = (),
    ) -> None:
        look_again()
        self.config, self.target, self.gpu = config, target, gpu
        self.precision, self.tools = precision, tools
        self.reference = ReferenceProcess(gpu)
        self.sandboxes = Sandboxes()
        self.memory = MemoryWait()
        self.loaded: Loaded | None = None
        self.draws = Draws(self.reference, 0)
        peaks = partial(device_target, gpu) if gpu else partial(Target, name="no GPU")
        self.clock = Clock(self.reference, self.sandboxes, target, config.pace, peaks)

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
        except DeviceFullError as error:
            evaluation = Evaluation(verdict=Verdict.UNJUDGED, reason="device_full", log=str(error))
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
        precision = self.precision if self.gpu else Precision.IEEE
        loaded = self.memory.run(lambda: self._load(problem, precision))
        dialect = DIALECTS[candidate.dialect]
        if dialect.entry != MODULE:
            loaded = loaded.contiguous()
            groups = any(map(is_group, problem.cases))
            if groups and len({dialect.form(one) for one in loaded.specs}) > 1:
                return Evaluation(verdict=Verdict.UNJUDGED, reason="cases_differ")
        built = dialect.build(candidate, loaded.specs, self.sandboxes)
        if isinstance(built, Evaluation):
            return built
        if sum(len(content) for _, content in built.files) > RUN_LIMITS.file_bytes:
            limit = f"what was built has more than {RUN_LIMITS.file_bytes >> 20} MB\n"
            return failed("output_too_large", built.log + limit)
        key = candidate.key
        evaluation = self._seen_here(key, loaded, built, seed)
        if evaluation is None and timed:
            built, evaluation = self._tuned(key, loaded, built, seed)
        evaluation = evaluation or self._played(key, loaded, built, seed, timed=timed)
        if evaluation.verdict is Verdict.CORRECT and self._needs_no_kernel(
            key, loaded, built, seed
        ):
            evaluation = replace(
                evaluation, verdict=Verdict.CHEATED, reason="idle_kernel", timing=None
            )
        evaluation = replace(evaluation, facts=(*built.facts, *evaluation.facts))
        return self._looked_at(evaluation, loaded, built, seed) if timed else evaluation

    def _looked_at(self, found: Evaluation, loaded: Loaded, built: Built, seed: int) -> Evaluation:
        """The same with what tools say of it on the GPU, where there are any to ask."""
        if self.gpu is None or not self.tools:
            return found
        known, draws = self._again(loaded, self.precision), self._draws(seed)
        answer = Watched(built.on_device, known, draws, self.gpu, self.sandboxes)
        return looked_at(found, answer, self.tools)

    def _seen_here(self, key: str, loaded: Loaded, built: Built, seed: int) -> Evaluation | None:
        """The verdict on what a CPU sees and a GPU would let pass, in the smallest case of an
        answer for the GPU. None where there is nothing, or a CPU cannot tell."""
        here = built.on_cpu() if built.on_cpu else None
        if here is None or isinstance(here, Evaluation):
            return None
        session = Session(key, loaded, here, self._draws(seed), [], built.log)
        session.only, session.hasty = smallest(loaded.specs), True
        found = self._run(session, timed=False)
        return found if found.reason in SEEN_ON_A_CPU else None

    def _tuned(
        self, key: str, loaded: Loaded, built: Built, seed: int
    ) -> tuple[Built, Evaluation | None]:
        """The answer in the configuration that is fastest on the GPU, with its evaluation; and the
        first without one where that is as fast, or the fastest fails in some case."""
        gpu, limits = self.gpu, Limits(self.config.round_limit_s, self.config.candidate_limit_s)
        if gpu is None:
            return built, None
        best = tuned(built, loaded, self._draws(seed), gpu, self.sandboxes, limits)
        if best.on_device is built.on_device:
            return best, None
        evaluation = self._seen_here(key, loaded, best, seed)
        evaluation = evaluation or self._played(key, loaded, best, seed, timed=True)
        return (built, None) if evaluation.verdict in FAILED else (best, evaluation)

    def _played(
        self,
        key: str,
        loaded: Loaded,
        built: Built,
        seed: int,
        *,
        timed: bool,
        only: int | None = None,
    ) -> Evaluation:
        """The evaluation of what was built: on the GPU, or in a process of its own, where float32
        is IEEE's. `only`: on this case alone."""
        return self.memory.run(lambda: self._played_once(key, loaded, built, seed, timed, only))

    def _played_once(
        self, key: str, loaded: Loaded, built: Built, seed: int, timed: bool, only: int | None
    ) -> Evaluation:
        gpu = self.gpu if built.on_device else None
        loaded = self._again(loaded, self.precision if gpu else Precision.IEEE)
        session = Session(key, loaded, built, self._draws(seed), [], built.log)
        session.only = only
        if built.on_device and gpu:
            return self._replay(session, built.on_device, gpu, timed)
        if not built.playable:
            log = f"{built.log}it builds; nothing on this machine can run it\n"
            return failed("built_only", log, Verdict.UNJUDGED)
        return self._run(session, timed and built.timed)

    def _needs_no_kernel(self, key: str, loaded: Loaded, built: Built, seed: int) -> bool:
        """Whether it is as right without what the answer wrote itself, where it is timed: what it
        computes in other cases is not what has a speed."""
        rest = built.without() if built.without else None
        if rest is None or isinstance(rest, Evaluation):
            return False
        played = self._played(key, loaded, rest, seed, timed=False, only=loaded.timed)
        return played.verdict is Verdict.CORRECT

    def _load(self, problem: Problem, precision: Precision) -> Loaded:
        known = self.loaded
        if known is None or (known.key, known.precision) != (problem.key, precision):
            self.draws.close()
            self.loaded = None  # the reference process forgets it, even where the next one fails
            known = self.loaded = self.reference.load(problem, precision)
        return known

    def _again(self, loaded: Loaded, precision: Precision) -> Loaded:
        """The same problem in this precision: another may have been loaded meanwhile."""
        known = self._load(loaded.problem, precision)
        return known if loaded.views else known.contiguous()

    def _draws(self, seed: int) -> Draws:
        if self.draws.seed != seed:
            self.draws.close()
            self.draws = Draws(self.reference, seed)
        return self.draws

    def _run(self, session: Session, timed: bool) -> Evaluation:
        try:
            resolving = self.clock.look(session) if timed else None
            self._play(session, lambda player: self._check(session, player))
            session.warm = session.is_quick
            if resolving is None:
                return session.decided(Verdict.CORRECT, "ok")
            return self.clock.time(session, resolving, self._timed_rounds)
        except CandidateFailedError as failure:
            return session.decided(failure.verdict, failure.reason)
        except WrongOutputError:
            return session.decided(Verdict.WRONG, session.why_wrong)

    def _replay(self, session: Session, on_device: GpuReplay, gpu: Gpu, timed: bool) -> Evaluation:
        """The same on a GPU, which is ours alone but for when inputs are drawn. The
        process that replays is trusted and idle between rounds, so one of them plays every part."""
        if timed:
            self.clock.work(session.loaded)
        messages = Messages(on_device, gpu, self.sandboxes)
        messages.prepare(session.loaded.specs[case] for case in session.cases)
        common = ((case, number) for case, number in self._rounds(session) if number is not None)
        session.draws.keep(session.loaded, common)
        with exclusive(gpu.uuid) as session.lock:
            device = session.device = GpuCandidate(messages, self.config.round_limit_s)
            try:
                device.ready()
                evaluation = self._run(session, timed)
            finally:
                log = device.close()
                if timed:
                    self.reference.release()
            facts = (*evaluation.facts, (TF32, float(self.precision is Precision.TF32)))
            return replace(evaluation, log=session.built.log + log, facts=facts)

    def _play(self, session: Session, part: Callable[[AnyCandidate], None]) -> None:
        """Plays a part with a fresh process of the candidate, which is gone afterwards; on a GPU
        with the one that replays. There only the GPU's time is the candidate's."""
        if session.device is not None:
            before_ns = session.device.spent_ns
            part(session.device)
            session.spent_s += (session.device.spent_ns - before_ns) / 1e9
        else:
            self._play_sandboxed(session, part)
        if session.spent_s > self.config.candidate_limit_s * patience():
            raise CandidateFailedError("candidate_limit", Verdict.TIMED_OUT)

    def _play_sandboxed(self, session: Session, part: Callable[[AnyCandidate], None]) -> None:
        takes = EMULATED_TAKES if session.built.emulated and not session.hasty else 1
        limit_s = self.config.round_limit_s * takes
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

    def _check(self, session: Session, player: AnyCandidate) -> None:
        """Rounds over all cases in turn; raises at the first output that is not right. Where an
        answer's first call is not its second, there is a second one right after it."""
        seen = set[CaseSpec]()
        for case, number in self._rounds(session):
            self._round(session, player, case, number)
            spec = session.loaded.specs[case]
            if spec not in seen and player.remembers(spec):
                self._round(session, player, case, "second call")
            seen.add(spec)

    def _rounds(self, session: Session) -> list[tuple[int, int | None]]:
        """(case, number) of each checked round.

        One more, of the timed case (or the only one) and at a place that nobody can foresee, has
        inputs that no other candidate of the batch gets: whoever has another's answers by heart is
        wrong there.
        """
        cases = session.cases
        count = 1 if session.hasty else max(self.config.check_rounds, len(cases))
        places = (divmod(number, len(cases)) for number in range(count))
        rounds: list[tuple[int, int | None]] = [(cases[case], again) for again, case in places]
        own = session.loaded.timed if session.only is None else session.only
        rounds.insert(session.draws.seed % (count + 1), (own, None))
        return rounds

    def _round(
        self, session: Session, player: AnyCandidate, case: int, number: int | str | None
    ) -> None:
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
        name, spec = loaded.cases[case].name, loaded.specs[case]
        asked = draw.rankings, draw.losses
        checked = compare(name, copy, spec, draw.expected, session.pool, *asked)
        session.checks.append(checked)
        if not checked.passed:
            raise WrongOutputError

    def _timed_rounds(self, session: Session, numbers: Sequence[int]) -> list[int]:
        """How long each of these rounds took a process of the candidate's."""
        found: list[int] = []

        def part(player: AnyCandidate) -> None:
            for number in numbers:
                first = number == numbers[0] and session.warm
                found.append(self._timed_round(session, player, number, first=first))

        self._play(session, part)
        return found

    def close(self) -> None:
        self.draws.close()
        self.reference.close()
        self.sandboxes.close()
