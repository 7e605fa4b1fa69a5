"""An adapter on disk: its folder, and the base model that it was trained over."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from kernelwright.data.runs.folder import Folder
from kernelwright.rl.models.load import Quantization
from kernelwright.rl.models.weights import EMBEDDED, ModelError

ADAPTER_CONFIG, SIDECAR = "adapter_config.json", "kernelwright.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """A folder that PEFT wrote, the base model it belongs to, and how that was held in training."""

    folder: Path
    base: str
    quantization: Quantization


def find_adapter(model: str) -> Adapter | None:
    """The adapter in a folder or at the end of a run's; None where the name means a whole model."""
    for folder in (Path(model), Path(model) / "checkpoints" / "final"):
        if (folder / ADAPTER_CONFIG).is_file():
            config = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))
            sidecar = folder / SIDECAR
            known = json.loads(sidecar.read_text(encoding="utf-8")) if sidecar.is_file() else {}
            return Adapter(
                folder=folder,
                base=known.get("base") or _embedded_name(config["base_model_name_or_path"]),
                quantization=known.get("quantization", "none"),
            )
    if Folder(Path(model)).recipe_file.is_file():
        raise ModelError(f"{model} is a run that has not finished: no checkpoints/final in it")
    return None


def _embedded_name(hub_id: str) -> str:
    """The embedded model with this Hub id, else the id itself."""
    return next((name for name, one in EMBEDDED.items() if one.hub_id == hub_id), hub_id)
