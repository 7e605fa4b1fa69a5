"""A revision behind a Hub id is the one that is loaded, of adapters, of whole models, of bases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load, save

from kernelwright.rl.models.adapter_folder import find_adapter
from kernelwright.rl.models.load import (
    at_revision,
    check_loadable,
    hub_answers,
    load_base,
    load_generation_config,
    load_tokenizer,
    weights_folder,
)
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.policies.hf import load_policy
from tests.hub_server import Hub, Repository, known_hub
from tests.tiny_model import save_tiny

pytestmark = pytest.mark.model
WEIGHTS = "model.safetensors"


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A model whose branch `second` has weights of zeros and another chat template."""
    with known_hub(tmp_path / "cache", monkeypatch) as found:
        files = {one.name: one.read_bytes() for one in save_tiny(tmp_path / "base").iterdir()}
        zeros = {name: torch.zeros_like(one) for name, one in load(files[WEIGHTS]).items()}
        said = json.loads(files["generation_config.json"])
        other = files | {
            WEIGHTS: save(zeros, {"format": "pt"}),
            "generation_config.json": json.dumps({**said, "max_length": 77}).encode(),
            "chat_template.jinja": files["chat_template.jinja"] + b"second",
        }
        found.repositories["me/tiny"] = Repository(
            private=False, files=files, branches={"second": other}
        )
        yield found


def size(model: torch.nn.Module) -> float:
    return sum(float(one.detach().abs().sum()) for one in model.parameters())


def test_every_part_of_a_whole_model_is_of_the_revision(
    two: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = two.repositories["me/tiny"].sha_of("second")
    for name in ("me/tiny@second", f"me/tiny@{commit}"):
        check_loadable(name)
        assert size(load_base(name)) == 0
        assert load_tokenizer(name).chat_template.endswith("second")
        assert load_generation_config(name).max_length == 77
        assert not any(
            one.any() for one in load((weights_folder(name) / WEIGHTS).read_bytes()).values()
        )
        assert size(load_policy(name).model) == 0
    for name in ("me/tiny", "me/tiny@main"):
        assert size(load_base(name)) > 0
        assert not load_tokenizer(name).chat_template.endswith("second")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    hub_answers.cache_clear()
    assert size(load_base("me/tiny@second")) == 0, "of an earlier download"
    assert size(load_base("me/tiny")) > 0
    with pytest.raises(ModelError, match="me/tiny@third is not on this machine"):
        load_base("me/tiny@third")


def test_a_revision_that_is_not_there_is_one_line(two: Hub) -> None:
    assert two.repositories
    with pytest.raises(ModelError, match="me/tiny@third could not be loaded") as raised:
        load_policy("me/tiny@third")
    assert "\n" not in str(raised.value)


def test_an_adapter_is_loaded_over_its_base_at_the_revision_that_its_config_names(
    two: Hub, tmp_path: Path
) -> None:
    adapter = tmp_path / "adapter"
    torch.manual_seed(0)
    get_peft_model(load_base(str(tmp_path / "base")), LoraConfig(r=2)).save_pretrained(str(adapter))
    about = json.loads((adapter / "adapter_config.json").read_text())
    for revision, base in (("second", "me/tiny@second"), ("main", "me/tiny"), (None, "me/tiny")):
        said = {**about, "base_model_name_or_path": "me/tiny", "revision": revision}
        (adapter / "adapter_config.json").write_text(json.dumps(said))
        found = find_adapter(str(adapter))
        assert found is not None
        assert found.base == base
        inner = load_policy(str(adapter)).model.get_base_model()
        assert (float(inner.lm_head.weight.detach().abs().sum()) == 0) == (revision == "second")


def test_a_folder_with_that_sign_in_its_name_is_a_folder(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "me@home")
    assert at_revision(str(folder)) == (str(folder), None)
    assert size(load_base(str(folder))) > 0
