"""A run folder in, a model folder out: complete, honest, and free of this machine's paths."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from kernelwright.commands.best_of_n import Habits, habits_of
from kernelwright.data.importers.sets.all_sets import public_set
from kernelwright.data.runs.records import RecordStore, read_records
from kernelwright.data.suites.rows import FILE, row_line
from kernelwright.envs.types import Evaluation, Record, Reward, Verdict
from kernelwright.evals.hub.publish import Extras, publish
from kernelwright.evals.hub.upload import PublishError, Target
from kernelwright.evals.numbers.summary import RunFacts, write_summary
from kernelwright.evals.page.report import write_report
from kernelwright.recipe.resolve import resolve
from kernelwright.rl.models.adapter_folder import find_adapter
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.recipe.schema import Recipe
from tests.hub_server import Hub, Repository
from tests.test_data_diff import right

PROMPT = 'Write it.\n```python\nclass Model: "a\\n" """b"""\n```'
HERE, THERE = Target(repo="me/kernels"), Target(repo="me/adapter")
ROOT = Path(__file__).resolve().parent.parent


def run_folder(folder: Path, model: str = "smollm2-135m") -> Path:
    rows = [
        Record(
            stage=stage,
            step=0,
            row=row,
            problem=f"p{row}",
            problem_key=f"key{row}",
            dialect="cpp",
            prompt=PROMPT,
            completion="",
            source="int x;",
            evaluation=Evaluation(verdict=Verdict.WRONG, reason="mismatch"),
            reward=Reward(parts={"correct": 0.0}),
        )
        for stage in ("eval_before", "eval_after")
        for row in range(3)
    ]
    RecordStore(folder).append(rows)
    final = folder / "checkpoints" / "final"
    final.mkdir(parents=True)
    (final / "adapter_model.safetensors").write_bytes(b"weights")
    config = {"base_model_name_or_path": "/home/me/.cache/model", "r": 8}
    (final / "adapter_config.json").write_text(json.dumps(config))
    (final / "tokenizer_config.json").write_text("{}")
    (final / "tokenizer.json").write_text("{}")
    (final / "chat_template.jinja").write_text("{{ messages }}")
    (final / "optimizer.pt").write_bytes(b"not for others")
    (folder / "recipe.resolved.yaml").write_text("name: r\nmodel: {quantization: nf4}\n")
    (folder / "env.json").write_text(json.dumps({"cpu": "Zen 4", "versions": {"torch": "2.13"}}))
    facts = RunFacts(
        model=model,
        dialect="cpp",
        target="2 cores",
        suite="starter",
        date="2026-11-21",
        seconds={"eval_before": 1.0, "eval_after": 1.0},
        categories={},
    )
    write_summary(folder, facts)
    write_report(folder)
    return folder


def card(tree: Path) -> tuple[dict[str, object], str]:
    before, front_matter, body = (tree / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert before == ""
    return yaml.safe_load(front_matter), body


def tree_of(run: Path, *, merged: bool = False) -> Path:
    """What would be uploaded."""
    return Path(publish(run, HERE, Extras(merged=merged), dry_run=True)[0])


def test_dry_run_writes_the_tree_and_nothing_that_is_private(tmp_path: Path) -> None:
    tree = tree_of(run_folder(tmp_path))
    assert tree == tmp_path / "publish"
    assert {path.name for path in tree.iterdir()} == {
        "README.md",
        "adapter_config.json",
        "adapter_model.safetensors",
        "chat_template.jinja",
        "kernelwright.json",
        "report.html",
        "summary.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    everything = "".join(path.read_text(encoding="utf-8") for path in tree.iterdir())
    assert "/home/me" not in everything
    assert str(tmp_path) not in everything


def test_where_a_suite_lies_on_this_machine_is_private(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    spec = "kernelbench:/home/me/bench?levels=1&scale=0.1&admission=/home/me/a.json"
    summary = json.loads((run / "summary.json").read_text())
    (run / "summary.json").write_text(json.dumps({**summary, "suite": spec}))
    resolved = run / "recipe.resolved.yaml"
    resolved.write_text(f"{resolved.read_text()}data: {{sft_suite: 'kernelbench:/home/me/own'}}\n")
    write_report(run)
    assert "/home/me" in (run / "report.html").read_text()
    tree = tree_of(run)
    texts = [path.read_text(encoding="utf-8") for path in tree.iterdir()]
    assert not [one for one in texts if "/home/me" in one]
    assert sum("kernelbench:bench?levels=1" in one for one in texts) == 3
    assert "| problems of SFT | kernelbench:own |" in (tree / "README.md").read_text()


def test_adapter_names_a_base_that_others_can_load(tmp_path: Path) -> None:
    tree = tree_of(run_folder(tmp_path))
    config = json.loads((tree / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert config["r"] == 8


def test_card_says_what_was_measured(tmp_path: Path) -> None:
    head, body = card(tree_of(run_folder(tmp_path)))
    assert head["base_model"] == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert (head["license"], head["library_name"]) == ("apache-2.0", "peft")
    assert "| after training | 3 | 0 | 0.0 % [0.0 %, 56.1 %] | 0.0 % [0.0 %, 56.1 %] | – |" in body
    assert "Of the answers after training, what was not correct: 3 wrong (mismatch)." in body
    assert "Zen 4" in body
    assert "2026-11-21" in body
    assert "dequantised from a GGUF" in body


def test_a_card_names_the_data_sets_of_the_hub_that_its_rows_came_from(tmp_path: Path) -> None:
    run, rows = run_folder(new_folder(tmp_path)), tmp_path / "rows"
    assert "datasets" not in card(tree_of(run))[0]
    found = [right(index) for index in range(3)]
    sources = ("me/rows:1", "kernelbook:2", "folder:3")
    named = [replace(row, source=one) for row, one in zip(found, sources, strict=True)]
    rows.mkdir()
    (rows / FILE).write_text("".join(map(row_line, named)))
    recipe = {"name": "r", "data": {"sft_suite": f"rows:{rows}"}}
    (run / "recipe.resolved.yaml").write_text(json.dumps(recipe))
    head, body = card(tree_of(run))
    assert head["datasets"] == sorted(["me/rows", public_set("kernelbook").hub])
    assert str(tmp_path) not in body


def test_the_recipe_on_the_card_is_the_one_that_was_run(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    said = {
        "name": "mine",
        "run_dir": "/home/me/runs/mine",
        "seed": 5,
        "data": {"train_suite": "kernelbench:/home/me/bench?levels=1"},
        "grpo": {"steps": 7, "trainer": {"beta": 0.01}},
        "judge": {"ray_address": "ray://me"},
    }
    before = Recipe.model_validate(said)
    text = yaml.safe_dump(before.model_dump(mode="json"))
    (run / "recipe.resolved.yaml").write_text(text)
    _, body = card(tree_of(run))
    found = re.search(r"^~~~~yaml\n(.*?)^~~~~$", body, re.DOTALL | re.MULTILINE)
    assert found is not None
    assert "me/" not in found[1]
    path = tmp_path / "recipe.yaml"
    path.write_text(found[1])
    after = resolve(path).recipe
    assert (after.seed, after.grpo, after.sft) == (5, before.grpo, before.sft)
    assert after.data.train_suite == "kernelbench:bench?levels=1"
    assert "| seed | 5 |" in body
    assert "| grpo | 7 steps, 4 groups of 8 a step, rate 0.0001, temperature 1 |" in body


def test_card_names_the_machine_the_code_and_the_judge_for_people(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    versions = {"kernelwright": "0.1.0"}
    env = {"memory_bytes": 25276514304, "gpus": [], "commit": "0123abcd", "versions": versions}
    (run / "env.json").write_text(json.dumps(env))
    rows = [
        replace(one, evaluation=replace(one.evaluation, sandbox_level="landlock"))
        for one in read_records(run)
    ]
    (run / "records.jsonl").unlink()
    RecordStore(run).append(rows)
    _, body = card(tree_of(run))
    assert "| memory | 25 GB |" in body
    assert "| gpus | none |" in body
    assert "| code | kernelwright 0.1.0, commit 0123abcd |" in body
    assert "| judged | refereed, sandbox landlock |" in body
    assert "25276514304" not in body


def test_card_is_read_by_the_hub_client(tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    tree = tree_of(run_folder(tmp_path))
    data = hub.ModelCard.load(tree / "README.md").data
    results = {result.metric_type: result.metric_value for result in data.eval_results}
    assert results == {"correct_rate": 0.0, "fast_1": 0.0}


def test_code_on_the_card_is_python_and_asks_with_the_measured_prompt(tmp_path: Path) -> None:
    _, body = card(tree_of(run_folder(tmp_path)))
    found = re.search(r"^~~~~python\n(.*?)^~~~~$", body, re.DOTALL | re.MULTILINE)
    assert found is not None
    compile(found[1], "card", "exec")
    assignment = re.search(r'^task = """.*?[^\\]"""$', found[1], re.DOTALL | re.MULTILINE)
    assert assignment is not None
    names: dict[str, str] = {}
    exec(assignment[0], names)
    assert names["task"] == PROMPT
    assert "load_in_4bit=True" in found[1]


def test_unquantised_run_does_not_ask_for_bitsandbytes(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    (run / "recipe.resolved.yaml").write_text(
        "name: r\nmodel: {quantization: none, dtype: float32}\n"
    )
    _, body = card(tree_of(run))
    assert "BitsAndBytes" not in body
    assert "dtype=torch.float32" in body
    assert "loaded unquantised" in body


def test_publishing_again_leaves_nothing_of_the_last_time(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    (tree_of(run) / "stale.txt").write_text("old")
    assert not (tree_of(run) / "stale.txt").exists()


@pytest.mark.parametrize("missing", ["summary.json", "checkpoints/final/adapter_config.json"])
def test_an_unfinished_run_is_refused_by_name_of_what_is_missing(
    tmp_path: Path, missing: str
) -> None:
    run = run_folder(tmp_path)
    (run / missing).unlink()
    with pytest.raises(PublishError, match=f"{missing} is missing"):
        tree_of(run)
    assert not (run / "publish").exists()


def test_a_base_that_only_this_machine_has_is_refused(tmp_path: Path) -> None:
    run = run_folder(tmp_path, model=str(tmp_path))
    with pytest.raises(PublishError, match="local folder"):
        tree_of(run)


@pytest.mark.parametrize("repo", ["kernels", "me/", "a/b/c", "me/../x", ""])
def test_a_name_that_is_no_repository_is_refused(tmp_path: Path, repo: str) -> None:
    with pytest.raises(PublishError, match="no Hub repository"):
        Target(repo=repo)


def test_without_a_token_one_line_says_how_to_get_one(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; from kernelwright.evals.hub.publish import *\n"
        "try: publish(pathlib.Path(sys.argv[1]), Target(repo='me/kernels'), dry_run=False)\n"
        "except PublishError as error: print(error)"
    )
    hidden = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH")
    clean = {key: value for key, value in os.environ.items() if key not in hidden}
    told = subprocess.run(
        [sys.executable, "-c", program, str(run_folder(tmp_path))],
        env={**clean, "HF_HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.count("\n") == 1
    assert "hf auth login" in told.stdout


def test_a_run_is_uploaded_and_its_adapter_is_found_again_by_its_hub_id(
    hub: Hub, tmp_path: Path
) -> None:
    run = run_folder(new_folder(tmp_path))
    sidecar = {"base": "smollm2-135m", "quantization": "nf4"}
    (run / "checkpoints" / "final" / "kernelwright.json").write_text(json.dumps(sidecar))
    with (run / "recipe.resolved.yaml").open("a") as recipe:
        recipe.write("eval: {max_new_tokens: 400}\n")
    summary = json.loads((run / "summary.json").read_text())
    (run / "summary.json").write_text(json.dumps({**summary, "dialect": "triton"}))
    where = publish(run, Target(repo="me/adapter", private=True), dry_run=False)
    assert where == [f"{hub.url}/me/adapter"]
    tree = {one.name for one in (run / "publish").iterdir()}
    assert set(hub.repositories["me/adapter"].files) == tree
    assert hub.repositories["me/adapter"].private
    found = find_adapter("me/adapter")
    assert found is not None
    assert (found.base, found.quantization) == ("smollm2-135m", "nf4")
    assert habits_of("me/adapter") == Habits("triton", 400)
    assert habits_of("me/adapter", "cpp") == Habits("cpp", 400)
    assert (found.folder / "adapter_model.safetensors").read_bytes() == b"weights"
    assert not (found.folder / "report.html").exists(), "the adapter alone is downloaded"


def test_a_whole_model_of_the_hub_and_a_name_that_it_lacks_are_no_adapters(hub: Hub) -> None:
    hub.repositories["me/whole"] = Repository(private=False, files={"config.json": b"{}"})
    assert find_adapter("me/whole") is None
    assert find_adapter("me/nobody") is None
    assert find_adapter("smollm2-135m") is None


def test_an_adapter_whose_download_fails_is_no_whole_model(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loaded without its settings it would give other numbers, and nobody would be told."""
    config = json.dumps({"base_model_name_or_path": "x"}).encode()
    hub.repositories["me/torn"] = Repository(private=False, files={"adapter_config.json": config})
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download",
        lambda *_, **__: Path("/nowhere/weights").read_bytes(),
    )
    with pytest.raises(ModelError, match="me/torn could not be loaded"):
        find_adapter("me/torn")


def test_publishing_again_leaves_no_whole_weights_of_an_earlier_adapter(
    hub: Hub, tmp_path: Path
) -> None:
    run = run_folder(new_folder(tmp_path))
    publish(run, THERE, dry_run=False)
    files = hub.repositories["me/adapter"].files
    files["merged/model.safetensors"] = files["notes.txt"] = b"older"
    publish(run, THERE, dry_run=False)
    assert "merged/model.safetensors" not in files
    assert "notes.txt" in files


def new_folder(where: Path) -> Path:
    folder = where / "run"
    folder.mkdir()
    return folder


def test_a_base_at_a_revision_is_named_apart_from_it_wherever_a_base_is_loaded(
    tmp_path: Path,
) -> None:
    tree = tree_of(run_folder(tmp_path, "me/base@v2"))
    config = json.loads((tree / "adapter_config.json").read_text())
    assert (config["base_model_name_or_path"], config["revision"]) == ("me/base", "v2")
    head, body = card(tree)
    assert head["base_model"] == "me/base"
    assert '"me/base", revision="v2",' in body


def test_the_commands_on_a_card_measure_each_language_as_it_was_in_a_folder_of_its_own(
    tmp_path: Path,
) -> None:
    run = run_folder(tmp_path)
    asked = {"problems": 2, "samples": 3, "temperature": 1.0, "max_new_tokens": 99}
    (run / "recipe.resolved.yaml").write_text(json.dumps({"name": "r", "eval": asked}))
    summary = json.loads((run / "summary.json").read_text())
    told = {"precision": "tf32", "dialects": {"cpp": {}, "triton": {}}}
    (run / "summary.json").write_text(json.dumps(summary | told))
    _, body = card(tree_of(run))
    words = "kernelwright eval FOLDER --suite 'starter' --dialect {} -n 3 --temperature 1.0"
    assert re.findall(r"^`(kernelwright eval .*)`", body, re.MULTILINE) == [
        f"{words.format('cpp')} --max-new-tokens 99 --out runs/eval-cpp",
        f"{words.format('triton')} --max-new-tokens 99 --precision tf32 --out runs/eval-triton",
    ]
    assert "The figures are of 2 problems at most" in body
