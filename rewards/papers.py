"""Rewards that papers publish, as far as the judge's facts carry them.

Every speed enters by the lower end of its interval, so noise is not paid for: that is ours in all
of them. A correct kernel without a timing has no speed part. Training's judge lets PyTorch compute
nothing, so an answer that hands an operator to PyTorch is `cheated`, not merely slow.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from kernelwright.envs.types import Evaluation, Speedup, Verdict

Parts = dict[str, float]

KEVIN_FLOOR = 0.3
MOST_SPEED = 3.0
"""Of `dr_kernel`: more is not worth more."""
KERNELZERO_WEIGHT = 0.1
MARGIN = 1.05
"""A milestone of `cuda_agent` is passed by more than 5 %."""
MAKORA_SHIFT = 1.8


def kevin(evaluation: Evaluation) -> Parts:
    """0.3·correct + T_baseline/T_kernel·correct (Kevin-32B, arXiv 2507.11948); no ceiling."""
    right = is_right(evaluation)
    return {"correct": KEVIN_FLOOR * right, "speed": _speed(evaluation)}


def autotriton(evaluation: Evaluation) -> Parts:
    """1 for a correct kernel, and nothing for speed (AutoTriton, arXiv 2507.05687).

    Its rule that the text holds `@triton.jit` is the judge's here, in every language: what has no
    kernel of its own is never correct.
    """
    return {"correct": float(is_right(evaluation))}


def dr_kernel(evaluation: Evaluation) -> Parts:
    """0.5·correct + 0.5·clip(speedup, 0, 3) + 0.5·coverage (Dr. Kernel, arXiv 2602.05885).

    Coverage is the share of the time that is the answer's own kernels. Ours: it is 1 for a correct
    answer, because the judge lets PyTorch compute nothing.
    """
    half = 0.5 * is_right(evaluation)
    speed = 0.5 * min(_speed(evaluation), MOST_SPEED)
    return {"correct": half, "speed": speed, "coverage": half}


def kernelzero(evaluation: Evaluation) -> Parts:
    """1 + 0.1·speedup for correct (KernelZero, arXiv 2609.33074).

    The speed part counts in groups of which at least half are correct (`GATES`). Ours: how the
    paper bounds a speedup is not known to us, and here nothing does.
    """
    right = is_right(evaluation)
    return {"correct": float(right), "speed": KERNELZERO_WEIGHT * _speed(evaluation)}


def cuda_agent(evaluation: Evaluation, compiled: Speedup) -> Parts:
    """-1, 1, 2 or 3 (CUDA-Agent, arXiv 2602.24286): not correct, correct, more than 5 % faster than
    eager PyTorch, and than torch.compile too. By the intervals' unfavourable ends: ours."""
    if not is_right(evaluation):
        return {"correct": -1.0, "speed": 0.0}
    faster = _speed(evaluation) > MARGIN
    than_compiled = faster and _against(evaluation, compiled) > MARGIN
    return {"correct": 1.0, "speed": float(faster + than_compiled)}


def makora(evaluation: Evaluation, compiled: Speedup) -> Parts:
    """σ(1 + speedup over TorchInductor - 1.8) for correct (Makora, arXiv 2602.11000), in two parts:
    what a kernel of no speed earns, and the rest."""
    if not is_right(evaluation):
        return {"correct": 0.0, "speed": 0.0}
    least = _sigmoid(1 - MAKORA_SHIFT)
    paid = _sigmoid(1 + _against(evaluation, compiled) - MAKORA_SHIFT)
    return {"correct": least, "speed": paid - least}


PAPERS: dict[str, Callable[[Evaluation], Parts]] = {
    "autotriton": autotriton,
    "dr_kernel": dr_kernel,
    "kernelzero": kernelzero,
    "kevin": kevin,
}
AGAINST_COMPILE: dict[str, Callable[[Evaluation, Speedup], Parts]] = {
    "cuda_agent": cuda_agent,
    "makora": makora,
}
"""Those that need how fast torch.compile's module is; training times against eager PyTorch."""
GATES = {"kernelzero": 0.5}
"""The least share of a group that is correct for its speed parts to count."""


def is_right(evaluation: Evaluation) -> bool:
    return evaluation.verdict is Verdict.CORRECT


def _speed(evaluation: Evaluation) -> float:
    """At least so many times as fast as eager PyTorch; 0 where that is not known."""
    return evaluation.timing.speedup.low if evaluation.timing else 0.0


def _against(evaluation: Evaluation, compiled: Speedup) -> float:
    """The same against torch.compile's module."""
    return _speed(evaluation) / compiled.high


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))
