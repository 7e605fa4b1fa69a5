"""Whole weights are published beside an adapter or by themselves, and come back from the Hub."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from gguf import GGUFReader
from huggingface_hub import hf_hub_download
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

import kernelwright.rl.models.merge
from kernelwright.evals.hub.publish import Extras, publish
from kernelwright.evals.hub.upload import PublishError, Target
from kernelwright.rl.models.load import load_base
from kernelwright.rl.models.weights import ModelError
from tests.hub_server import TOKEN, Hub
from tests.test_gguf import model_of
from tests.test_publish import HERE, THERE, card, new_folder, run_folder, tree_of
from tests.tiny_model import save_tiny


def adapt(base: Path, run: Path, quantization: str) -> None:
    """Gives a run an adapter of random weights over the base."""
    final = run / "checkpoints" / "final"
    model = get_peft_model(load_base(str(base)), LoraConfig(r=2, target_modules="all-linear"))
    model.save_pretrained(str(final))
    for file in (*base.glob("*token*"), base / "chat_template.jinja"):
        shutil.copyfile(file, final / file.name)
    sidecar = {"base": str(base), "quantization": quantization}
    (final / "kernelwright.json").write_text(json.dumps(sidecar))


def test_merged_weights_lie_beside_the_adapter_and_the_card_says_how_near_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, run = save_tiny(tmp_path / "base"), run_folder(tmp_path)
    adapt(base, run, "nf4")
    tree = tree_of(run, merged=True)
    _, body = card(tree)
    assert 'snapshot_download("me/kernels", allow_patterns="merged/*") + "/merged"' in body
    assert "what those 4 bits stand for" in body
    assert "of 1 measured prompts with their answers: off by" in body
    whole = AutoModelForCausalLM.from_pretrained(str(tree / "merged"), dtype="auto")
    assert whole.dtype is torch.bfloat16
    assert str(base) not in (tree / "merged" / "config.json").read_text()
    assert "llama.cpp" not in body
    whole_too = Extras(merged_to=Target(repo="me/whole"))
    alone, beside = map(Path, publish(run, HERE, whole_too, dry_run=True, out=tmp_path / "mine"))
    assert (alone, beside) == (tmp_path / "mine", tmp_path / "mine-merged")
    assert not (alone / "merged").exists()
    head, body = card(beside)
    assert (head["library_name"], head["base_model_relation"]) == ("transformers", "finetune")
    assert "`vllm serve me/whole`" in body
    assert "PeftModel" not in body
    with pytest.raises(PublishError, match="give whole weights a repository of their own"):
        publish(run, HERE, Extras(merged_to=HERE), dry_run=True)
    AutoModelForCausalLM.from_pretrained(str(beside))
    monkeypatch.setitem(kernelwright.rl.models.merge.TOLERANCES, "bfloat16", 0.0)
    with pytest.raises(ValueError, match="not published"):
        tree_of(run, merged=True)
    assert not tree.exists()


def test_a_gguf_file_lies_beside_the_adapter_alone_and_the_card_says_how_to_serve_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, run = model_of(tmp_path / "base"), run_folder(tmp_path)
    adapt(base, run, "none")
    tree = Path(publish(run, HERE, Extras(gguf="q8_0"), dry_run=True)[0])
    said = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in said] == [
        "writing whole weights",
        "writing a GGUF file",
    ], "they take minutes"
    assert (tree / "kernels-q8_0.gguf").stat().st_size > 100_000
    assert not (tree / "merged").exists()
    _, body = card(tree)
    assert "llama-server --model kernels-q8_0.gguf" in body
    assert "held against the merged weights (both computing in float32) on" in body
    said = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps({**said, "model_type": "mistral"}))
    with pytest.raises(ModelError, match="it is of the kind mistral"):
        publish(run, HERE, Extras(gguf="q8_0"), dry_run=True)[0]
    assert tree.exists(), "refused before anything is done"


@pytest.mark.slow
def test_whole_weights_come_back_from_the_hub_by_the_code_on_their_cards(
    hub: Hub, tmp_path: Path
) -> None:
    base, run = model_of(tmp_path / "base"), run_folder(new_folder(tmp_path))
    adapt(base, run, "none")
    recipe = {"name": "r", "model": {"quantization": "none", "dtype": "float32"}}
    recipe["eval"] = {"max_new_tokens": 16}
    (run / "recipe.resolved.yaml").write_text(json.dumps(recipe))
    extras = Extras(merged=True, merged_to=Target(repo="me/whole"), gguf="q8_0")
    where = publish(run, THERE, extras, dry_run=False)
    assert where == [f"{hub.url}/me/adapter", f"{hub.url}/me/whole"]
    GGUFReader(hf_hub_download("me/adapter", "adapter-q8_0.gguf"))
    assert hub.repositories["me/adapter"].files.keys() >= {"merged/model.safetensors"}
    codes = []
    for repo, blocks in (("me/adapter", 2), ("me/whole", 1)):
        text = hub.repositories[repo].files["README.md"].decode()
        found = re.findall(r"^~~~~py(?:thon)?\n(.*?)^~~~~$", text, re.DOTALL | re.MULTILINE)
        assert len(found) == blocks
        codes += [one.replace("HuggingFaceTB/SmolLM2-135M-Instruct", str(base)) for one in found]
    stranger = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HF_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", "\nprint('---')\n".join(codes)],
        env={**os.environ, **stranger},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    adapter, _, whole = done.stdout.split("---\n")
    assert adapter == whole != "", "both answer the same"
