"""Opens a judge: of this machine, or of every machine of a Ray cluster."""

from __future__ import annotations

from kernelwright.envs.judge import BatchJudge, Judge
from kernelwright.envs.remote.ray_judge import RayJudge
from kernelwright.envs.workers.gpu_config import PLAIN, GpuConfig

Share = tuple[int, int]
"""Which process, of how many that judge at the same time."""


def open_judge(
    workers: int | None = None,
    minimum_sandbox: str = "namespaces",
    *,
    ray_address: str | None = None,
    batch_limit_s: float | None = None,
    here: Share = (0, 1),
    everywhere: Share = (0, 1),
    on_gpu: GpuConfig = PLAIN,
) -> BatchJudge:
    """A judge, to be used as a context manager; with `ray_address` all nodes of that Ray cluster.

    `here` is this process's share of this machine's cores, `everywhere` that of a cluster's.
    Raises SandboxUnavailableError and JudgeError where nothing can be judged.
    """
    if ray_address is None:
        return Judge(
            workers,
            minimum_sandbox,
            batch_limit_s=batch_limit_s,
            share=here,
            on_gpu=on_gpu,
        )
    return RayJudge(
        ray_address,
        workers,
        minimum_sandbox,
        batch_limit_s=batch_limit_s,
        share=everywhere,
        on_gpu=on_gpu,
    )
