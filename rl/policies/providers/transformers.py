"""The model in this process, sampled by `rl/policies/decode.py`: the one that is trained, or one on
disk."""

from __future__ import annotations

from typing import Any

from kernelwright.envs.policy import Policy
from kernelwright.rl.policies.providers import base


class Provider(base.Provider):
    """Exact log-probabilities, no weights to send anywhere, and no other package."""

    def in_training(self, trainer: Any, tokenizer: Any, step: int) -> Policy:
        from kernelwright.rl.policies.hf import HFPolicy

        model = trainer.accelerator.unwrap_model(trainer.model_wrapped)
        return HFPolicy(model, tokenizer, weights_step=step)

    def open(self, model: str) -> Policy:
        from kernelwright.rl.policies.hf import load_policy

        return load_policy(model)
