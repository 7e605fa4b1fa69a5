"""A trained run in, a model folder for the Hub out: adapter, tokenizer, card, numbers, report."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import escape

from data.store import read_records
from envs.types import Record
from evals.report import SIDE_NAMES, clock, flat, percent, speedup
from evals.summary import SIDES, read_summary
from rl.config import Recipe
from rl.models import hub_id
from rl.weights import EMBEDDED

REQUIRED = ("adapter_model.safetensors", "adapter_config.json", "tokenizer_config.json")
COPIED = (
    "adapter_model.safetensors",
    "kernelwright.json",
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


class PublishError(ValueError):
    """This run cannot be published; the message says what to do."""


def publish(run_dir: Path, to: str, *, dry_run: bool) -> Path:
    """Writes `run_dir/publish/` and, unless `dry_run`, uploads it to the Hub repository `to`.

    Returns the folder. Raises PublishError, in one line, where something is missing.
    """
    if not re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", to):
        raise PublishError(f"{to!r} is no Hub repository: give owner/name")
    if not dry_run:
        _require_token()
    tree = write_tree(run_dir, to)
    if not dry_run:
        _upload(tree, to)
    return tree


def write_tree(run_dir: Path, repo: str) -> Path:
    """Everything that gets published, in a fresh `run_dir/publish/`."""
    final = run_dir / "checkpoints" / "final"
    needed = [run_dir / name for name in ("summary.json", "recipe.resolved.yaml")]
    for path in (*needed, *(final / name for name in REQUIRED)):
        if not path.is_file():
            raise PublishError(f"{path} is missing: finish the run first (--resume continues it)")
    summary = read_summary(run_dir)
    here, suite = summary["suite"], _public_suite(summary["suite"])
    summary["suite"] = suite
    base = _public_base(summary["model"])
    card = model_card(run_dir, repo, base, summary)
    tree = run_dir / "publish"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    for name in COPIED:
        if (final / name).is_file():
            shutil.copyfile(final / name, tree / name)
    for name in ("summary.json", "report.html"):
        if (run_dir / name).is_file():
            text = (run_dir / name).read_text(encoding="utf-8")
            text = text.replace(here, suite).replace(str(escape(here)), str(escape(suite)))
            (tree / name).write_text(text, encoding="utf-8")
    config = json.loads((final / "adapter_config.json").read_text(encoding="utf-8"))
    config["base_model_name_or_path"] = base
    (tree / "adapter_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    (tree / "README.md").write_text(card, encoding="utf-8", errors="replace")
    return tree


def model_card(run_dir: Path, repo: str, base: str, summary: Mapping[str, Any]) -> str:
    """The README: front matter for the Hub, measured results, how to use it, limits."""
    recipe = _recipe(run_dir / "recipe.resolved.yaml")
    env = run_dir / "env.json"
    nf4 = recipe.model.quantization == "nf4"
    page: str = _template().render(
        front_matter=_front_matter(repo, base, summary),
        repo=repo,
        base=base,
        summary=summary,
        sides={SIDE_NAMES[name]: side for name, side in summary["held_out"].items()},
        gains={
            " to ".join(SIDE_NAMES[side] for side in name.split("_to_")): gain
            for name, gain in summary["gains"].items()
        },
        environment=flat(json.loads(env.read_text(encoding="utf-8"))) if env.is_file() else [],
        nf4=nf4,
        prompt=_python_text(_example_prompt(read_records(run_dir))),
        dtype="float32" if recipe.model.dtype == "float32" else "bfloat16",
        max_new_tokens=recipe.eval.max_new_tokens,
        precision=_precision(summary["model"], nf4),
    )
    return page


def _recipe(path: Path) -> Recipe:
    try:
        return Recipe.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, ValueError) as error:
        why = " ".join(str(error).split())
        raise PublishError(f"{path}: not a recipe of this version: {why}") from None


def _front_matter(repo: str, base: str, summary: Mapping[str, Any]) -> str:
    head: dict[str, Any] = {
        "base_model": base,
        "base_model_relation": "adapter",
        "library_name": "peft",
        "pipeline_tag": "text-generation",
        "tags": ["kernelwright", "kernels", "lora", "reinforcement-learning", summary["dialect"]],
    }
    if summary["model"] in EMBEDDED:
        head = {"license": "apache-2.0", **head}
    results = _results(summary)
    if results:
        head["model-index"] = [{"name": repo.split("/")[1], "results": results}]
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---"


def _results(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The numbers after training, in the Hub's own layout."""
    side = summary["held_out"].get("after", {})
    named = {"correct_rate": "correct rate", "fast_1": "fast_1", "geomean_speedup": "speedup"}
    metrics = [
        {"type": key, "name": f"{name}, held out", "value": round(side[key], 4)}
        for key, name in named.items()
        if side.get(key) is not None
    ]
    dataset = {"type": summary["suite"], "name": summary["suite"]}
    task = {"type": "text-generation", "name": "kernel generation"}
    return [{"task": task, "dataset": dataset, "metrics": metrics}] if metrics else []


def _precision(model: str, nf4: bool) -> str:
    loaded = "in NF4 (4 bit, as in the code above)" if nf4 else "unquantised"
    if model in EMBEDDED:
        return (
            "Training and measuring used weights dequantised from a GGUF file of the base model, "
            f"loaded {loaded}. On the original weights the completions may differ a little."
        )
    return f"Training and measuring loaded the base model {loaded}."


def _public_base(model: str) -> str:
    """The base model under a name that means something on another machine."""
    if model not in EMBEDDED and Path(model).exists():
        raise PublishError(
            f"the base model is the local folder {model}, which others lack: train from a Hub id"
        )
    return hub_id(model)


def _public_suite(spec: str) -> str:
    """The suite's spec without the folders of this machine.

    >>> _public_suite("kernelbench:/home/me/KernelBench?levels=1&admission=/home/me/a.json")
    'kernelbench:KernelBench?levels=1'
    """
    kind, _, rest = spec.partition(":")
    if kind != "kernelbench":
        return spec
    folder, _, query = rest.partition("?")
    kept = "&".join(one for one in query.split("&") if not one.startswith("admission="))
    return f"{kind}:{Path(folder).name}" + (f"?{kept}" if kept else "")


def _example_prompt(records: list[Record]) -> str:
    """The prompt of a measured kernel that was correct, else of any."""
    measured = [one for one in records if one.stage in SIDES]
    if not measured:
        raise PublishError("nothing was measured in this run: the card would hold no number")
    return max(measured, key=lambda one: one.evaluation.verdict == "correct").prompt


def _python_text(text: str) -> str:
    r"""`text` as it stands between three double quotes in Python.

    >>> _python_text('a\\b')
    'a\\\\b'
    """
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def _template() -> Any:
    environment = Environment(  # Markdown: nothing to escape, and no text of the model's in it
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"percent": percent, "speedup": speedup, "clock": clock}
    return environment.get_template("card.md.j2")


def _require_token() -> None:
    from huggingface_hub import get_token

    if get_token() is None:
        raise PublishError("no Hub token: run `hf auth login` or set HF_TOKEN, or use --dry-run")


def _upload(tree: Path, repo: str) -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi()
    try:
        api.create_repo(repo, exist_ok=True, private=False)
        api.upload_folder(repo_id=repo, folder_path=tree, commit_message="Publish a trained run")
    except (HfHubHTTPError, OSError) as error:
        line = str(error).strip().splitlines()[0]
        raise PublishError(f"the Hub refused {repo}: {line}") from error
