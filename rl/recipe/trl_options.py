"""The TRL options that a recipe may pass through, and the replacement for each of the others."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

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
UNSUPPORTED = ("fsdp", "fsdp_config", "deepspeed")
"""Sampling reads whole weights, and the first process saves them: neither is so with shards."""
OWN_DISTRIBUTION = "answers are sampled from the model's own distribution (grpo.temperature)"
UNREAD = {
    "resume_from_checkpoint": "nothing reads this; --resume goes on with a run",
    "save_only_model": "a checkpoint without its optimiser cannot be gone on from",
    "do_(train|eval|predict)": "nothing reads this; `stages` says what a run does",
    "eval_on_start|eval_strategy|load_best_model_at_end": (
        "nothing reads this; `stages` and grpo.validate_every measure"
    ),
    "top_[pk]|min_p|repetition_penalty|generation_kwargs": OWN_DISTRIBUTION,
    "cache_implementation|(use_)?transformers_(continuous_batching|paged).*": (
        "nothing reads this; grpo.generation samples"
    ),
    "num_generations_eval": "nothing reads this; grpo.validation_samples says how many",
    "max_tool_calling_iterations": "nothing reads this; grpo.method plays the turns",
    "chat_template_kwargs": "nothing reads this; prompts have the model's chat format as it is",
    "vllm_(?!importance).*": "nothing reads this; grpo.server names the server that is asked",
}
"""Options that would change nothing here, or break something, as patterns; and why."""
SFT_KEYS = {
    **SHARED_WITH_TRL,
    "num_train_epochs": "epochs",
    "max_steps": "epochs",
    "gradient_accumulation_steps": "batch_size",
    "max_length": "max_length",
}
DPO_KEYS = {**SFT_KEYS, "beta": "beta"}
GRPO_KEYS = {
    **SHARED_WITH_TRL,
    "num_generations": "group_size",
    "max_steps": "steps",
    "num_train_epochs": "steps",
    "gradient_accumulation_steps": "groups_per_step",
    "generation_batch_size": "steps_per_generation",
    "steps_per_generation": "steps_per_generation",
    "num_iterations": "iterations",
    "save_steps": "steps_per_generation",
    "temperature": "temperature",
    "max_completion_length": "max_completion_length",
    "use_vllm": "generation",
}


RENAMED = {
    "gradient_checkpointing": "activation_checkpointing",
    "gradient_checkpointing_kwargs": "activation_checkpointing_kwargs",
}
"""transformers reads the old name only where the new one was not set, and ours is always."""


HEAD = "lm_head"
"""The output layer, as transformers calls it."""


def _adaptable(targets: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """The layers, if TRL trains an adapter of each. Raises ValueError."""
    if HEAD in targets:
        raise ValueError(f"no stage trains an adapter of {HEAD}: leave it out")
    return targets


Targets = Annotated[Literal["all-linear"] | tuple[str, ...], AfterValidator(_adaptable)]


def did_you_mean(word: str, known: Mapping[str, Any] | list[str]) -> str:
    """`; did you mean 'x'?` for the nearest known word; empty where none is near."""
    near = get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


@lru_cache
def trl_fields(config_class: str) -> dict[str, str]:
    """Option of one of TRL's config classes → its type (`scripts/trl_fields.py` writes them)."""
    known = json.loads(Path(__file__).with_name("trl_fields.json").read_text(encoding="utf-8"))
    return dict(known[config_class])


def typed(options: dict[str, Any], config_class: str) -> dict[str, Any]:
    """The options, if each has the type that TRL declares. Raises ValueError.

    TRL itself takes a value of any type, and fails in the first step that uses it.
    """
    plain = {"bool": (bool,), "int": (int,), "float": (int, float), "str": (str, bool)}
    for key, value in options.items():
        kinds = trl_fields(config_class)[key].split(" | ")
        if not set(kinds) <= {*plain, "None"} or (value is None and "None" in kinds):
            continue
        allowed = [one for kind in kinds for one in plain.get(kind, ())]
        if type(value) not in allowed:
            raise ValueError(f"{key}: TRL wants {' or '.join(kinds)}, not {value!r}")
    return options


def sft_option(key: str) -> str:
    """The option, if `sft.trainer` may hold it. Raises ValueError with what to set instead."""
    return _trl_option(key, "SFTConfig", "sft", SFT_KEYS)


def dpo_option(key: str) -> str:
    """The same for `dpo.trainer`."""
    return _trl_option(key, "DPOConfig", "dpo", DPO_KEYS)


def grpo_option(key: str) -> str:
    """The same for `grpo.trainer`."""
    return _trl_option(key, "GRPOConfig", "grpo", GRPO_KEYS)


def _trl_option(key: str, config_class: str, section: str, owned: Mapping[str, str]) -> str:
    if key in owned:
        raise ValueError(f"the recipe decides this; set {section}.{owned[key]} instead")
    if key in RUN_KEYS:
        raise ValueError(f"the recipe decides this; set {RUN_KEYS[key]} instead")
    if key in UNSUPPORTED:
        raise ValueError("not supported: every process holds the whole model, in NF4 if need be")
    for pattern, why in UNREAD.items():
        if re.fullmatch(pattern, key) and key in trl_fields(config_class):
            raise ValueError(why)
    if RENAMED.get(key) in trl_fields(config_class):
        raise ValueError(f"transformers calls it {RENAMED[key]}")
    if key not in trl_fields(config_class):
        hint = did_you_mean(key, trl_fields(config_class))
        raise ValueError(f"TRL's {config_class} has no such option{hint}")
    return key
