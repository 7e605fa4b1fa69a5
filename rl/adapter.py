"""The trained part of the policy: a LoRA adapter over a frozen base."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rl.config import Recipe
from rl.models import errors_in_one_line, hub_id, load_base, load_tokenizer, resolve

SIDECAR = "kernelwright.json"


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


def load_policy_model(recipe: Recipe, adapter: Path | None) -> Any:
    """The base model, with this adapter ready to be trained on if one is given."""
    base = load_base(
        recipe.model.name, quantization=recipe.model.quantization, dtype=recipe.model.dtype
    )
    if adapter is None:
        return base
    from peft import PeftModel

    with errors_in_one_line(str(adapter)):
        model = PeftModel.from_pretrained(base, str(adapter), is_trainable=True)
    # Checkpoints ask this name for its vocabulary; a Hub id would be asked over the network.
    model.peft_config["default"].base_model_name_or_path = resolve(recipe.model.name)
    return model


def fresh_adapter(recipe: Recipe) -> Any:
    """The base model with a new adapter, for a run that starts with GRPO."""
    from peft import get_peft_model

    return get_peft_model(load_policy_model(recipe, None), lora_config(recipe))


def train_in_float32(model: Any) -> None:
    """Makes every trained parameter float32 again; call it once a trainer has been made.

    TRL casts the adapter of a quantised base to bfloat16, and Adam's moments with it. Steps of
    1e-4 then round to nothing for most weights, and the second moment stops growing (0.001 of it is
    less than half a unit in the last place). A resumed run loaded float32 and trained differently.
    """
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()


def save_adapter(model: Any, recipe: Recipe, folder: Path) -> Path:
    """Writes adapter, tokenizer and what they were trained over; `rl.policies` reads it back."""
    model.save_pretrained(str(folder))
    load_tokenizer(recipe.model.name).save_pretrained(str(folder))
    config_path = folder / "adapter_config.json"
    config = json.loads(config_path.read_text())
    config["base_model_name_or_path"] = hub_id(recipe.model.name)
    config_path.write_text(json.dumps(config, indent=2) + "\n")
    sidecar = {"base": recipe.model.name, "quantization": recipe.model.quantization}
    (folder / SIDECAR).write_text(json.dumps(sidecar) + "\n")
    return folder
