"""The recipe: everything a run is, checked before anything heavy is imported.

Every field says what it means and in which unit; a field that is not here is an error, never
ignored. `kernelwright/recipe.py` reads these models from YAML and says in which line a mistake is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from envs.sandbox import LEVELS
from envs.types import Baseline, Dialect
from rewards.price import PRESETS

SHARED_WITH_TRL = {
    "learning_rate": "learning_rate",
    "per_device_train_batch_size": "micro_batch_size",
}
RUN_KEYS = {
    "output_dir": "run_dir",
    "run_name": "name",
    "seed": "seed",
    "data_seed": "seed",
    "report_to": "report_to",
    "bf16": "model.dtype",
    "fp16": "model.dtype",
    "model_init_kwargs": "model",
}
SFT_KEYS = {
    **SHARED_WITH_TRL,
    "num_train_epochs": "epochs",
    "max_steps": "epochs",
    "gradient_accumulation_steps": "batch_size",
    "max_length": "max_length",
}
GRPO_KEYS = {
    **SHARED_WITH_TRL,
    "num_generations": "group_size",
    "max_steps": "steps",
    "num_train_epochs": "steps",
    "gradient_accumulation_steps": "groups_per_step",
    "generation_batch_size": "groups_per_step",
    "steps_per_generation": "groups_per_step",
    "temperature": "temperature",
    "max_completion_length": "max_completion_length",
    "use_vllm": "generation",
}
VLLM_NEEDS_PLAIN_WEIGHTS = (
    "generation 'vllm' cannot follow a model in nf4: TRL sends vLLM the merged 4-bit weights, and "
    "merging rounds most of the update away; use quantization 'none', or generation 'transformers'"
)
CONTRAST_NEEDS_SPEEDS = (
    "method 'contrastive' shows how fast kernels were; use judge.timed true, or grpo.method 'grpo'"
)
COMPILES_ON_THIS_MACHINE = (
    "baseline 'compile' is measured on this machine, and judge.ray_address has kernels timed on "
    "others; use baseline 'eager', or no judge.ray_address"
)


def did_you_mean(word: str, known: Mapping[str, Any] | list[str]) -> str:
    """`; did you mean 'x'?` for the nearest known word; empty where none is near."""
    near = get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


@lru_cache
def trl_fields(config_class: str) -> list[str]:
    """Names of the options of one of TRL's config classes (`scripts/trl_fields.py` writes them)."""
    known = json.loads(Path(__file__).with_name("trl_fields.json").read_text(encoding="utf-8"))
    return list(known[config_class])


def _sft_option(key: str) -> str:
    return _trl_option(key, "SFTConfig", "sft", SFT_KEYS)


def _grpo_option(key: str) -> str:
    return _trl_option(key, "GRPOConfig", "grpo", GRPO_KEYS)


def _trl_option(key: str, config_class: str, section: str, owned: Mapping[str, str]) -> str:
    if key in owned:
        raise ValueError(f"the recipe decides this; set {section}.{owned[key]} instead")
    if key in RUN_KEYS:
        raise ValueError(f"the recipe decides this; set {RUN_KEYS[key]} instead")
    if key not in trl_fields(config_class):
        hint = did_you_mean(key, trl_fields(config_class))
        raise ValueError(f"TRL's {config_class} has no such option{hint}")
    return key


class Section(BaseModel):
    """What all parts of a recipe share: no unknown keys, no changes after the check."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class LoraSection(Section):
    """The adapter that is trained; the base model stays as it is."""

    rank: int = Field(default=16, ge=1)
    """Rank of each adapter matrix."""
    alpha: int = Field(default=32, ge=1)
    """The adapter's output is scaled by alpha / rank."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the adapter's inputs that is dropped while training."""
    targets: Literal["all-linear"] | tuple[str, ...] = "all-linear"
    """Names of the layers that get an adapter, or `all-linear`."""


class ModelSection(Section):
    """The policy."""

    name: str = Field(default="smollm2-135m", min_length=1)
    """An embedded model (`smollm2-135m`, `qwen2.5-coder-0.5b`), a Hub id, or a local folder."""
    quantization: Literal["nf4", "none"] = "nf4"
    """How the frozen base weights are held: 4 bits each (QLoRA), or in `dtype`."""
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    """What the model computes in; `auto` takes what this machine is fast at."""
    lora: LoraSection = LoraSection()
    """The adapter."""


class DataSection(Section):
    """Problems and the language of their answers."""

    train_suite: str = "starter:train"
    """Suite whose problems are trained on."""
    held_out_suite: str = "starter:held_out"
    """Suite that the eval stage measures on; never trained on."""
    dialect: Dialect = Dialect.CPP
    """What answers are written in."""
    max_triples: int | None = Field(default=None, ge=1)
    """At most so many triples for SFT; null takes all."""


class SftSection(Section):
    """The cold start: supervised fine-tuning on judged triples."""

    epochs: float = Field(default=1.0, gt=0)
    """Passes over the triples."""
    learning_rate: float = Field(default=5e-4, gt=0, lt=1)
    """Peak learning rate."""
    batch_size: int = Field(default=8, ge=1)
    """Triples in an optimiser step, over all processes."""
    micro_batch_size: int = Field(default=8, ge=1, validate_default=True)
    """Triples in one forward pass of one process; lower it to save memory."""
    max_length: int = Field(default=768, ge=16)
    """Tokens of a triple; longer ones are cut."""
    trainer: dict[Annotated[str, AfterValidator(_sft_option)], Any] = {}
    """Any other option of TRL's SFTConfig."""

    @field_validator("micro_batch_size")
    @classmethod
    def _batch_splits_evenly(cls, micro_batch_size: int, info: ValidationInfo) -> int:
        batch_size = info.data.get("batch_size", micro_batch_size)
        if batch_size % micro_batch_size:
            raise ValueError(
                f"batch_size ({batch_size}) must be a multiple of micro_batch_size "
                f"({micro_batch_size})"
            )
        return micro_batch_size


class GrpoSection(Section):
    """Reinforcement learning against the judge, on TRL's GRPOTrainer."""

    method: Literal["grpo", "contrastive"] = "grpo"
    """How prompts are built: the task alone, or with earlier kernels and their speedups."""
    steps: int = Field(default=6, ge=1)
    """Optimiser steps."""
    group_size: int = Field(default=8, ge=2)
    """Completions of one prompt; advantages are relative to their mean."""
    groups_per_step: int = Field(default=4, ge=1)
    """Prompts in a step, over all processes."""
    micro_batch_size: int = Field(default=8, ge=1, validate_default=True)
    """Completions in one forward pass of one process; lower it to save memory."""
    learning_rate: float = Field(default=1e-4, gt=0, lt=1)
    """Peak learning rate."""
    temperature: float = Field(default=1.0, gt=0)
    """Sampling temperature."""
    max_completion_length: int = Field(default=256, ge=16)
    """Tokens of a completion."""
    generation: Literal["transformers", "vllm"] = "transformers"
    """What samples the completions."""
    trainer: dict[Annotated[str, AfterValidator(_grpo_option)], Any] = {}
    """Any other option of TRL's GRPOConfig."""

    @field_validator("micro_batch_size")
    @classmethod
    def _batch_splits_evenly(cls, micro_batch_size: int, info: ValidationInfo) -> int:
        if {"group_size", "groups_per_step"} <= info.data.keys():
            rollouts = info.data["group_size"] * info.data["groups_per_step"]
            if rollouts % micro_batch_size:
                raise ValueError(
                    f"group_size x groups_per_step ({rollouts}) must be a multiple of "
                    f"micro_batch_size ({micro_batch_size})"
                )
        return micro_batch_size

    @property
    def rollouts_per_step(self) -> int:
        return self.group_size * self.groups_per_step


class ContrastiveSection(Section):
    """Which earlier kernels `method: contrastive` shows (`rl/methods/contrastive.py`)."""

    exemplars: int = Field(default=2, ge=2)
    """Kernels in a prompt, each from another band."""
    band_width: float = Field(default=0.25, gt=0)
    """Width of a band in log2 of the speedup."""
    temperature: float = Field(default=0.5, gt=0)
    """Of the softmax over bands; lower prefers the fastest."""


class JudgeSection(Section):
    """The judge of all stages."""

    workers: int | None = Field(default=None, ge=1)
    """Answers judged at the same time on a machine; null derives it from the number of cores."""
    ray_address: str | None = Field(default=None, min_length=1)
    """Ray cluster whose nodes judge (`auto` is this machine's); null judges on this machine."""
    batch_limit_s: float | None = Field(default=None, gt=0)
    """Seconds after which a batch goes on without its slowest answers; null waits for all."""
    minimum_sandbox: str = "namespaces"
    """The weakest sandbox that may run a model's code; below it the run is refused."""
    timed: bool = True
    """Whether GRPO times correct kernels, without which no speed is rewarded; evaluation does."""

    @field_validator("minimum_sandbox")
    @classmethod
    def _level_is_known(cls, level: str) -> str:
        if level not in LEVELS:
            raise ValueError(f"no sandbox level {level!r} (there are: {', '.join(LEVELS)})")
        return level


class EvalSection(Section):
    """The measurement on the held-out suite."""

    problems: int | None = Field(default=None, ge=1)
    """At most so many problems; null takes all."""
    samples: int = Field(default=1, ge=1)
    """Answers to each problem."""
    temperature: float = Field(default=0.0, ge=0)
    """Sampling temperature; 0 is greedy."""
    max_new_tokens: int = Field(default=256, ge=16)
    """Tokens of an answer."""
    before: bool = True
    """Whether the untrained model is measured too."""
    after_sft: bool = True
    """Whether the model between SFT and GRPO is measured too."""
    baseline: Baseline = Baseline.EAGER
    """What speeds are reported against: `eager` PyTorch alone, or torch.compile (`compile`) too."""

    @model_validator(mode="after")
    def _samples_differ(self) -> Self:
        if self.samples > 1 and self.temperature == 0:
            raise ValueError("greedy samples are all the same: set samples 1, or a temperature")
        return self


Stage = Literal["sft", "grpo", "eval"]


class Recipe(Section):
    """One run, from the model's name to the metrics that are reported."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Names the run."""
    run_dir: Path = Field(default_factory=lambda known: Path("runs") / known.get("name", "unnamed"))
    """Folder that everything is written to; `runs/<name>` unless said otherwise."""
    seed: int = Field(default=0, ge=0)
    """Of sampling, shuffling and initialisation."""
    stages: tuple[Stage, ...] = Field(default=("sft", "grpo", "eval"), min_length=1)
    """What is run, always in the order sft, grpo, eval."""
    model: ModelSection = ModelSection()
    """The policy."""
    data: DataSection = DataSection()
    """Problems."""
    sft: SftSection = SftSection()
    """The cold start."""
    grpo: GrpoSection = GrpoSection()
    """Reinforcement learning."""
    contrastive: ContrastiveSection = ContrastiveSection()
    """Exemplars, for `grpo.method: contrastive`."""
    reward: str = "default"
    """Preset that prices a verdict (`rewards/price.py`)."""
    judge: JudgeSection = JudgeSection()
    """The judge."""
    eval: EvalSection = EvalSection()
    """The measurement."""
    report_to: Literal["none", "wandb"] = "none"
    """Where metrics go besides the run's own folder."""

    @field_validator("reward")
    @classmethod
    def _reward_is_known(cls, name: str) -> str:
        if name not in PRESETS:
            raise ValueError(
                f"no reward preset is named {name!r}{did_you_mean(name, PRESETS)} "
                f"(there are: {', '.join(sorted(PRESETS))})"
            )
        return name

    @field_validator("stages")
    @classmethod
    def _stages_are_distinct(cls, stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
        if len(set(stages)) < len(stages):
            raise ValueError(f"a stage is named twice: {', '.join(stages)}")
        return stages

    @field_validator("judge")
    @classmethod
    def _contrast_needs_speeds(cls, judge: JudgeSection, info: ValidationInfo) -> JudgeSection:
        grpo = info.data.get("grpo")
        if grpo and grpo.method == "contrastive" and not judge.timed:
            raise ValueError(CONTRAST_NEEDS_SPEEDS)
        return judge

    @field_validator("eval")
    @classmethod
    def _baseline_is_measured_where_kernels_are(
        cls, section: EvalSection, info: ValidationInfo
    ) -> EvalSection:
        judge = info.data.get("judge")
        if section.baseline is Baseline.COMPILE and judge and judge.ray_address:
            raise ValueError(COMPILES_ON_THIS_MACHINE)
        return section

    @field_validator("grpo")
    @classmethod
    def _vllm_gets_whole_weights(cls, grpo: GrpoSection, info: ValidationInfo) -> GrpoSection:
        model = info.data.get("model")
        if grpo.generation == "vllm" and model and model.quantization == "nf4":
            raise ValueError(VLLM_NEEDS_PLAIN_WEIGHTS)
        return grpo
