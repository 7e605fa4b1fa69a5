"""The trained part of the policy: a LoRA adapter over a frozen base."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernelwright.rl.models.adapter_folder import ADAPTER_CONFIG, SIDECAR
from kernelwright.rl.models.load import (
    at_revision,
    errors_in_one_line,
    hub_id,
    load_base,
    load_tokenizer,
    resolve,
)
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.lora_products import use_lora_products


def lora_config(recipe: Recipe) -> Any:
    from peft import LoraConfig

    lora = recipe.model.lora
    targets = lora.targets if isinstance(lora.targets, str) else list(lora.targets)
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=targets,
        task_type="CAUSAL_LM",
    )


def policy_model(recipe: Recipe, adapter: Path | None) -> Any:
    """The base model with this adapter, or with a new one, ready to be trained on.

    The recipe's seed alone decides the new one: not what this process drew before, which a run that
    was interrupted does not draw again.
    """
    import torch
    from peft import PeftModel, get_peft_model

    known = recipe.model
    base = load_base(known.name, quantization=known.quantization, dtype=known.dtype)
    if adapter is None:
        torch.manual_seed(recipe.seed)
        model: Any = get_peft_model(base, lora_config(recipe))
    else:
        with errors_in_one_line(str(adapter)):
            model = PeftModel.from_pretrained(base, str(adapter), is_trainable=True)
        # Checkpoints ask this name for its vocabulary; a Hub id would be asked over the network.
        model.peft_config["default"].base_model_name_or_path = resolve(known.name)
    use_lora_products(model)
    return model


@contextmanager
def float32_kept(model: Any) -> Iterator[None]:
    """Trained parameters leave the block as they entered it, in float32; make trainers in it.

    TRL casts the adapter of a quantised base to bfloat16, and Adam's moments with it. Steps of
    1e-4 then round to nothing for most weights, and the second moment stops growing (0.001 of it is
    less than half a unit in the last place). A resumed run loaded float32 and trained differently,
    and a stage began with the adapter of the one before it rounded to 8 bits.
    """
    trained = [one for one in model.parameters() if one.requires_grad]
    values = [one.detach().float().clone() for one in trained]
    yield
    for parameter, value in zip(trained, values, strict=True):
        parameter.data = value.to(parameter.device)


def save_adapter(model: Any, recipe: Recipe, folder: Path) -> Path:
    """Writes adapter, tokenizer and what they were trained over; `rl/policies/hf.py` reads it
    back."""
    model.save_pretrained(str(folder), selected_adapters=["default"])  # TRL's reference is no part
    load_tokenizer(recipe.model.name).save_pretrained(str(folder))
    config_path = folder / ADAPTER_CONFIG
    config = json.loads(config_path.read_text())
    base, revision = at_revision(hub_id(recipe.model.name))
    config |= {"base_model_name_or_path": base, "revision": revision}
    config_path.write_text(json.dumps(config, indent=2) + "\n")
    sidecar = {"base": recipe.model.name, "quantization": recipe.model.quantization}
    (folder / SIDECAR).write_text(json.dumps(sidecar) + "\n")
    return folder
