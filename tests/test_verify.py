"""An adapter that was published answers as its run says, or is found out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load, save
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.commands import verifying
from kernelwright.data.runs.progress import LOG
from kernelwright.data.runs.records import RecordStore
from kernelwright.data.suites.load import load_suite
from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Record, Verdict
from kernelwright.evals.evaluate.run import EvalSettings, evaluate
from kernelwright.evals.hub.upload import PublishError
from kernelwright.evals.hub.verify import Verified, _same_weights, parts_of, verify
from kernelwright.evals.numbers.summary import RunFacts, write_summary
from kernelwright.rl.models.load import load_base, load_tokenizer
from kernelwright.rl.policies.hf import load_policy
from tests import nouns
from tests.hub_server import Hub, Repository, known_hub
from tests.tiny_model import save_tiny

pytestmark = [pytest.mark.sandbox, pytest.mark.model]
BASE, ADAPTER = "me/tiny", "adapter_model.safetensors"
RECIPE = {
    "name": "run",
    "model": {"name": BASE, "quantization": "none"},
    "eval": {"problems": 6, "max_new_tokens": 24, "temperature": 1.0, "samples": 2},
    "seed": 5,
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    with known_hub(tmp_path / "cache", monkeypatch) as found:
        folder = save_tiny(tmp_path / "base")
        files = {one.name: one.read_bytes() for one in folder.iterdir()}
        found.repositories[BASE] = Repository(private=False, files=files)
        yield found


def run_of(folder: Path, base: str) -> list[Record]:
    """A run that ended with an adapter of random weights, and what it measured of it."""
    torch.manual_seed(1)
    config = LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False)
    final = folder / "checkpoints" / "final"
    get_peft_model(load_base(base), config).save_pretrained(str(final))
    load_tokenizer(base).save_pretrained(str(final))
    about = json.loads((final / "adapter_config.json").read_text())
    (final / "adapter_config.json").write_text(
        json.dumps({**about, "base_model_name_or_path": BASE})
    )
    (folder / "recipe.resolved.yaml").write_text(json.dumps(RECIPE))
    settings = EvalSettings(
        stage="eval_after",
        dialect="cpp",
        samples=2,
        max_new_tokens=24,
        temperature=1.0,
        seed=5,
        versions={},
    )
    problems = load_suite("starter:held_out").problems[5:11]
    with Judge(1) as judge:
        return evaluate(load_policy(str(final)), problems, judge, settings, lambda _: None)


def finished(folder: Path, records: list[Record]) -> None:
    RecordStore(folder).append(records)
    facts = RunFacts(
        model=BASE,
        dialect="cpp",
        target="here",
        suite="starter:held_out",
        date="2026-11-28",
        seconds={"eval_after": 1.0},
        categories={},
    )
    write_summary(folder, facts)


@pytest.mark.slow
def test_the_published_adapter_gives_the_answers_of_its_run_and_another_one_does_not(
    hub: Hub, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    finished(run, run_of(run, str(tmp_path / "base")))
    words = ["publish", str(run), "--to", "me/adapter", "--verify"]
    for more in (["--dry-run"], [], []):
        done = CliRunner().invoke(app, [*words, *more])
        assert done.exit_code == 0, done.output
        assert "12 of 12 answers are the run's own" in done.output
    folders = list((run / "verified").iterdir())
    assert len(folders) == 2, "one folder, and one repository"
    assert all("12 judged" in (one / LOG).read_text(encoding="utf-8") for one in folders)
    whole = [*words, "--merged-to", "me/whole", "--revision", "second"]
    done = CliRunner().invoke(app, whole)
    assert done.exit_code == 0, done.output
    assert "me/adapter@second: 12 of 12 answers are the run's own" in done.output
    assert "me/whole@second: " in done.output, "loaded by its name, in its branch"
    branch = hub.repositories["me/whole"].branches["second"]
    assert "model.safetensors" in branch
    assert "model.safetensors" not in hub.repositories["me/whole"].files
    tree = run / "publish-merged"
    branch["model.safetensors"] = save(
        {name: torch.zeros_like(one) for name, one in load(branch["model.safetensors"]).items()}
    )
    hub.repositories["me/whole"].commits.append("other weights")
    with pytest.raises(PublishError, match="holds other weights than"):
        _same_weights(tree, "me/whole@second")
    with pytest.raises(PublishError, match="holds an adapter, not whole weights"):
        _same_weights(tree, "me/adapter")
    done = CliRunner().invoke(app, [*words, "--merged"])
    assert done.exit_code == 0, done.output
    assert "me/adapter: 12 of 12 answers are the run's own" in done.output
    assert "me/adapter, merged/: " in done.output
    files = hub.repositories["me/adapter"].files
    tensors = load(files["merged/model.safetensors"])
    files["merged/model.safetensors"] = save({one: 0 * tensors[one] for one in tensors})
    hub.repositories["me/adapter"].commits.append("other weights")
    _, merged = parts_of("me/adapter", run / "publish")
    with pytest.raises(PublishError, match="holds other weights than"):
        verify(run, merged, {}, lambda _: Judge(1))
    other = {name: torch.zeros_like(one) for name, one in load(files[ADAPTER]).items()}
    (run / "checkpoints" / "final" / ADAPTER).write_bytes(save(other))
    done = CliRunner().invoke(app, [*words, "--replace"])
    assert "0 of 12 answers are the run's own" in done.output


@pytest.mark.parametrize(
    ("same", "worse", "holds"),
    [
        (12, [], True),
        (12, ["fast_1", "speedup"], True),
        (12, ["correct rate", "speedup"], False),
        (11, ["speedup"], False),
    ],
)
def test_the_same_kernels_are_slower_by_the_machine_alone(
    same: int, worse: list[str], *, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifying, "print_comparison", lambda _: None)
    comparison: Any = SimpleNamespace(surely_worse=worse, correct_rate=0.0)
    assert verifying._holds("me/a", Verified(comparison=comparison, same=same, asked=12)) is holds


def test_a_file_beside_an_adapter_is_the_one_that_was_published_or_that_is_said(
    hub: Hub, tmp_path: Path
) -> None:
    files = hub.repositories[BASE].files
    assert [one.model for one in parts_of(BASE, tmp_path)] == [BASE]
    (tmp_path / "tiny-q8_0.gguf").write_bytes(b"GGUF of a model")
    for there in (None, b"GGUF of another"):
        if there:
            files["tiny-q8_0.gguf"] = there
            hub.repositories[BASE].commits.append("another")
        with pytest.raises(PublishError, match=r"lacks tiny-q8_0.gguf, or has another"):
            parts_of(BASE, tmp_path)
    files["tiny-q8_0.gguf"] = b"GGUF of a model"
    hub.repositories[BASE].commits.append("the same")
    assert len(parts_of(BASE, tmp_path)) == 1
    (tmp_path / "merged").mkdir()
    with pytest.raises(PublishError, match="lacks merged/"):
        parts_of(BASE, tmp_path)


def test_a_run_that_claims_more_than_its_adapter_does_is_found_out(
    hub: Hub, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    right = nouns.verdict(Verdict.CORRECT)
    answers = run_of(run, str(tmp_path / "base"))
    finished(run, [replace(one, source="int x;", evaluation=right) for one in answers])
    done = CliRunner().invoke(app, ["publish", str(run), "--to", "me/a", "--dry-run", "--verify"])
    assert done.exit_code == 1
    assert "surely worse than its run in correct rate" in done.output
