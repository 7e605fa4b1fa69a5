"""The model card of a run: what was measured, how it was trained, how to use it and repeat it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kernelwright.data.importers.sets.all_sets import named_by_hub
from kernelwright.data.runs.folder import DamagedError, Folder
from kernelwright.data.runs.records import read_records
from kernelwright.data.suites.load import load_suite, public_spec
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.types import Precision, Record, Verdict
from kernelwright.evals.hub.upload import PublishError, Target
from kernelwright.evals.numbers.public_name import REPOSITORY
from kernelwright.evals.numbers.summary import SIDE_NAMES, SIDES, dialects_of, float32
from kernelwright.evals.page.report import (
    clock,
    flat,
    over_the_least_time,
    percent,
    speedup,
    sure,
)
from kernelwright.rl.models.load import at_revision, hub_answers
from kernelwright.rl.models.weights import EMBEDDED
from kernelwright.rl.recipe.schema import EvalSection, ModelSection, Recipe

if TYPE_CHECKING:
    from kernelwright.rl.models.gguf_file import GgufFile
    from kernelwright.rl.models.merge import Merged

LICENCE_LIMIT_S = 5
PRIVATE = ("run_dir", "report_to", "judge.ray_address")
"""Keys of a recipe that mean something on one machine only."""


def model_card(
    run_dir: Path,
    to: Target,
    base: str,
    summary: Mapping[str, Any],
    merged: Merged | None = None,
    gguf: GgufFile | None = None,
    *,
    alone: bool = False,
) -> str:
    """The README: front matter for the Hub, measured results, how to use it, limits; `alone` is
    that of a repository which holds merged weights and no adapter."""
    recipe, records = read_recipe(run_dir), read_records(run_dir)
    env = Folder(run_dir).environment() or {}
    named, revision = at_revision(base)
    nf4, last = recipe.model.quantization == "nf4", next(reversed(summary["held_out"]), None)
    page: str = card_template("card.md.j2").render(
        front_matter=_front_matter(to.repo, base, summary, data_sets(recipe), alone=alone),
        alone=alone,
        to=to,
        base=named,
        base_revision=revision,
        summary=summary,
        dialects=dialects_of(summary),
        sides={SIDE_NAMES[name]: side for name, side in summary["held_out"].items()},
        gains={
            " to ".join(SIDE_NAMES[side] for side in name.split("_to_")): gain
            for name, gain in summary["gains"].items()
        },
        judged=judged_how(records),
        failures=failures([one for one in records if SIDES.get(one.stage) == last]),
        lights={
            SIDE_NAMES[name]: over_the_least_time(side)
            for name, side in summary["held_out"].items()
            if side.get("speed_of_light")
        },
        last=SIDE_NAMES[last] if last else "",
        environment=environment_rows(env),
        training=[*_data_rows(recipe, records), *_hyper_parameters(recipe)],
        code=_code(env),
        again=_measured_again(summary, recipe.eval),
        recipe=yaml.safe_dump(public_recipe(recipe), sort_keys=False, allow_unicode=True),
        merged=merged,
        gguf=gguf,
        nf4=nf4,
        prompt=_python_text(_example_prompt(records)),
        dtype="float32" if recipe.model.dtype == "float32" else "bfloat16",
        asked=recipe.eval,
        precision=_precision(summary["model"], nf4=nf4, alone=alone),
    )
    return page


def read_recipe(run_dir: Path) -> Recipe:
    """The recipe that a run was started with. Raises PublishError."""
    folder = Folder(run_dir)
    try:
        return Recipe.model_validate(folder.recipe())
    except ValueError as error:
        why = error.why if isinstance(error, DamagedError) else " ".join(str(error).split())
        raise PublishError(f"{folder.recipe_file}: not a recipe of this version: {why}") from None


def data_sets(recipe: Recipe) -> list[str]:
    """The data sets of the Hub from which folders of rows that it trained on were imported, as far
    as the folders are here."""
    found: dict[str, None] = {}
    by_name = {name: hub for hub, name in named_by_hub().items()}
    for spec in dict.fromkeys((recipe.data.taught_suite, recipe.data.train_suite)):
        if spec.startswith(("rows:", "data:")):
            with suppress(ValueError, OSError):
                named = (one.source.partition(":")[0] for one in load_suite(spec).problems)
                found |= dict.fromkeys(by_name.get(one, one) for one in named)
    return sorted(one for one in found if re.fullmatch(REPOSITORY, one))


def _front_matter(
    repo: str, base: str, summary: Mapping[str, Any], learned_from: Sequence[str], *, alone: bool
) -> str:
    learned = ["reinforcement-learning", *dialects_of(summary)]
    head: dict[str, Any] = {
        "base_model": at_revision(base)[0],
        "base_model_relation": "finetune" if alone else "adapter",
        "library_name": "transformers" if alone else "peft",
        "pipeline_tag": "text-generation",
        "tags": ["kernelwright", "kernels", *([] if alone else ["lora"]), *learned],
    }
    if learned_from:
        head["datasets"] = list(learned_from)
    if licence := _licence(summary["model"], base):
        head = {"license": licence.lower(), **head}
    results = _results(summary)
    if results:
        head["model-index"] = [{"name": repo.split("/")[1], "results": results}]
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---"


def _licence(model: str, base: str) -> str:
    """Of the base model: of an embedded one as we know it, else as its card on the Hub says; empty
    where that is not known."""
    if model in EMBEDDED:
        return EMBEDDED[model].licence
    found = ""
    with suppress(Exception):  # the client's transport has errors of its own
        if hub_answers():
            from huggingface_hub import HfApi

            repo, revision = at_revision(base)
            info = HfApi().model_info(repo, revision=revision, timeout=LICENCE_LIMIT_S)
            card = info.card_data
            found = str(card.license) if card and isinstance(card.license, str) else ""
    return found


def _results(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The numbers after training, in the Hub's own layout."""
    side = summary["held_out"].get("after", {})
    named = {"correct_rate": "correct rate", "fast_1": "fast_1", "geomean_speedup": "speedup"}
    metrics = [
        {"type": key, "name": f"{name}, held out", "value": round(side[key], 4)}
        for key, name in named.items()
        if side.get(key) is not None
    ]
    dataset = {"type": "kernelwright", "name": summary["suite"]}
    task = {"type": "text-generation", "name": "kernel generation"}
    return [{"task": task, "dataset": dataset, "metrics": metrics}] if metrics else []


def _precision(model: str, *, nf4: bool, alone: bool) -> str:
    """How the base was held; on the card of merged weights nothing above shows it."""
    in_bits = "in NF4 (4 bit)" if alone else "in NF4 (4 bit, as in the code above)"
    loaded = in_bits if nf4 else "unquantised"
    if model in EMBEDDED:
        return (
            "Training and measuring used weights dequantised from a GGUF file of the base model, "
            f"loaded {loaded}. On the original weights the completions may differ a little."
        )
    return f"Training and measuring loaded the base model {loaded}."


def _example_prompt(records: list[Record]) -> str:
    """The prompt of a measured kernel that was correct, else of any."""
    measured = [one for one in records if one.stage in SIDES]
    if not measured:
        raise PublishError("nothing was measured in this run: the card would hold no number")
    return max(measured, key=lambda one: one.evaluation.verdict == "correct").prompt


def environment_rows(env: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a run was measured on, for people.

    >>> environment_rows({"memory_bytes": 25276514304, "gpus": []})
    [('memory', '25 GB'), ('gpus', 'none')]
    """
    rows: list[tuple[str, str]] = []
    for key, value in env.items():
        if key == "memory_bytes":
            rows.append(("memory", f"{value / 1e9:.0f} GB"))
        elif isinstance(value, list) and not any(isinstance(one, dict) for one in value):
            rows.append((key, ", ".join(map(str, value)) or "none"))
        else:
            rows += flat(value, key)
    return rows


def judged_how(records: Sequence[Record], stages: Collection[str] = tuple(SIDES)) -> str:
    """Trust class and sandbox level behind the figures of these stages, the commonest first."""
    found = Counter(
        f"{one.evaluation.trust}, sandbox {one.evaluation.sandbox_level}"
        for one in records
        if one.stage in stages and one.evaluation.sandbox_level
    )
    kinds = [f"{count} × {kind}" for kind, count in found.most_common()]
    return kinds[0].split(" × ")[1] if len(kinds) == 1 else "; ".join(kinds) or "nothing was run"


def failures(records: Sequence[Record]) -> list[str]:
    """How many were not correct, by verdict and reason, the commonest first."""
    found = [one.evaluation for one in records if one.evaluation.verdict is not Verdict.CORRECT]
    counted = Counter(f"{one.verdict} ({plain(one.reason)})" for one in found)
    return [f"{count} {name}" for name, count in counted.most_common()]


def _data_rows(recipe: Recipe, records: Sequence[Record]) -> list[tuple[str, str]]:
    triples = [one for one in records if one.stage == "triples"]
    right = sum(one.evaluation.verdict is Verdict.CORRECT for one in triples)
    taught, played = public_spec(recipe.data.taught_suite), public_spec(recipe.data.train_suite)
    rows = [("problems of GRPO", played)] if "grpo" in recipe.stages else []
    rows += [("problems of SFT", taught)] if "sft" in recipe.stages else []
    if triples:
        rows.append(("triples for SFT", f"{right} judged correct of {len(triples)}"))
    return [*rows, ("problems held out", public_spec(recipe.data.held_out_suite))]


def _hyper_parameters(recipe: Recipe) -> list[tuple[str, str]]:
    """What decides the training, as it was resolved, of the stages that were run."""
    model, sft, grpo = recipe.model, recipe.sft, recipe.grpo
    rows = [
        ("seed", str(recipe.seed)),
        ("stages", ", ".join(recipe.stages)),
        ("base weights", f"{model.quantization}, computing in {model.dtype}"),
        ("LoRA", _adapter(model)),
    ]
    if "sft" in recipe.stages:
        rows.append(
            ("SFT", f"{sft.epochs:g} epochs, batch {sft.batch_size}, rate {sft.learning_rate:g}")
        )
    if "grpo" in recipe.stages:
        groups = f"{grpo.groups_per_step} groups of {grpo.group_size} a step"
        if grpo.steps_per_generation > 1:
            groups += f", {grpo.steps_per_generation} steps on what is sampled at once"
        rate = f"rate {grpo.learning_rate:g}, temperature {grpo.temperature:g}"
        rows.append((grpo.method.name, f"{grpo.steps} steps, {groups}, {rate}"))
        rows.append(("reward", recipe.reward))
    return rows


def _adapter(model: ModelSection) -> str:
    """A new adapter's shape, or which one was trained further."""
    if model.adapter:
        return f"goes on from {Path(model.adapter).name}"
    lora = model.lora
    targets = lora.targets if isinstance(lora.targets, str) else ", ".join(lora.targets)
    return f"rank {lora.rank}, alpha {lora.alpha}, dropout {lora.dropout:g}, {targets}"


def _measured_again(summary: Mapping[str, Any], asked: EvalSection) -> list[str]:
    """The command that measures it again, one for each language, in a folder of its own."""
    dialects, tf32 = dialects_of(summary), summary.get("precision") == Precision.TF32
    suite = f"--suite '{summary['suite']}'"
    sampled = f"-n {asked.samples} --temperature {asked.temperature}"
    limit = f"--max-new-tokens {asked.max_new_tokens}"
    return [
        f"kernelwright eval FOLDER {suite} --dialect {one} {sampled} {limit}"
        + " --precision tf32" * (tf32 and DIALECTS[one].runs_on_gpu)
        + f" --out runs/eval-{one}" * (len(dialects) > 1)
        for one in dialects
    ]


def _code(env: Mapping[str, Any]) -> str:
    """The commit that trained, where it is known, else the version.

    >>> _code({"versions": {"kernelwright": "0.1.0"}})
    'kernelwright 0.1.0'
    """
    version = f"kernelwright {env.get('versions', {}).get('kernelwright', 'of an unknown version')}"
    return f"{version}, commit {env['commit']}" if env.get("commit") else version


def public_recipe(recipe: Recipe) -> dict[str, Any]:
    """The recipe without defaults, and without what names this machine's folders."""
    said = recipe.model_dump(mode="json", exclude_defaults=True)
    for key in ("train_suite", "sft_suite", "held_out_suite"):
        if said.get("data", {}).get(key):
            said["data"][key] = public_spec(said["data"][key])
    return {"name": recipe.name, **_without_private(said)}


def _without_private(tree: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in tree.items():
        if above + key in PRIVATE or (isinstance(value, str) and value.startswith("/")):
            continue
        kept[key] = _without_private(value, f"{above}{key}.") if isinstance(value, dict) else value
    return {key: value for key, value in kept.items() if value != {}}


def _python_text(text: str) -> str:
    r"""`text` as it stands between three double quotes in Python.

    >>> _python_text('a\\b')
    'a\\\\b'
    """
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def plain(text: str) -> str:
    """A text of others as a card shows it: one line, with nothing that Markdown reads.

    >>> plain("a|b\\n<i>c_d</i>")
    'a b i c_d /i'
    """
    return " ".join(re.sub(r"[^\w.:,()+=/ -]", " ", text).split())


def card_template(name: str) -> Any:
    """A template of a card, with the filters that print figures."""
    environment = Environment(  # Markdown: what others wrote is made plain
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "percent": percent,
        "speedup": speedup,
        "sure": sure,
        "clock": clock,
        "float32": float32,
        "plain": plain,
    }
    environment.globals |= {"speedup": speedup}
    return environment.get_template(name)
