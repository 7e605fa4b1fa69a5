"""Chooses a configuration of an answer's autotuned kernels on a GPU, as its autotuner would:
the one that is fastest on the timed case, of those that are right there."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from statistics import median

from kernelwright.envs.device.client import GpuCandidate
from kernelwright.envs.device.memory import DeviceFullError
from kernelwright.envs.device.messages import Messages
from kernelwright.envs.dialects.base import Built
from kernelwright.envs.dialects.planned import weighed, with_a_look
from kernelwright.envs.plan.plan import GpuReplay, Plan
from kernelwright.envs.referee.bulk import Pool
from kernelwright.envs.referee.rounds import CandidateFailedError, compare
from kernelwright.envs.reference.client import Draw, Loaded
from kernelwright.envs.reference.draws import Draws
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.system.hardware import Gpu
from kernelwright.envs.system.locks import exclusive

ROUNDS = 3
CHOSEN, CONFIGURATIONS = "configuration", "configurations"
"""Facts of an answer with autotuned kernels that was timed on a GPU: which it has, and of how
many that were tried."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of a round, and of all configurations together, in seconds."""

    round_s: float
    all_s: float


def tuned(
    built: Built, loaded: Loaded, draws: Draws, gpu: Gpu, sandboxes: Sandboxes, limits: Limits
) -> Built:
    """The same answer with the configuration that this GPU is fastest with; itself where that is
    the first. Once all have taken too long the rest are not tried. Raises DeviceLostError."""
    first = built.on_device
    replays = [first, *first.others(gpu.architecture)] if first else []
    if len(replays) < 2:
        return built
    messages = [Messages(one, gpu, sandboxes) for one in replays]
    for one in messages:
        one.prepare([loaded.specs[loaded.timed]])
    with ExitStack() as ended:
        rounds = (draws.of(loaded, loaded.timed, number) for number in range(ROUNDS))
        drawn = [ended.enter_context(one) for one in rounds]
        ended.enter_context(exclusive(gpu.uuid))
        ends, took_ns = time.monotonic() + limits.all_s, list[float]()
        for one in messages:
            if not took_ns or time.monotonic() < ends:
                took_ns.append(_took_ns(one, loaded, drawn, limits.round_s))
    if len(took_ns) < len(messages):
        tried = f"{len(took_ns)} of {len(messages)} configurations were tried"
        built = replace(built, log=f"{built.log}{tried} in {limits.all_s:g} s\n")
    best = took_ns.index(min(took_ns))
    facts = ((CONFIGURATIONS, float(len(took_ns))), (CHOSEN, float(best)))
    chosen = built if best == 0 else _with(built, replays[best], loaded, gpu, sandboxes)
    return replace(chosen, facts=(*chosen.facts, *facts))


def _with(built: Built, replay: GpuReplay, loaded: Loaded, gpu: Gpu, sandboxes: Sandboxes) -> Built:
    """The same with this configuration: its facts, what a CPU plays of it, and whether it could do
    without its own kernels."""
    plans = [(spec, replay.trace(spec, gpu.architecture)) for spec in loaded.specs]
    cases = [(spec, plan) for spec, plan in plans if isinstance(plan, Plan)]
    facts = dict(built.facts) | dict(cases[0][1].facts())
    facts["launches"] = float(len(cases[0][1].launches))
    built = replace(built, on_device=replay, without=None, facts=tuple(facts.items()))
    return with_a_look(weighed(built, cases, sandboxes), cases, sandboxes)


def _took_ns(messages: Messages, loaded: Loaded, drawn: Sequence[Draw], limit_s: float) -> float:
    """The median of a few rounds of the timed case; infinite where one fails or is not right, or
    the GPU has no room for it now."""
    spec, name = loaded.specs[loaded.timed], loaded.cases[loaded.timed].name
    took_ns: list[int] = []
    with closing(GpuCandidate(messages, limit_s)) as device:
        try:
            device.ready()
            device.prime(spec)
            device.time_by(graphs=True)
            for draw in drawn:
                round_ns, copy = device.round(draw.inputs, spec)
                asked = draw.rankings, draw.losses
                if not compare(name, copy, spec, draw.expected, Pool(), *asked).passed:
                    return math.inf
                took_ns.append(round_ns)
        except (CandidateFailedError, DeviceFullError):
            return math.inf
    return median(took_ns)
