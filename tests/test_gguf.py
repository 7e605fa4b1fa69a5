"""A GGUF file holds the model that it was written of, or is not kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from gguf import GGUFReader
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoConfig, AutoModelForCausalLM

from kernelwright.rl.models import gguf_file
from kernelwright.rl.models.convert import _unpermuted, weights
from kernelwright.rl.models.gguf_file import MatrixType, described, permuted, write_gguf
from kernelwright.rl.models.merge import MergeError, token_ids
from kernelwright.rl.models.weights import ModelError
from tests.tiny_model import save_tiny

pytestmark = pytest.mark.model
CHATS = [("Write relu.", "int main() {}"), ("Sort.\n\n  1234", "")]


def model_of(folder: Path, kind: str = "llama") -> Path:
    """The tiny one, one of its tokens merged from two: GGUF knows no tokenizer without merges."""
    save_tiny(folder, kind=kind)
    file = folder / "tokenizer.json"
    core = json.loads(file.read_text())
    words = core["model"]["vocab"]
    words["in"] = words.pop(max(words, key=lambda word: words[word]))
    core["model"]["merges"] = [["i", "n"]]
    file.write_text(json.dumps(core))
    return folder


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
@pytest.mark.parametrize("matrices", ["bf16", "q8_0"])
def test_transformers_reads_the_same_model_from_the_file(
    kind: str, matrices: MatrixType, tmp_path: Path
) -> None:
    folder, out = model_of(tmp_path / "model", kind=kind), tmp_path / "out.gguf"
    found = write_gguf(folder, out, CHATS, matrices)
    assert found.size_bytes == out.stat().st_size
    assert found.near.texts == 2
    assert found.near.difference <= found.near.tolerance
    reader, config = GGUFReader(out), AutoConfig.from_pretrained(folder)
    held = {one.name: one.tensor_type.name for one in reader.tensors}
    assert {held.pop("token_embd.weight"), held["blk.0.ffn_up.weight"]} == {matrices.upper()}
    assert "output.weight" not in held, "the output is the embedding, once"
    again = weights(reader, config)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    for name, tensor in model.state_dict().items():
        if name in again:
            off = (again[name].float() - tensor).norm() / tensor.norm()
            assert off < (0.005 if matrices == "bf16" else 0.02), name
    assert len(again) == len(held) + 1


def test_what_llama_cpp_is_told_of_the_tokens_is_the_tokenizers(tmp_path: Path) -> None:
    folder, out = model_of(tmp_path / "model"), tmp_path / "out.gguf"
    write_gguf(folder, out, CHATS, "bf16")
    fields = GGUFReader(out).fields

    def said(key: str) -> object:
        return fields[f"tokenizer.{key}"].contents()

    assert said("ggml.tokens")[:3] == ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]  # type: ignore[index]
    assert said("ggml.token_type")[:4] == [3, 3, 3, 1]  # type: ignore[index]
    assert said("ggml.merges") == ["i n"]
    assert (said("ggml.model"), said("ggml.pre")) == ("gpt2", "gpt-2")
    assert "<|im_start|>" in str(said("chat_template"))


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_rows_put_in_llama_cpps_order_come_back(heads: int, pairs: int, columns: int) -> None:
    weight = torch.arange(heads * 2 * pairs * columns).view(-1, columns)
    assert torch.equal(_unpermuted(permuted(weight, heads), heads), weight)
    assert torch.equal(permuted(weight[:, 0], heads), permuted(weight, heads)[:, 0])


def test_a_file_that_computes_something_else_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gguf_file, "permuted", lambda weight, heads: weight)
    out = tmp_path / "out.gguf"
    with pytest.raises(MergeError, match=r"the logits of out.gguf are .* not published"):
        write_gguf(model_of(tmp_path / "model"), out, CHATS, "bf16")
    assert not out.exists()


def test_a_file_that_splits_text_otherwise_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = model_of(tmp_path / "model")
    plain, out = token_ids, tmp_path / "out.gguf"
    asked = iter(range(9))
    monkeypatch.setattr(
        gguf_file, "token_ids", lambda *chat: plain(*chat) + (next(asked) >= len(CHATS))
    )
    with pytest.raises(MergeError, match="splits texts into other tokens"):
        write_gguf(folder, out, CHATS, "bf16")
    assert not out.exists()


@pytest.mark.parametrize(
    ("file", "change", "why"),
    [
        ("config.json", {"rope_parameters": {"rope_type": "linear", "factor": 2.0}}, "scaled"),
        ("config.json", {"model_type": "mistral"}, "kind mistral"),
        ("config.json", {"model_type": "qwen2", "use_sliding_window": True}, "a window"),
        ("config.json", {"intermediate_size": 100}, "no multiple of 32"),
        ("tokenizer.json", {"pre_tokenizer": {"type": "ByteLevel"}}, "splits text"),
        ("tokenizer.json", {"pre_tokenizer": {"type": "Whitespace"}}, "splits text"),
        ("tokenizer.json", {"pre_tokenizer": None}, "splits text"),
    ],
)
def test_a_model_that_would_be_read_as_another_is_refused_in_a_line(
    file: str, change: dict[str, object], why: str, tmp_path: Path
) -> None:
    folder = model_of(tmp_path / "model")
    said = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps({**said, **change}))
    with pytest.raises(ModelError, match=why):
        described(str(folder), folder, "q8_0")


def test_a_model_without_a_tokenizer_file_is_refused(tmp_path: Path) -> None:
    folder = model_of(tmp_path / "model")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json is missing"):
        described(str(folder), folder, "q8_0")
