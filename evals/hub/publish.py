"""A trained run in, a model folder for the Hub out: adapter, tokenizer, card, numbers, report."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import escape

from kernelwright.data.runs.folder import Folder
from kernelwright.data.runs.records import read_records
from kernelwright.data.suites.load import public_spec
from kernelwright.evals.hub.card import model_card, read_recipe
from kernelwright.evals.hub.leaderboard import FILE, entries, write_entries
from kernelwright.evals.hub.upload import (
    PublishError,
    Target,
    Tree,
    fresh,
    require_token,
    upload,
    write_card,
)
from kernelwright.evals.numbers.summary import SIDES, read_summary
from kernelwright.rl.models.adapter_folder import SIDECAR, sidecar_of
from kernelwright.rl.models.load import at_revision, hub_id
from kernelwright.rl.models.weights import EMBEDDED, ModelError

if TYPE_CHECKING:
    from kernelwright.rl.models.gguf_file import GgufFile, MatrixType
    from kernelwright.rl.models.merge import Merged

REQUIRED = ("adapter_model.safetensors", "adapter_config.json", "tokenizer_config.json")
COPIED = (
    "adapter_model.safetensors",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
)
"""What leaves the machine; optimizer states, arguments and paths stay."""
PAGES = ("summary.json", "report.html")
"""What was measured, as numbers and as a page."""
MERGED = "merged"
"""Folder of the whole weights beside the adapter."""
REPLACED = (f"{MERGED}/*", "*.gguf", str(FILE))
"""What is deleted in a repository where it is not published again: it is of earlier weights."""
SHARDS = ("*.safetensors", "*.safetensors.index.json")
"""The same in a repository of whole weights."""
TEXTS_COMPARED = 4
"""Prompts, with what the model answered, that merged weights are tried on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What is published beside an adapter.

    `merged` adds the weights of base and adapter in one; `merged_to` gives them a repository of
    their own, where servers find them. `gguf` adds a file of them for llama.cpp, and `measured_on`
    is the Hub's data set whose leaderboard gets the figures.
    """

    merged: bool = False
    merged_to: Target | None = None
    gguf: MatrixType | None = None
    measured_on: str | None = None

    @property
    def whole(self) -> bool:
        """Whether base and adapter have to be merged."""
        return self.merged or self.merged_to is not None or self.gguf is not None


def publish(
    run_dir: Path,
    to: Target,
    extras: Extras = Extras(),
    *,
    dry_run: bool,
    out: Path | None = None,
) -> list[str]:
    """Writes `out`, `run_dir/publish/` if None, and uploads it to the Hub unless `dry_run`.

    Returns the address of each repository, that of the adapter first; of a dry run the folders.
    Raises PublishError, in one line, where something is missing.
    """
    if not dry_run:
        require_token()
    if extras.merged_to and extras.merged_to.repo == to.repo:
        raise PublishError(
            f"{to.repo} gets the adapter: give whole weights a repository of their own"
        )
    trees = write_trees(run_dir, to, extras, out)
    if dry_run:
        return [str(tree.folder) for tree in trees]
    targets = [to, extras.merged_to] if extras.merged_to else [to]
    return upload(list(zip(targets, trees, strict=True)))


def write_trees(
    run_dir: Path, to: Target, extras: Extras = Extras(), out: Path | None = None
) -> list[Tree]:
    """Everything that gets published, in new folders: that of the adapter, and of whole weights
    that have a repository of their own."""
    final = run_dir / "checkpoints" / "final"
    needed = [run_dir / "summary.json", Folder(run_dir).recipe_file]
    for path in (*needed, *(final / name for name in REQUIRED)):
        if not path.is_file():
            raise PublishError(f"{path} is missing: finish the run first (--resume continues it)")
    summary = read_summary(run_dir)
    here, suite = summary["suite"], public_spec(summary["suite"])
    summary["suite"] = suite
    base = _public_base(summary["model"])
    model_card(run_dir, to, base, summary)  # before minutes are spent on merging
    figures = entries(summary, extras.measured_on) if extras.measured_on else []
    if extras.gguf:
        _check_gguf(run_dir, extras.gguf)
    beside = _beside(run_dir, extras, out)
    tree = fresh(out, run_dir / "publish")
    _copy(run_dir, tree, here, suite)
    config = json.loads((final / "adapter_config.json").read_text(encoding="utf-8"))
    named, revision = at_revision(base)
    config |= {"base_model_name_or_path": named, "revision": revision}
    (tree / "adapter_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    (tree / SIDECAR).write_text(json.dumps(_habits(run_dir, summary["dialect"])), encoding="utf-8")
    chats = _chats(run_dir) if extras.whole else ()
    whole = _write_merged(run_dir, tree, chats) if extras.whole else None
    file = _write_gguf(tree, to.repo, chats, extras.gguf) if extras.gguf else None
    if whole and beside and extras.merged_to:
        if extras.merged:
            shutil.copytree(tree / MERGED, beside, dirs_exist_ok=True)
        else:
            (tree / MERGED).replace(beside)  # it is empty
        for name in filter(lambda one: (tree / one).is_file(), PAGES):
            shutil.copyfile(tree / name, beside / name)
        write_card(beside, model_card(run_dir, extras.merged_to, base, summary, whole, alone=True))
    if not extras.merged:
        shutil.rmtree(tree / MERGED, ignore_errors=True)
    if figures:
        write_entries(tree, figures)
    write_card(tree, model_card(run_dir, to, base, summary, whole if extras.merged else None, file))
    return _trees(tree, beside)


def _trees(adapter: Path, whole: Path | None) -> list[Tree]:
    """The folders, with what only repositories of other kinds have."""
    message, kernels = "Publish a trained run", "modules/*"
    others, adapters = ("config.json", kernels), ("adapter_config.json", kernels)
    found: list[tuple[Path, tuple[str, ...], tuple[str, ...]]] = [(adapter, REPLACED, others)]
    found += [(whole, SHARDS, adapters)] if whole else []
    return [
        Tree(folder=folder, message=message, replaced=replaced, unlike=unlike, weights=True)
        for folder, replaced, unlike in found
    ]


def whole_folder(run_dir: Path, out: Path | None = None) -> Path:
    """Where whole weights are written that get a repository of their own."""
    adapters = out.resolve() if out else run_dir / "publish"
    return adapters.with_name(f"{adapters.name}-{MERGED}")


def _beside(run_dir: Path, extras: Extras, out: Path | None) -> Path | None:
    """The new folder of whole weights; None where they have no repository of their own."""
    usual = whole_folder(run_dir)
    if extras.merged_to is None:
        shutil.rmtree(usual, ignore_errors=True)
        return None
    return fresh(whole_folder(run_dir, out) if out else None, usual)


def _copy(run_dir: Path, tree: Path, here: str, suite: str) -> None:
    """The files that are published as they are, and the pages with the suite under `suite`."""
    final = run_dir / "checkpoints" / "final"
    for name in COPIED:
        if (final / name).is_file():
            shutil.copyfile(final / name, tree / name)
    for name in PAGES:
        if (run_dir / name).is_file():
            text = (run_dir / name).read_text(encoding="utf-8")
            text = text.replace(here, suite).replace(str(escape(here)), str(escape(suite)))
            (tree / name).write_text(text, encoding="utf-8")


def _habits(run_dir: Path, dialect: str) -> dict[str, object]:
    """How the base was held in training, what the model was taught to write, and at what length."""
    known = sidecar_of(run_dir / "checkpoints" / "final")
    tokens = read_recipe(run_dir).eval.max_new_tokens
    return {**known, "dialect": dialect, "max_new_tokens": tokens}


def _chats(run_dir: Path) -> list[tuple[str, str]]:
    """Prompts of this run and what was answered to them, for whole weights to be tried on."""
    measured = {one.prompt: one for one in read_records(run_dir) if one.stage in SIDES}
    return [(one.prompt, one.completion) for one in list(measured.values())[:TEXTS_COMPARED]]


def _write_merged(run_dir: Path, tree: Path, chats: Sequence[tuple[str, str]]) -> Merged:
    from kernelwright.rl.models.adapter_folder import find_adapter
    from kernelwright.rl.models.merge import MergedDtype, write_merged

    adapter = find_adapter(str(run_dir))
    if adapter is None:
        raise PublishError(f"{run_dir} has no adapter to merge")
    computed = read_recipe(run_dir).model.dtype
    dtype: MergedDtype = "float32" if computed == "float32" else "bfloat16"
    print("writing whole weights, and trying them beside base and adapter", file=sys.stderr)
    with _whole_or_nothing(tree):
        return write_merged(adapter, tree / MERGED, chats, dtype)


def _check_gguf(run_dir: Path, matrices: MatrixType) -> None:
    """Raises ModelError for a model that is not written as one."""
    from kernelwright.rl.models.adapter_folder import find_adapter
    from kernelwright.rl.models.gguf_file import described

    adapter = find_adapter(str(run_dir))
    if adapter is not None:
        described(adapter.base, adapter.folder, matrices)


def _write_gguf(
    tree: Path, repo: str, chats: Sequence[tuple[str, str]], matrices: MatrixType
) -> GgufFile:
    """One file of the merged weights, named as the repository."""
    from kernelwright.rl.models.gguf_file import write_gguf

    print("writing a GGUF file, and trying it beside the whole weights", file=sys.stderr)
    with _whole_or_nothing(tree):
        name = f"{repo.split('/')[1]}-{matrices}.gguf"
        return write_gguf(tree / MERGED, tree / name, chats, matrices)


@contextmanager
def _whole_or_nothing(tree: Path) -> Iterator[None]:
    """Removes the tree where whole weights cannot be written, or are not the model's."""
    try:
        yield
    except (ValueError, ModelError):
        shutil.rmtree(tree)
        raise


def _public_base(model: str) -> str:
    """The base model under a name that means something on another machine."""
    if model not in EMBEDDED and Path(model).exists():
        raise PublishError(
            f"the base model is the local folder {model}, which others lack: train from a Hub id"
        )
    return hub_id(model)
