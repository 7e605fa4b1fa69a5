"""Interface of a file in `rl/policies/providers/`: a class `Provider`, which makes policies of one
kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from kernelwright.envs.policy import Policy
from kernelwright.rl.models.weights import ModelError


class Provider:
    """One kind of policy. It samples for GRPO (`grpo.generation: NAME`), or is opened by a model's
    name (`NAME:…`, for `eval` and `write`), or both."""

    package: str | None = None
    """The Python package that it needs."""
    holds_gpu_memory: bool = False
    """Whether it takes a GPU's memory by itself, so that nothing is probed or set for it."""
    answers_all_processes: bool = False
    """Whether all processes of a launch have to sample together (a collective call)."""
    refuses_nf4: str | None = None
    """Why it cannot sample from a model in nf4 while that is trained; None where it can."""
    trainer_options: ClassVar[Mapping[str, Any]] = {}
    """What TRL's GRPOConfig is told for it."""

    def in_training(self, trainer: Any, tokenizer: Any, step: int) -> Policy:
        """The policy that TRL's trainer is training, with the weights of this optimiser step.

        Called at each step on the same provider, which may keep a connection from step to step.
        Completions tell token ids and log-probabilities: they are trained on.
        """
        raise NotImplementedError(f"{type(self).__module__} samples for no training")

    def open(self, model: str) -> Policy:
        """The policy of this name. Raises ModelError."""
        raise ModelError(f"{type(self).__module__} opens no model by a name")
