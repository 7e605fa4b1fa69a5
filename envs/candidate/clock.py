"""Times a correct candidate and the PyTorch module in alternating blocks; no timing where the noise
hides it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

from kernelwright.envs.candidate.process import Place, nothing_native, place_of
from kernelwright.envs.candidate.session import Session
from kernelwright.envs.plan.counters import Facts
from kernelwright.envs.referee.resolution import (
    GRAPHS,
    RESOLVING_ROUNDS,
    TRIES,
    Parts,
    costs,
    resolved,
    steady,
)
from kernelwright.envs.referee.roofline import Work, floors_ns, too_fast
from kernelwright.envs.referee.timing import Pace, time_in_turns
from kernelwright.envs.reference.client import Loaded, ReferenceProcess
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.system.nvml import Reading, facts_of, meter_of
from kernelwright.envs.types import Evaluation, Precision, Target, Timing, Verdict

Play = Callable[[Session, Sequence[int]], list[int]]
"""Plays these rounds of the timed case with a process of the candidate's, outputs compared → how
long each took, in nanoseconds."""

Key = tuple[str, bool, bool, Place]
"""Of a problem's timings: its key, whether on its views, whether on a device, and where."""


class Clock:
    """Times candidates one after another, beside one reference process. Not thread-safe."""

    def __init__(
        self,
        reference: ReferenceProcess,
        sandboxes: Sandboxes,
        target: Target,
        pace: Pace,
        device_target: Callable[[], Target],
    ) -> None:
        self.reference = reference
        self.sandboxes = sandboxes
        self.target = target
        self.pace = pace
        self.device_target = device_target
        self.works: dict[tuple[str, Precision], Work] = {}
        """Problem, and how exact its answers are → the least that its timed case takes."""
        self.resolving: dict[Key, Parts] = {}
        """The rounds that decide whether speeds can be told."""
        self.records: dict[Key, bool] = {}
        """On a device: whether what the module launches can be recorded as a CUDA graph."""

    def look(self, session: Session) -> Parts:
        """The rounds that decide whether a problem's speeds can be told: for all its answers.

        To be called before the first process of one: what that leaves behind could make the
        module's rounds slow, and the decision holds for others too.
        """
        loaded, on_device = session.loaded, session.device is not None
        self.reference.aim(loaded.problem, loaded.timed, on_device=on_device, views=loaded.views)
        key = _key(session)
        if key not in self.resolving:
            if on_device:
                self._ahead(session, range(RESOLVING_ROUNDS))
                self.records[key] = self._records(session)
                self._same_way(session)
            self.resolving[key] = self._baseline(session, range(RESOLVING_ROUNDS))
        return self.resolving[key]

    def _records(self, session: Session) -> bool:
        """Whether what the module launches can be recorded, by a round of it."""
        self.reference.time_by(graphs=None)
        list(session.draws.rounds_ns(self.reference, session.loaded, [0]))
        return self.reference.by_graphs()

    def _same_way(self, session: Session) -> Facts:
        """Has rounds of both sides, and empty steps, launched as CUDA graphs on a device; each
        kernel by itself where one of the two cannot be recorded. A fact says which."""
        if session.device is None:
            return ()
        graphs = session.device.time_by(graphs=self.records[_key(session)])
        self.reference.time_by(graphs=graphs)
        return ((GRAPHS, float(graphs)),)

    def time(self, session: Session, resolving: Parts, play: Play) -> Evaluation:
        """Baseline and candidate in turns, on the same inputs; never two of them alive at once.

        A candidate that lives while the baseline runs can slow it down, so each of its blocks has a
        process of its own, which is gone before the baseline's next. No speed is told where the
        module is too quick for the clock (`resolving`: what `look` saw), nor where the machine did
        not keep still, twice.
        """
        if not resolved(resolving):
            play(session, range(self.pace.block))  # for what it does when called again
            return replace(session.decided(Verdict.CORRECT, "ok"), facts=costs(resolving))
        if session.device is not None:
            session.device.prime(session.loaded.specs[session.loaded.timed])
        way = self._same_way(session)
        for _ in range(TRIES):
            parts, readings = list[tuple[int, int]](), list[Reading]()
            timing, drift = self._in_turns(session, play, parts, readings)
            facts = (("baseline_drift", drift), *costs(parts), *way, *facts_of(readings))
            found = self._timed(session, timing, facts)
            if steady(drift) or found.verdict is not Verdict.CORRECT:
                return found
            session.spent_s = 0.0  # the machine's fault: not at the candidate's cost
        return replace(found, timing=None)

    def _in_turns(
        self,
        session: Session,
        play: Play,
        parts: list[tuple[int, int]],
        readings: list[Reading],
    ) -> tuple[Timing, float]:
        """Adds what the baseline's rounds consist of to `parts`, and what was read of a GPU when
        each block or round of it had just ended to `readings`."""
        # A process that replays goes on, and its device code may remember: no input comes twice.
        first = len(session.checks) if session.device else 0

        def own(numbers: range) -> range:
            return range(first + numbers.start, first + numbers.stop)

        def read() -> None:
            if session.device is not None:
                readings.append(meter_of(session.device.gpu).read())

        def baseline(numbers: range) -> list[int]:
            found = self._baseline(session, own(numbers))
            read()
            parts.extend(found)
            return [sum(one) for one in found]

        def candidate(numbers: range) -> list[int]:
            return play(session, own(numbers))

        def ahead(numbers: range) -> None:
            self._ahead(session, own(numbers))

        if session.device is not None:
            session.device.after_round = read
        return time_in_turns(baseline, candidate, self.pace, ahead, session.now_s)

    def _ahead(self, session: Session, numbers: range) -> None:
        """Draws the inputs of some blocks in advance, for which no GPU has to be held."""
        begin = numbers[:: self.pace.block] if session.warm else ()
        if session.device is not None:
            self.reference.release()  # who uses the GPU meanwhile needs its memory
        with session.unlocked():
            session.draws.ahead(session.loaded, numbers, begin)

    def _timed(self, session: Session, timing: Timing, facts: Facts) -> Evaluation:
        """`correct` with its timing; `cheated` if it is faster than the roofline allows."""
        target = self.device_target() if session.device else self.target
        floors = floors_ns(self.work(session.loaded), target)
        floor = max(floors.values(), default=None)
        if floor is not None:
            named = ((f"{limit}_floor_ns", takes) for limit, takes in floors.items())
            facts = (*facts, ("floor_ns", floor), *named)
        median_ns = median(timing.candidate_ns)
        if too_fast(median_ns, floor):
            facts = (*facts, ("median_ns", float(median_ns)))
            return replace(session.decided(Verdict.CHEATED, "too_fast"), facts=facts)
        return replace(session.decided(Verdict.CORRECT, "ok"), timing=timing, facts=facts)

    def _baseline(self, session: Session, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """(the module's time, the cost of an empty round) for each of these rounds.

        Their sum is the baseline's time, so both sides carry the same cost. On a device the cost is
        an empty step's, measured right after each of the module's rounds by the candidate's process
        and clock; `DeviceClock` subtracts the cost of its own marks from the module's time.
        """
        draws, loaded, device = session.draws, session.loaded, session.device
        if device is not None:
            module_ns = draws.rounds_ns(self.reference, loaded, numbers)
            return [(one, device.empty_ns()) for one in module_ns]
        spec = loaded.specs[loaded.timed]
        nothing = nothing_native(self.sandboxes, place_of(session.built), spec)
        return draws.baseline_ns(loaded, numbers, nothing, huge=session.huge, warm=session.warm)

    def work(self, loaded: Loaded) -> Work:
        """The least that a problem's timed case takes, worked out once. On a core, for which a GPU
        need not be held."""
        place = (loaded.key, loaded.precision)
        if place not in self.works:
            self.works[place] = self.reference.work(loaded, loaded.timed)
        return self.works[place]


def _key(session: Session) -> Key:
    loaded = session.loaded
    return loaded.key, loaded.views, session.device is not None, place_of(session.built)
