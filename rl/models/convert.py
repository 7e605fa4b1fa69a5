"""Converts a GGUF file to a folder that transformers loads: Llama and Qwen2, embeddings tied.

transformers can load GGUF itself, but takes the coarser of Qwen's two copies of the embedding for
the input, unties the model (630 M parameters for 494 M), and parses the tokenizer at every start.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

# GGUF's names of a block's tensors, and those of transformers.
BLOCK_NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_norm": "input_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "ffn_norm": "post_attention_layernorm",
}


def convert(gguf: Path, folder: Path) -> None:
    """Writes weights in bfloat16, config, generation config, tokenizer and chat template."""
    from gguf import GGUFReader
    from safetensors.torch import save_file
    from transformers import AutoTokenizer, GenerationConfig

    reader = GGUFReader(gguf)
    folder.mkdir()
    config = model_config(reader)
    config.save_pretrained(folder)
    save_file(weights(reader, config), folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    tokenizer.model_max_length = config.max_position_embeddings
    tokenizer.save_pretrained(folder)
    GenerationConfig(
        bos_token_id=config.bos_token_id,
        eos_token_id=sorted({config.eos_token_id, config.pad_token_id}),
        pad_token_id=config.pad_token_id,
    ).save_pretrained(folder)


def model_config(reader: Any) -> Any:
    """The transformers config that the file's metadata describe."""
    from transformers import LlamaConfig, Qwen2Config

    kind = _field(reader, "general.architecture")
    makers = {"llama": LlamaConfig, "qwen2": Qwen2Config}

    def of(key: str) -> Any:
        return _field(reader, f"{kind}.{key}")

    return makers[kind](
        architectures=[makers[kind].__name__.replace("Config", "ForCausalLM")],
        vocab_size=len(reader.fields["tokenizer.ggml.tokens"].data),
        hidden_size=of("embedding_length"),
        intermediate_size=of("feed_forward_length"),
        num_hidden_layers=of("block_count"),
        num_attention_heads=of("attention.head_count"),
        num_key_value_heads=of("attention.head_count_kv"),
        max_position_embeddings=of("context_length"),
        rms_norm_eps=of("attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_type": "default", "rope_theta": of("rope.freq_base")},
        bos_token_id=_field(reader, "tokenizer.ggml.bos_token_id"),
        eos_token_id=_field(reader, "tokenizer.ggml.eos_token_id"),
        pad_token_id=_field(reader, "tokenizer.ggml.padding_token_id"),
        tie_word_embeddings=True,
        dtype="bfloat16",
    )


def weights(reader: Any, config: Any) -> dict[str, torch.Tensor]:
    """The state dict, dequantised and rounded to bfloat16.

    `output.weight`, where there is one, is the finer copy of the tied embedding.
    """
    import torch
    from gguf.quants import dequantize

    names = {tensor.name for tensor in reader.tensors}
    embedding = "output.weight" if "output.weight" in names else "token_embd.weight"
    state: dict[str, torch.Tensor] = {}
    for tensor in reader.tensors:
        if tensor.name == "token_embd.weight" != embedding:
            continue
        value = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
        if config.model_type == "llama" and ".attn_q." in tensor.name:
            value = _unpermuted(value, config.num_attention_heads)
        if config.model_type == "llama" and ".attn_k." in tensor.name:
            value = _unpermuted(value, config.num_key_value_heads)
        state[_name(tensor.name, embedding)] = value.to(torch.bfloat16)
    return state


def _name(name: str, embedding: str) -> str:
    """A tensor's name in transformers.

    >>> _name("blk.3.attn_q.weight", "output.weight")
    'model.layers.3.self_attn.q_proj.weight'
    """
    if name == embedding:
        return "model.embed_tokens.weight"
    if name == "output_norm.weight":
        return "model.norm.weight"
    _, block, part, suffix = name.split(".")
    return f"model.layers.{block}.{BLOCK_NAMES[part]}.{suffix}"


def _unpermuted(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Rows in transformers' order: llama.cpp puts the two halves of a rotated pair side by side."""
    rows, columns = weight.shape
    pairs = weight.view(heads, rows // heads // 2, 2, columns)
    return pairs.transpose(1, 2).reshape(rows, columns).contiguous()


def _field(reader: Any, key: str) -> Any:
    return reader.fields[key].contents()
