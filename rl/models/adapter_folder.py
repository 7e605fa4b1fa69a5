"""An adapter on disk or on the Hub: its folder, and the base model that it was trained over."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.data.runs.folder import DamagedError, Folder, mapping
from kernelwright.envs.codec import read_json
from kernelwright.rl.models.checkpoints import ADAPTER
from kernelwright.rl.models.load import (
    MAIN,
    Quantization,
    at_revision,
    errors_in_one_line,
    hub_answers,
)
from kernelwright.rl.models.weights import EMBEDDED, ModelError

ADAPTER_CONFIG, SIDECAR = "adapter_config.json", "kernelwright.json"
FILES = [ADAPTER_CONFIG, SIDECAR, ADAPTER]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """A folder that PEFT wrote, the base model it belongs to, and how that was held in training.

    One that was published also knows the dialect that it was trained to write, and how many tokens
    an answer had at most.
    """

    folder: Path
    base: str
    quantization: Quantization
    dialect: str | None = None
    max_new_tokens: int | None = None

    @property
    def weights(self) -> Path:
        """The file of its tensors."""
        return self.folder / ADAPTER

    @property
    def weights_sha256(self) -> str:
        with self.weights.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def find_adapter(model: str) -> Adapter | None:
    """The adapter in a folder, at the end of a run's, or in a repository of the Hub (owner/name, or
    owner/name@REVISION), which is downloaded; None where the name means a whole model.

    Raises ModelError for a run that has not finished, and where the Hub has only a part of it.
    """
    own = Path(model)
    folders = [own, own / "checkpoints" / "final"] if own.exists() else _of_hub(model)
    for folder in folders:
        if (folder / ADAPTER_CONFIG).is_file():
            known = sidecar_of(folder)
            return Adapter(
                folder=folder,
                base=known.get("base") or _base_of(folder / ADAPTER_CONFIG),
                quantization=known.get("quantization", "none"),
                dialect=known.get("dialect"),
                max_new_tokens=known.get("max_new_tokens"),
            )
    if Folder(Path(model)).recipe_file.is_file():
        raise ModelError(f"{model} is a run that has not finished: no checkpoints/final in it")
    return None


def sidecar_of(folder: Path) -> dict[str, Any]:
    """What an adapter's folder says that PEFT does not know; nothing where it lacks the file."""
    return _mapping(folder / SIDECAR)


def _mapping(file: Path) -> dict[str, Any]:
    try:
        return mapping(file, read_json) or {}
    except DamagedError as error:
        raise ModelError(str(error)) from None


def _of_hub(name: str) -> list[Path]:
    """The folder of an adapter's repository; none where the Hub, or else an earlier download, has
    no adapter of this name. Raises ModelError where the Hub does not say whether it has one: the
    model would be loaded without it, and give other numbers."""
    from huggingface_hub import hf_hub_download, snapshot_download
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    repo, revision = at_revision(name)
    if name in EMBEDDED or repo.count("/") != 1:
        return []
    offline = not hub_answers()
    with errors_in_one_line(name):
        try:
            hf_hub_download(repo, ADAPTER_CONFIG, revision=revision, local_files_only=offline)
        except (GatedRepoError, LocalEntryNotFoundError):
            if offline:
                return []
            raise
        except (EntryNotFoundError, HFValidationError, RepositoryNotFoundError):
            return []
    with errors_in_one_line(name):
        found = snapshot_download(
            repo, revision=revision, allow_patterns=FILES, local_files_only=offline
        )
        return [Path(found)]


def _base_of(config: Path) -> str:
    """The base model that PEFT names: an embedded one by its Hub id, else with its revision. Raises
    ModelError where it names none."""
    known = _mapping(config)
    named, revision = known.get("base_model_name_or_path"), known.get("revision")
    if not isinstance(named, str):
        raise ModelError(f"{config}: it names no base model")
    asked = revision not in (None, MAIN) and not Path(named).exists()
    whole = f"{named}@{revision}" if asked else named
    return next((name for name, one in EMBEDDED.items() if one.hub_id == whole), whole)
