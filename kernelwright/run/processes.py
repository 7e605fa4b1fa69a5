"""The processes of a run: how they join, and the judge that each of them asks."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import timedelta

from kernelwright.data.runs.process import Process, wait_for_all
from kernelwright.envs.judge import BatchJudge
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.envs.system.cores import usable_cores
from kernelwright.envs.system.hardware import visible_gpus
from kernelwright.envs.types import Dialect
from kernelwright.envs.workers.pool import default_workers
from kernelwright.rl.recipe.schema import JudgeSection
from kernelwright.rl.train.trainer_options import TIMEOUT_S


def judge_of(
    section: JudgeSection, process: Process, dialects: Collection[Dialect] = ()
) -> BatchJudge:
    """The judge of this process: its share of this machine, or of every machine of a cluster.

    `dialects`: those of all its answers; none for any.
    """
    workers = section.workers
    if workers is None and section.ray_address is None:
        workers = default_workers(dialects, process.here)
    return open_judge(
        workers,
        section.minimum_sandbox,
        ray_address=section.ray_address,
        batch_limit_s=section.batch_limit_s,
        here=process.here,
        everywhere=(process.rank, process.world),
        on_gpu=section.on_gpu,
    )


def join(process: Process) -> Callable[[], None]:
    """Joins the run's processes; returns a function that waits for all of them.

    Each gets an equal share of the cores: accelerate and torchrun leave a process with one. The
    first to join sets the time limit, so it has to be here.
    """
    import torch

    torch.set_num_threads(max(1, len(usable_cores()) // process.here[1]))
    if process.world > 1:
        from accelerate import PartialState

        PartialState(cpu=not visible_gpus(), timeout=timedelta(seconds=TIMEOUT_S))
    return wait_for_all
