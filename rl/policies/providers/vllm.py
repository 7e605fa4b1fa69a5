"""The vLLM that TRL runs beside the trainer, whose weights TRL keeps up to date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from kernelwright.envs.policy import Completion, OnFinished, Policy, Prompt, Sampling
from kernelwright.rl.policies.providers import base

NEEDS_PLAIN_WEIGHTS = (
    "generation 'vllm' cannot follow a model in nf4: TRL sends vLLM the merged 4-bit weights, and "
    "merging rounds most of the update away; use quantization 'none', or generation 'transformers'"
)


class TrlVllm:
    """The policy in training, sampled by TRL's vLLM.

    TRL tells vLLM the temperature and the limit once, from the same recipe, and a seed never.
    """

    def __init__(self, trainer: Any, tokenizer: Any, step: int) -> None:
        self.trainer, self.tokenizer, self.step = trainer, tokenizer, step

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        """All at once: vLLM tells of none before the last is finished."""
        from kernelwright.rl.models.chat import end_token_ids
        from kernelwright.rl.policies.hf import as_completion, prompt_token_ids
        from kernelwright.rl.policies.trl_vllm import vllm_sample

        asked = prompt_token_ids(self.tokenizer, prompts)
        ends = end_token_ids(self.trainer.model, self.tokenizer)
        found = [
            as_completion(self.tokenizer, ids, one, self.step)
            for ids, one in zip(asked, vllm_sample(self.trainer, asked, ends), strict=True)
        ]
        for number, one in enumerate(found):
            if on_finished:
                on_finished(number, one)
        return found


class Provider(base.Provider):
    """Faster than `transformers` on a GPU, which it shares with the trainer."""

    package = "vllm"
    holds_gpu_memory = True
    answers_all_processes = True
    refuses_nf4 = NEEDS_PLAIN_WEIGHTS
    trainer_options: ClassVar[dict[str, Any]] = {"use_vllm": True}

    def in_training(self, trainer: Any, tokenizer: Any, step: int) -> Policy:
        return TrlVllm(trainer, tokenizer, step)
