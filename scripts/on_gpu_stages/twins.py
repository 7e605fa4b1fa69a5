"""Stage `twins`: a kernel against itself on the device, each in a process of its own, by the clock
and in the turns of a candidate and its baseline: as CUDA graphs, and kernel by kernel. Intervals
have to contain 1.00."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from statistics import median

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.device.client import GpuCandidate
from kernelwright.envs.referee.timing import Pace, time_in_turns
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.system.hardware import Gpu
from kernelwright.envs.types import Timing
from scripts.on_gpu_stages.clock import ROUND_LIMIT_S, inputs_of, messages_of, timed_by
from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.smi import state
from scripts.on_gpu_stages.stand_in import gpu_of
from scripts.on_gpu_stages.workloads import HEAD, Workload

SPIN = """def spin(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < count)
    for _ in range({times}):
        value = value * 0.999 + 0.001
    tl.store(out + at, value, mask=at < count)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        spin[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), BLOCK=128)
        return out
"""
TIMES = {"4us": 500, "100us": 42_000, "1ms": 430_000}
"""About how long a kernel takes on a large device, by how often it loops."""
WAYS = {"": True, "_by_kernel": False}
"""What a row's name ends with, and whether its rounds are CUDA graphs."""
COUNT = 132 * 128
TOGETHER = 4
"""So many trials in a row are of the same two processes."""
END_S = 6.0


def run(context: StageContext) -> None:
    gpu, before = gpu_of(context), state()
    found: defaultdict[str, list[Timing]] = defaultdict(list)
    with closing(Sandboxes()) as sandboxes:
        spins = {name: spin(context, times) for name, times in TIMES.items()}
        for _ in range(context.share(16)):
            for name, one in spins.items():
                for way, graphs in WAYS.items():
                    found[name + way] += trials(context, one, gpu, sandboxes, graphs=graphs)
    for name, timings in found.items():
        if timings:
            context.row(name, **facts(timings))
    context.row("sm_mhz", before=before, after=state())


def spin(context: StageContext, times: int) -> Workload:
    source = HEAD + SPIN.format(times=context.share(context.share(times)))
    return Workload("spin", "x * 1.0", source, (context.share(COUNT),))


def trials(
    context: StageContext, one: Workload, gpu: Gpu, sandboxes: Sandboxes, *, graphs: bool
) -> Iterator[Timing]:
    """Of two new processes; none where little time is left."""
    if context.left_s() < END_S + 2:
        return
    spec = one.spec()
    inputs = [inputs_of(spec), inputs_of(spec)]
    with twins(one, gpu, sandboxes, spec) as players:
        for player in players:
            timed_by(player, graphs=graphs)
        first, second = (partial(rounds, player, spec, inputs) for player in players)
        for _ in range(context.share(TOGETHER)):
            if context.left_s() > END_S:
                yield time_in_turns(first, second, Pace(), lambda _: None)[0]


@contextmanager
def twins(
    one: Workload, gpu: Gpu, sandboxes: Sandboxes, spec: CaseSpec
) -> Iterator[list[GpuCandidate]]:
    """Two processes that replay the same."""
    with ExitStack() as ended:
        messages = messages_of(one, gpu, sandboxes)
        players = [
            ended.enter_context(closing(GpuCandidate(messages, ROUND_LIMIT_S))) for _ in range(2)
        ]
        for player in players:
            player.ready()
            player.prime(spec)
        yield players


def rounds(
    player: GpuCandidate, spec: CaseSpec, inputs: Sequence[int], numbers: range
) -> list[int]:
    """Each with one before it that is not timed, as a candidate's."""
    return [player.rounds(inputs, spec)[0] for _ in numbers]


def facts(timings: list[Timing]) -> dict[str, float]:
    speedups = [one.speedup for one in timings]
    medians = [one.median for one in speedups]
    farthest: float = max(medians, key=lambda it: abs(it - 1))
    took_ns = [median(one.candidate_ns) for one in timings]
    return {
        "trials": len(speedups),
        "contain_1": sum(one.low <= 1 <= one.high for one in speedups),
        "median": round(median(medians), 4),
        "farthest": round(farthest, 4),
        "width": round(median(one.high / one.low - 1 for one in speedups), 4),
        "us": round(median(took_ns) / 1e3, 2),
    }
