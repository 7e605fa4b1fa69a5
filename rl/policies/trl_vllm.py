"""TRL's private method that samples from its vLLM, apart from `rl/train/trl_adapter.py`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kernelwright.rl.policies.decode import Sampled


def vllm_sample(
    trainer: Any, prompts: list[list[int]], end_token_ids: Collection[int]
) -> list[Sampled]:
    """A completion of each prompt by TRL's vLLM, whose weights TRL has brought up to date."""
    completions, logprobs = trainer._generate_single_turn(prompts, None, {}, 1)
    return [
        Sampled(token_ids=tuple(ids), logprobs=tuple(known), ended=ids[-1] in end_token_ids)
        for ids, known in zip(completions, logprobs, strict=True)
    ]
