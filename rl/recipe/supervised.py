"""Sections of the stages that learn from given answers: `sft`, `rft` and `dpo`."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from kernelwright.rl.recipe.trl_options import dpo_option, sft_option, typed
from kernelwright.rl.section import Section


class SftSection(Section):
    """The cold start: supervised fine-tuning on judged triples."""

    epochs: float = Field(default=1.0, gt=0)
    """Passes over the triples."""
    tokens: int | None = Field(default=None, ge=1)
    """Tokens of answers to learn from, in place of `epochs`: triples are gone through in order,
    again and again, until there are so many. Null goes by `epochs`."""
    learning_rate: float = Field(default=5e-4, gt=0, lt=1)
    """Peak learning rate."""
    batch_size: int = Field(default=8, ge=1)
    """Triples in an optimiser step, over all processes; each takes one at least."""
    micro_batch_size: int = Field(default=8, ge=1, validate_default=True)
    """Triples in one forward pass of one process; lower it to save memory."""
    max_length: int = Field(default=768, ge=16)
    """Tokens of a triple; a longer one is left out: cut, it would teach answers without an end."""
    mending: float = Field(default=0.0, ge=0)
    """Examples of mending for each triple: a chat with a broken kernel and the judge's words, which
    the right kernel answers. A `data:FOLDER` that was built with `--mutants` has them."""
    trainer: dict[Annotated[str, AfterValidator(sft_option)], Any] = Field(default={})
    """Any other option of TRL's SFTConfig."""

    @field_validator("trainer")
    @classmethod
    def _options_have_types(cls, trainer: dict[str, Any]) -> dict[str, Any]:
        return typed(trainer, "SFTConfig")

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


class RftSection(Section):
    """Rejection sampling: in rounds the policy answers, and learns from its own correct answers."""

    rounds: int = Field(default=2, ge=1)
    """Rounds of sampling, judging and training; each goes on from the adapter of the last."""
    problems: int | None = Field(default=64, ge=1)
    """Problems of the training suite in a round, other ones each time; null takes all."""
    samples: int = Field(default=4, ge=1)
    """Answers to each."""
    retries: int = Field(default=0, ge=0)
    """Further answers to each problem that none of those solved."""
    skip_solved: bool = False
    """Leaves out problems all of whose answers are right, unless all are: they have the least to
    teach."""
    temperature: float = Field(default=1.0, gt=0)
    """Sampling temperature."""
    max_new_tokens: int = Field(default=512, ge=16)
    """Tokens of an answer."""
    kept_per_problem: int = Field(default=2, ge=1)
    """Correct answers of a problem that are learned from: the shortest, then the fastest."""
    replay: float = Field(default=0.5, ge=0)
    """Examples of SFT beside them, as a share of their number."""
    epochs: float = Field(default=1.0, gt=0)
    """Passes over a round's rows. Batches and lengths are those of `sft`."""
    learning_rate: float = Field(default=5e-4, gt=0, lt=1)
    """Peak learning rate of a round."""

    @model_validator(mode="after")
    def _leave_something(self) -> Self:
        if self.skip_solved and self.samples + self.retries < 2:
            raise ValueError("skip_solved leaves nothing of one answer: raise samples or retries")
        return self


class DpoSection(Section):
    """Preferences (DPO): of two answers to a prompt the better one becomes likelier."""

    pairs: str | None = None
    """`data:FOLDER` or `rows:FOLDER`, whose right and wrong answers are paired; null pairs those
    that this run has sampled."""
    pairs_per_prompt: int = Field(default=2, ge=1)
    """Pairs of one prompt at most."""
    beta: float = Field(default=0.1, gt=0)
    """How strongly the policy is held to what it was before."""
    epochs: float = Field(default=1.0, gt=0)
    """Passes over the pairs."""
    learning_rate: float = Field(default=5e-5, gt=0, lt=1)
    """Peak learning rate."""
    batch_size: int = Field(default=4, ge=1)
    """Pairs in an optimiser step, over all processes."""
    micro_batch_size: int = Field(default=1, ge=1)
    """Pairs in one forward pass of one process."""
    max_length: int = Field(default=1024, ge=16)
    """Tokens of a prompt and an answer; pairs with a longer one are left out."""
    trainer: dict[Annotated[str, AfterValidator(dpo_option)], Any] = Field(default={})
    """Any other option of TRL's DPOConfig."""

    @field_validator("trainer")
    @classmethod
    def _options_have_types(cls, trainer: dict[str, Any]) -> dict[str, Any]:
        return typed(trainer, "DPOConfig")
