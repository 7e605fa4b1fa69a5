"""Interface of a file in `rl/policies/providers/`: a class `Provider`, which makes policies of one
kind."""

from __future__ import annotations

from typing import Any

from kernelwright.envs.policy import Policy
from kernelwright.rl.models.weights import ModelError


class Provider:
    """One kind of policy. It samples for GRPO (`grpo.generation: NAME`), or is opened by a model's
    name (`NAME:…`, for `eval` and `write`), or both."""

    asks_a_server: bool = False
    """Whether another process samples, whose log-probabilities differ from the trainer's."""
    server: str | None = None
    """That server's address (`grpo.server`)."""

    def refusal(self, server: str | None, model: str, rank: int) -> str | None:
        """Why GRPO cannot be sampled so now, for this base model and rank of adapter; None where it
        can."""
        return None

    def in_training(self, trainer: Any, tokenizer: Any, step: int) -> Policy:
        """The policy that TRL's trainer is training, with the weights of this optimiser step.

        Called at each step on the same provider, which may keep a connection from step to step.
        Completions tell token ids and log-probabilities: they are trained on.
        """
        raise NotImplementedError(f"{type(self).__module__} samples for no training")

    def open(self, model: str) -> Policy:
        """The policy of this name. Raises ModelError."""
        raise ModelError(f"{type(self).__module__} opens no model by a name")
