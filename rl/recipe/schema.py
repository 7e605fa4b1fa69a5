"""The recipe: everything a run is, checked before anything heavy is imported.

Every field says what it means and in which unit; a field that is not here is an error, never
ignored. `kernelwright/recipe/resolve.py` reads these models from YAML and says in which line a
mistake is.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from kernelwright.data.runs.stages import chosen
from kernelwright.envs.dialects import known_dialect
from kernelwright.envs.sandbox.levels import LEVELS
from kernelwright.envs.system.tools import Tool
from kernelwright.envs.types import Baseline, Precision, Problem, Task
from kernelwright.envs.workers.gpu_config import GpuConfig
from kernelwright.rewards.price import PRESETS, refused_in_training
from kernelwright.rl.recipe.grpo_section import GrpoSection
from kernelwright.rl.recipe.supervised import DpoSection, RftSection, SftSection
from kernelwright.rl.recipe.trl_options import Targets, did_you_mean
from kernelwright.rl.section import Section

METHOD_NEEDS_SPEEDS = (
    "method {!r} needs to know how fast kernels were; use judge.timed true, or grpo.method 'grpo'"
)
COMPILES_ON_THIS_MACHINE = (
    "baseline {!r} is measured on this machine, and judge.ray_address has kernels timed on "
    "others; use baseline 'eager', or no judge.ray_address"
)
COMPILES_IN_IEEE = (
    "baseline {!r} is measured with IEEE float32, and judge.precision is tf32; use baseline "
    "'eager', or judge.precision ieee"
)


class LoraSection(Section):
    """The adapter that is trained; the base model stays as it is."""

    rank: int = Field(default=16, ge=1)
    """Rank of each adapter matrix."""
    alpha: int = Field(default=32, ge=1)
    """The adapter's output is scaled by alpha / rank."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the adapter's inputs that SFT drops; `dpo` and `grpo` drop none."""
    targets: Targets = "all-linear"
    """Names of the layers that get an adapter, or `all-linear`."""


class ModelSection(Section):
    """The policy."""

    name: str = Field(default="smollm2-135m", min_length=1)
    """An embedded model (`smollm2-135m`, `qwen2.5-coder-0.5b`), a Hub id, or a local folder."""
    quantization: Literal["nf4", "none"] = "nf4"
    """How the frozen base weights are held: 4 bits each (QLoRA), or in `dtype`."""
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    """What the model computes in; `auto` takes what this machine is fast at."""
    adapter: str | None = Field(default=None, min_length=1)
    """A run, a folder or a Hub id of an adapter to go on from; null starts a new adapter."""
    lora: LoraSection = LoraSection()
    """A new adapter's shape."""


class DataSection(Section):
    """Problems and the language of their answers."""

    train_suite: str = "starter:train"
    """Suite whose problems are trained on. `starter:…` without `?sizes=cpu` or `?sizes=gpu` has a
    GPU's where answers are timed on one, else a CPU's; so have the two below."""
    sft_suite: str | None = None
    """Suite whose triples SFT learns from; null takes those of `train_suite`."""
    held_out_suite: str = "starter:held_out"
    """Suite that the eval stage measures on; never trained on."""
    train_on_held_out: bool = False
    """Allows the two suites to share problems: what is measured then says nothing about others."""
    dialect: Annotated[str, AfterValidator(known_dialect)] = "cpp"
    """What answers are written in."""
    more_dialects: tuple[Annotated[str, AfterValidator(known_dialect)], ...] = ()
    """Other languages that the same run learns, and is measured in: each problem in each."""
    max_triples: int | None = Field(default=None, ge=1)
    """At most so many triples for SFT; null takes all."""
    balance: float = Field(default=1.0, ge=0, le=1)
    """A loop pattern with n triples gets a share of the rows that goes with n^balance."""

    @model_validator(mode="after")
    def _name_each_once(self) -> Self:
        if len(set(self.dialects)) < len(self.dialects):
            raise ValueError(f"more_dialects: one is named twice: {', '.join(self.dialects)}")
        return self

    @property
    def dialects(self) -> tuple[str, ...]:
        """Every language of the run, the main one first."""
        return (self.dialect, *self.more_dialects)

    def tasks(self, problems: Iterable[Problem]) -> list[Task]:
        """Each problem in each language."""
        return [Task(problem=one, dialect=it) for one in problems for it in self.dialects]

    @property
    def taught_suite(self) -> str:
        """The suite whose triples SFT learns from."""
        return self.sft_suite or self.train_suite


class JudgeSection(Section):
    """The judge of all stages."""

    workers: int | None = Field(default=None, ge=1)
    """Answers judged at the same time on a machine; null: one a core, and where a GPU replays them
    at most four a GPU."""
    ray_address: str | None = Field(default=None, min_length=1)
    """Ray cluster whose nodes judge (`auto` is this machine's); null judges on this machine."""
    batch_limit_s: float | None = Field(default=None, gt=0)
    """Seconds after which a batch goes on without its slowest answers; null waits for all."""
    minimum_sandbox: str = "namespaces"
    """The weakest sandbox that may run a model's code; below it the run is refused."""
    timed: bool = True
    """Whether GRPO times correct kernels, without which no speed is rewarded; evaluation does."""
    precision: Precision = Precision.IEEE
    """How float32 is multiplied on a GPU, by PyTorch's side and where answers may: `ieee`, or
    `tf32`, with tolerances that allow it."""
    profile: bool = False
    """Whether Nsight Compute counts correct kernels on a GPU, for the model: seconds for each."""

    @property
    def on_gpu(self) -> GpuConfig:
        """What workers are told of their GPU."""
        return GpuConfig(precision=self.precision, tools=(Tool.PROFILER,) * self.profile)

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
    max_new_tokens: int = Field(default=512, ge=16)
    """Tokens of an answer."""
    timed: bool = True
    """Whether correct answers are timed; without it there is a rate, and no speed."""
    greedy: bool = False
    """Whether trained models are also measured greedily: one timed answer to each problem."""
    before: bool = True
    """Whether the model that training starts from is measured too."""
    before_problems: int | None = Field(default=None, ge=1)
    """At most so many problems for that one; null takes as many as for the others."""
    after_sft: bool = True
    """Whether the model between SFT and GRPO is measured too."""
    baseline: Baseline = Baseline.EAGER
    """What speeds are over: `eager` PyTorch, or torch.compile (`compile`, `max-autotune`) too."""

    @property
    def also_greedy(self) -> bool:
        """Whether measurements are repeated greedily: not where they are greedy themselves."""
        return self.greedy and self.temperature > 0

    @model_validator(mode="after")
    def _samples_differ(self) -> Self:
        if self.samples > 1 and self.temperature == 0:
            raise ValueError("greedy samples are all the same: set samples 1, or a temperature")
        return self


def known_stage(name: str) -> str:
    """The name, if a recipe may choose that stage. Raises ValueError, with those that it may."""
    if name not in (names := chosen()):
        raise ValueError(
            f"no stage {name!r}{did_you_mean(name, names)} (there are: {', '.join(names)})"
        )
    return name


Stage = Annotated[str, AfterValidator(known_stage)]


class Recipe(Section):
    """One run, from the model's name to the metrics that are reported."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Names the run."""
    run_dir: Path = Field(default_factory=lambda known: Path("runs") / known.get("name", "unnamed"))
    """Folder that everything is written to; `runs/<name>` unless said otherwise."""
    seed: int = Field(default=0, ge=0)
    """Of sampling, shuffling and initialisation."""
    stages: tuple[Stage, ...] = ("sft", "grpo", "eval")
    """What is run, always in this order: that of the table in `data/runs/stages.py`."""
    model: ModelSection = ModelSection()
    """The policy."""
    data: DataSection = DataSection()
    """Problems."""
    sft: SftSection = SftSection()
    """The cold start."""
    rft: RftSection = RftSection()
    """Rejection sampling."""
    dpo: DpoSection = DpoSection()
    """Preferences."""
    grpo: GrpoSection = GrpoSection()
    """Reinforcement learning."""
    reward: str = "default"
    """Preset that prices a verdict (`rewards/`)."""
    judge: JudgeSection = JudgeSection()
    """The judge."""
    eval: EvalSection = EvalSection()
    """The measurement."""
    report_to: Literal["none", "wandb", "tensorboard", "trackio"] = "none"
    """Tracker that metrics and samples go to, besides the run's own folder."""
    project: str = Field(default="kernelwright", min_length=1)
    """What wandb and trackio file the run under."""

    @property
    def judges_triples(self) -> bool:
        """Whether anything reads the judged examples: SFT, rejection sampling, some methods."""
        reads = "grpo" in self.stages and self.grpo.method.needs_triples
        replays = "rft" in self.stages and self.rft.replay > 0
        return "sft" in self.stages or reads or replays

    @property
    def learns_examples(self) -> bool:
        """Whether a stage trains on given answers, as SFT does."""
        return not {"sft", "rft", "dpo"}.isdisjoint(self.stages)

    @field_validator("reward")
    @classmethod
    def _reward_is_known(cls, name: str) -> str:
        if refusal := refused_in_training(name):
            raise ValueError(refusal)
        if name not in PRESETS:
            raise ValueError(
                f"no reward preset is named {name!r}{did_you_mean(name, PRESETS)} "
                f"(there are: {', '.join(sorted(PRESETS))})"
            )
        return name

    @field_validator("stages")
    @classmethod
    def _stages_are_distinct(cls, stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
        if not stages:
            raise ValueError(f"no stage is named (there are: {', '.join(chosen())})")
        if len(set(stages)) < len(stages):
            raise ValueError(f"a stage is named twice: {', '.join(stages)}")
        return stages

    @field_validator("judge")
    @classmethod
    def _method_has_its_speeds(cls, judge: JudgeSection, info: ValidationInfo) -> JudgeSection:
        grpo = info.data.get("grpo")
        if grpo and grpo.method.needs_speeds and not judge.timed:
            raise ValueError(METHOD_NEEDS_SPEEDS.format(grpo.method.name))
        return judge

    @field_validator("eval")
    @classmethod
    def _baseline_is_measured_where_kernels_are(
        cls, section: EvalSection, info: ValidationInfo
    ) -> EvalSection:
        judge, baseline = info.data.get("judge"), section.baseline
        if baseline is not Baseline.EAGER and judge and judge.ray_address:
            raise ValueError(COMPILES_ON_THIS_MACHINE.format(baseline.value))
        if baseline is not Baseline.EAGER and judge and judge.precision is Precision.TF32:
            raise ValueError(COMPILES_IN_IEEE.format(baseline.value))
        return section
