"""Writes a folder of transformers as one GGUF file, for llama.cpp and what is built on it.

Llama and Qwen2 with byte-level BPE, which is what `rl/models/convert.py` reads. Each file is read
again by transformers and held against the folder, on the same texts.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kernelwright.rl.models.convert import BLOCK_NAMES
from kernelwright.rl.models.load import hush_libraries, source_of
from kernelwright.rl.models.merge import MergeError, Nearness, logits_of, nearness, token_ids
from kernelwright.rl.models.weights import ModelError

if TYPE_CHECKING:
    import torch

MatrixType = Literal["q8_0", "bf16"]
TOLERANCES: dict[MatrixType, float] = {"q8_0": 0.05, "bf16": 0.02}
"""How far logits may be off, as a share of how far they vary."""
NAMES = {
    **{theirs: ours for ours, theirs in BLOCK_NAMES.items()},
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
"""Of tensors in transformers, without block and suffix, and in GGUF."""
QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BLOCK = 32
"""Numbers that q8_0 gives one scale."""
NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5
"""llama.cpp's kinds of tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufFile:
    """A file that was written: its name, what its matrices are held in, how near the model is."""

    name: str
    matrices: MatrixType
    size_bytes: int
    near: Nearness


def write_gguf(
    model: Path, out: Path, chats: Sequence[tuple[str, str]], matrices: MatrixType
) -> GgufFile:
    """Writes the model in a folder to the file `out`; `chats` are (prompt, answer) to compare on.

    Norms and biases stay in float32. Raises ModelError for a model that this cannot write, and
    MergeError, leaving nothing, where logits or tokens of the file are not the model's.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    hush_libraries()
    config, core = described(str(model), model, matrices)
    tokenizer = AutoTokenizer.from_pretrained(model)
    plain = AutoModelForCausalLM.from_pretrained(model, dtype="float32").eval()
    texts = [token_ids(tokenizer, *chat) for chat in chats]
    expected = logits_of(plain, texts)
    _write(out, config, core, tokenizer, plain.state_dict(), matrices)
    del plain
    try:
        near = _read_again(out, chats, texts, expected, TOLERANCES[matrices])
    except MergeError:
        out.unlink()
        raise
    return GgufFile(name=out.name, matrices=matrices, size_bytes=out.stat().st_size, near=near)


def _read_again(
    out: Path,
    chats: Sequence[tuple[str, str]],
    texts: Sequence[Any],
    expected: Sequence[torch.Tensor],
    tolerance: float,
) -> Nearness:
    """How near the file is, as transformers reads it where nothing else lies beside it."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with tempfile.TemporaryDirectory() as alone:
        Path(alone, out.name).symlink_to(out.absolute())
        where: dict[str, Any] = {"gguf_file": out.name}
        words = AutoTokenizer.from_pretrained(alone, **where)
        with redirect_stderr(io.StringIO()):  # a progress bar that no setting turns off
            again = AutoModelForCausalLM.from_pretrained(alone, dtype="float32", **where).eval()
    if any(
        token_ids(words, *chat).tolist() != ids.tolist()
        for chat, ids in zip(chats, texts, strict=True)
    ):
        raise MergeError(f"{out.name} splits texts into other tokens: not published")
    return nearness(expected, logits_of(again, texts), tolerance, f"the logits of {out.name}")


def described(model: str, tokenizer: Path, matrices: MatrixType) -> tuple[Any, dict[str, Any]]:
    """A model's config, and the `tokenizer.json` of a folder. Raises ModelError where a GGUF file
    of both would be read as another model, or cannot be written here."""
    from transformers import AutoConfig

    file = tokenizer / "tokenizer.json"
    if not file.is_file():
        raise ModelError(f"no GGUF file is written of this model: {file} is missing")
    source, revision = source_of(model)
    config = AutoConfig.from_pretrained(source, revision=revision)
    core: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    _refuse(config, core, matrices)
    return config, core


def _refuse(config: Any, core: Mapping[str, Any], matrices: MatrixType) -> None:
    rope = getattr(config, "rope_parameters", None) or {}
    if config.model_type not in ("llama", "qwen2"):
        why = f"it is of the kind {config.model_type}"
    elif getattr(config, "use_sliding_window", False):
        why = "its attention has a window"
    elif matrices == "q8_0" and (config.hidden_size % BLOCK or config.intermediate_size % BLOCK):
        why = f"rows of its matrices are no multiple of {BLOCK}, which q8_0 asks for"
    elif rope.get("rope_type", "default") != "default":
        why = f"its positions are scaled ({rope['rope_type']})"
    elif not core["model"].get("merges") or _splitting(core) is None:
        why = "llama.cpp has no name for how its tokenizer splits text"
    else:
        return
    raise ModelError(
        f"no GGUF file is written of this model: {why}; llama.cpp's convert_hf_to_gguf.py knows "
        "more kinds: give it what --merged writes"
    )


def _splitting(core: Mapping[str, Any]) -> str | None:
    """llama.cpp's name for what splits a text before BPE; None where it is none of these.

    >>> _splitting({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}})
    'gpt-2'
    """
    pre = core["pre_tokenizer"] or {}
    parts = pre.get("pretokenizers", [pre])
    kinds = [one.get("type") for one in parts]
    last, first = parts[-1], parts[0]
    if kinds[-1] != "ByteLevel" or last.get("add_prefix_space", True):
        return None
    own = last.get("use_regex", True)
    if kinds == ["ByteLevel"] and own:
        return "gpt-2"
    if kinds == ["Digits", "ByteLevel"] and own and first.get("individual_digits"):
        return "smollm"
    as_qwen2 = kinds == ["Split", "ByteLevel"] and not own
    return "qwen2" if as_qwen2 and first["pattern"].get("Regex") == QWEN2_SPLIT else None


def _write(
    out: Path,
    config: Any,
    core: Mapping[str, Any],
    tokenizer: Any,
    state: Mapping[str, torch.Tensor],
    matrices: MatrixType,
) -> None:
    import gguf
    from gguf.quants import quantize

    writer = gguf.GGUFWriter(out, config.model_type)
    _say_shape(writer, config, matrices)
    _say_tokens(writer, config, core, tokenizer)
    for name, tensor in _tensors(config, state):
        held = matrices if tensor.ndim == 2 else "f32"
        kind = gguf.GGMLQuantizationType[held.upper()]
        writer.add_tensor(name, quantize(tensor.numpy(), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _say_shape(writer: Any, config: Any, matrices: MatrixType) -> None:
    import gguf

    heads = config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    writer.add_file_type(gguf.LlamaFileType[f"MOSTLY_{matrices.upper()}"])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(width)
    writer.add_key_length(width)
    writer.add_value_length(width)
    writer.add_vocab_size(config.vocab_size)


def _say_tokens(writer: Any, config: Any, core: Mapping[str, Any], tokenizer: Any) -> None:
    added = {one["id"]: one for one in core["added_tokens"]}
    words = {place: word for word, place in core["model"]["vocab"].items()}
    words |= {place: one["content"] for place, one in added.items()}
    tokens = [words.get(place, f"[PAD{place}]") for place in range(config.vocab_size)]
    kinds = [
        (CONTROL if added[place]["special"] else USER_DEFINED)
        if place in added
        else NORMAL
        if place in words
        else UNUSED
        for place in range(config.vocab_size)
    ]
    merges = [one if isinstance(one, str) else " ".join(one) for one in core["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(_splitting(core))
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    for add, place in (
        (writer.add_bos_token_id, tokenizer.bos_token_id),
        (writer.add_eos_token_id, tokenizer.eos_token_id),
        (writer.add_pad_token_id, tokenizer.pad_token_id),
    ):
        if place is not None:
            add(place)
    writer.add_add_bos_token(False)
    writer.add_chat_template(tokenizer.chat_template)


def _tensors(config: Any, state: Mapping[str, torch.Tensor]) -> Iterator[tuple[str, torch.Tensor]]:
    """(GGUF's name, float32 values); a tied output is the embedding, once."""
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    for name, tensor in state.items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        place, _, suffix = name.rpartition(".")
        block, part = _block_of(place)
        if config.model_type == "llama" and part in heads:
            tensor = permuted(tensor, heads[part])
        yield f"{block}{part}.{suffix}", tensor.contiguous()


def _block_of(place: str) -> tuple[str, str]:
    """GGUF's prefix and name of a layer.

    >>> _block_of("model.layers.3.self_attn.q_proj"), _block_of("model.norm")
    (('blk.3.', 'attn_q'), ('', 'output_norm'))
    """
    if place in NAMES:
        return "", NAMES[place]
    _, _, block, part = place.split(".", 3)
    return f"blk.{block}.", NAMES[part]


def permuted(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Rows in llama.cpp's order: the two halves of a rotated pair side by side."""
    rows = weight.shape[0]
    halves = weight.view(heads, 2, rows // heads // 2, *weight.shape[1:])
    return halves.transpose(1, 2).reshape(weight.shape)
