"""The recipe's section of reinforcement learning."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, SerializeAsAny, ValidationInfo, field_validator

from kernelwright.rl.methods.base import MethodOptions
from kernelwright.rl.methods.find import gives_advantages, method_options
from kernelwright.rl.methods.grpo import Options as GrpoOptions
from kernelwright.rl.policies.providers.find import known_provider
from kernelwright.rl.recipe.trl_options import grpo_option, typed
from kernelwright.rl.section import Section

SCALED_BY_METHOD = "method {!r} computes its advantages itself: TRL's scale_rewards has no say"


class GrpoSection(Section):
    """Reinforcement learning against the judge, on TRL's GRPOTrainer."""

    method: SerializeAsAny[MethodOptions] = GrpoOptions()
    """How the policy is asked and credited: a name, or a section with a name and its options."""
    steps: int = Field(default=6, ge=1)
    """Optimiser steps."""
    group_size: int = Field(default=8, ge=2)
    """Completions of one prompt; advantages are relative to their mean."""
    groups_per_step: int = Field(default=4, ge=1)
    """Prompts in a step, over all processes."""
    micro_batch_size: int = Field(default=8, ge=1, validate_default=True)
    """Completions in one forward pass of one process; lower it to save memory. On a CPU `fast_pass`
    takes a whole step, in pieces of its own."""
    learning_rate: float = Field(default=1e-4, gt=0, lt=1)
    """Peak learning rate."""
    temperature: float = Field(default=1.0, gt=0)
    """Sampling temperature."""
    max_completion_length: int = Field(default=512, ge=16)
    """Tokens of a completion."""
    generation: Annotated[str, AfterValidator(known_provider)] = "transformers"
    """What samples the completions: a module of `rl/policies/providers`, or the dotted name of your
    own."""
    server: str | None = Field(default=None, min_length=1)
    """Address of the server that `generation: vllm` asks, as http://127.0.0.1:8000, in GRPO and in
    the stages that measure. It reads the run's folder."""
    most_mismatch: float = Field(default=0.2, gt=0)
    """Nats by which a token's log-probability may differ between sampling and training, in the
    mean; beyond it the run ends before the step is taken."""
    drop_mismatched: float | None = Field(default=None, gt=0)
    """Leaves an answer out of the loss where the mean of its tokens' differences, with their signs,
    is further from 0, or training finds a token 10,000 times less likely. Null trains on all; Dr.
    Kernel has 0.001."""
    steps_per_generation: int = Field(default=1, ge=1)
    """Optimiser steps that share what is sampled at once: each trains on a part of the answers of
    its own, as many as `groups_per_step` groups have."""
    iterations: int = Field(default=1, ge=1, validate_default=True)
    """Passes over all that is sampled at once; `steps` is a multiple of it times
    `steps_per_generation`."""
    oversampled_groups: int = Field(default=0, ge=0)
    """Groups sampled at once beyond those that are trained on, in each process; those with the most
    advantage are taken."""
    fast_pass: bool = True
    """On a CPU, train by `rl/train/fast_pass.py` (dead rows skipped, prompts read once) in place of
    TRL's own pass; on a GPU that is always taken."""
    validate_every: int = Field(default=0, ge=0)
    """Optimiser steps between two points of the validation curve; 0 draws none. With it, the
    checkpoint that did best is kept, else the last."""
    validation_problems: int = Field(default=0, ge=0, validate_default=True)
    """Problems of the training suite that are left out of GRPO and validated on."""
    validation_samples: int = Field(default=2, ge=1)
    """Answers to each of them at each point, at the training temperature."""
    trainer: dict[Annotated[str, AfterValidator(grpo_option)], Any] = Field(default={})
    """Any other option of TRL's GRPOConfig."""

    @field_validator("method", mode="before")
    @classmethod
    def _method_is_known(cls, given: Any) -> MethodOptions:
        return method_options(given)

    @field_validator("trainer")
    @classmethod
    def _options_have_types(cls, trainer: dict[str, Any]) -> dict[str, Any]:
        return typed(trainer, "GRPOConfig")

    @field_validator("trainer")
    @classmethod
    def _nobody_scales_twice(cls, trainer: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        method = info.data.get("method")
        if method and "scale_rewards" in trainer and gives_advantages(method):
            raise ValueError(SCALED_BY_METHOD.format(method.name))
        return trainer

    @field_validator("micro_batch_size")
    @classmethod
    def _batch_splits_evenly(cls, micro_batch_size: int, info: ValidationInfo) -> int:
        if {"group_size", "groups_per_step"} <= info.data.keys():
            turns = info.data["method"].rows_per_trajectory if "method" in info.data else 1
            rollouts = info.data["group_size"] * turns * info.data["groups_per_step"]
            if rollouts % micro_batch_size:
                raise ValueError(
                    f"group_size x groups_per_step{' x turns' * (turns > 1)} ({rollouts}) must be "
                    f"a multiple of micro_batch_size ({micro_batch_size})"
                )
        return micro_batch_size

    @field_validator("iterations")
    @classmethod
    def _batches_are_finished(cls, iterations: int, info: ValidationInfo) -> int:
        shared = info.data.get("steps_per_generation", 1)
        steps = info.data.get("steps", each := iterations * shared)
        if steps % each:
            raise ValueError(
                f"steps ({steps}) must be a multiple of steps_per_generation x iterations ({each})"
            )
        return iterations

    @field_validator("validation_problems")
    @classmethod
    def _the_curve_has_problems(cls, problems: int, info: ValidationInfo) -> int:
        if bool(problems) != bool(info.data.get("validate_every", problems)):
            raise ValueError("validate_every and validation_problems are set together, or neither")
        return problems

    @property
    def rows_per_group(self) -> int:
        """Rows whose credits are compared: the turns of all trajectories of a task."""
        return self.group_size * self.method.rows_per_trajectory

    @property
    def trainer_options(self) -> dict[str, Any]:
        """What the method asks of TRL's GRPOConfig, overruled by `trainer`."""
        return {**self.method.trainer, **self.trainer}

    @property
    def rollouts_per_step(self) -> int:
        """Rows that an optimiser step trains on, over all processes."""
        return self.rows_per_group * self.groups_per_step

    @property
    def groups_at_once(self) -> int:
        """Groups that are trained on of those sampled at once, over all processes."""
        return self.groups_per_step * self.steps_per_generation

    @property
    def rollouts_at_once(self) -> int:
        """Rows that are trained on of those sampled at once, over all processes."""
        return self.rows_per_group * self.groups_at_once

    @property
    def steps_at_once(self) -> int:
        """Optimiser steps on what is sampled at once."""
        return self.steps_per_generation * self.iterations
