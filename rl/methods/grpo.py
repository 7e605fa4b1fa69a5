"""`method: grpo`: the prompt is the task, the credit is the reward (GRPO, arXiv 2402.03300)."""

from __future__ import annotations

from typing import Literal

from kernelwright.rl.methods.base import Method, MethodOptions

__all__ = ["Method", "Options"]


class Options(MethodOptions):
    """No options."""

    name: Literal["grpo"] = "grpo"
