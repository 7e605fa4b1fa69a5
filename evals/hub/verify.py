"""Measures an adapter, or whole weights, as they were published, beside what the run measured.

A GGUF file was held against the weights when it was written, so it is compared by its hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kernelwright.data.runs.progress import logged
from kernelwright.data.suites.load import Suite, load_suite
from kernelwright.envs.judge import BatchJudge
from kernelwright.envs.types import Problem, content_hash
from kernelwright.evals.evaluate.model import evaluate_model, held_alone
from kernelwright.evals.evaluate.run import settings_of
from kernelwright.evals.hub.card import read_recipe
from kernelwright.evals.hub.publish import MERGED
from kernelwright.evals.hub.upload import PublishError, sha256_of
from kernelwright.evals.numbers.compare import Comparison, Side, compare, read_side
from kernelwright.rl.models.adapter_folder import find_adapter
from kernelwright.rl.models.load import at_revision, errors_in_one_line, weights_folder
from kernelwright.rl.recipe.schema import Recipe

FOLDER = "verified"
"""Of a run: an evaluation for each name and adapter that was verified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What is measured: `name` says it to a reader, `model` is what loads it, and `whole` is the
    folder of the weights that were published, None for an adapter."""

    name: str
    model: str
    whole: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What is published beside its run: `same` of `asked` answers are the run's own, to the
    letter."""

    comparison: Comparison
    same: int
    asked: int


def parts_of(published: str, tree: Path) -> list[Part]:
    """What a repository, or a folder, holds that answers: the adapter, and whole weights beside it
    where the folder `tree` that was published has some. Raises PublishError where it lacks them, or
    has another GGUF file than the tree, and ModelError."""
    whole, files = tree / MERGED, sorted(tree.glob("*.gguf"))
    folder = downloaded(published, [f"{MERGED}/*", "*.gguf"]) if whole.is_dir() or files else tree
    for file in files:
        if sha256_of(folder / file.name) != sha256_of(file):
            raise PublishError(f"{published} lacks {file.name}, or has another: publish it again")
    found = [Part(name=published, model=published)]
    if whole.is_dir():
        if not (folder / MERGED).is_dir():
            raise PublishError(f"{published} lacks {MERGED}/: publish it again")
        merged = str(folder / MERGED)
        found.append(Part(name=f"{published}, {MERGED}/", model=merged, whole=whole))
    return found


def verify(
    run_dir: Path,
    part: Part,
    versions: Mapping[str, str],
    judges: Callable[[Recipe], BatchJudge],
) -> Verified:
    """Asks what was published the run's held-out problems, and judges its answers.

    They are sampled with the run's seeds, and the model is loaded as a stranger would load it. It
    holds the run's adapter, or the weights that were published. An interrupted verification goes on
    at the next call. `versions` go into its records, `judges` opens the recipe's judge. Raises
    PublishError where another model is found, EvalError where another process verifies, ModelError,
    and ValueError where the run did not measure its adapter.
    """
    run, recipe = read_side(f"{run_dir}:after"), read_recipe(run_dir)
    suite = Suite(spec=recipe.data.held_out_suite, problems=_problems(recipe, run))
    published, whole = part.model, part.whole
    weights = _same_weights(whole, published) if whole else _same_adapter(run_dir, published)
    folder = run_dir / FOLDER / content_hash(part.name, weights)
    with held_alone(folder), logged(folder):
        settings = settings_of(recipe, versions)
        judge = partial(judges, recipe)
        evaluate_model(published, suite, settings, folder, resume=True, judges=judge)
    found = read_side(str(folder))
    said = {one.row: (one.problem_key, one.completion) for one in run.records}
    same = sum(said.get(one.row) == (one.problem_key, one.completion) for one in found.records)
    return Verified(comparison=compare(run, found), same=same, asked=len(run.records))


def _same_adapter(run_dir: Path, published: str) -> str:
    """The hash of the published adapter, which is the run's. Raises PublishError, ModelError."""
    adapter = find_adapter(published)
    if adapter is None:
        raise PublishError(f"{published} holds no adapter")
    own = find_adapter(str(run_dir))
    if own is None or own.weights_sha256 != adapter.weights_sha256:
        raise PublishError(f"{published} holds another adapter than {run_dir}: publish it again")
    return adapter.weights_sha256


def _same_weights(whole: Path, published: str) -> str:
    """The hash of published whole weights, which are those of a folder. Raises PublishError,
    ModelError."""
    if find_adapter(published) is not None:
        raise PublishError(f"{published} holds an adapter, not whole weights")
    hashes = [_weights_sha256(one) for one in (whole, weights_folder(published))]
    if hashes[0] != hashes[1]:
        raise PublishError(f"{published} holds other weights than {whole}: publish it again")
    return hashes[0]


def downloaded(published: str, patterns: list[str]) -> Path:
    """The folder of these files."""
    if Path(published).is_dir():
        return Path(published)
    from huggingface_hub import snapshot_download

    repo, revision = at_revision(published)
    with errors_in_one_line(published):
        return Path(snapshot_download(repo, revision=revision, allow_patterns=patterns))


def _weights_sha256(folder: Path) -> str:
    """Of all files of weights by their names."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            digest.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _problems(recipe: Recipe, run: Side) -> tuple[Problem, ...]:
    """Those that the run was asked, in its order."""
    keys = [one.problem_key for one in sorted(run.records, key=lambda one: one.row)]
    known = load_suite(recipe.data.held_out_suite).by_key()
    if missing := set(keys) - known.keys():
        raise PublishError(
            f"{len(missing)} of the problems that it was measured on are not in "
            f"{recipe.data.held_out_suite} as it is today"
        )
    return tuple(known[key] for key in dict.fromkeys(keys))
