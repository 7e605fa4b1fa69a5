"""A causal language model of random weights with a byte tokenizer: real, small and quick."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def tiny_config(kind: str = "llama") -> Any:
    from transformers import AutoConfig

    return AutoConfig.for_model(
        kind,
        vocab_size=256 + len(SPECIAL),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.2,
        max_position_embeddings=512,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        tie_word_embeddings=True,
    )


def tiny_model(kind: str = "llama", seed: int = 0) -> Any:
    """A model whose greedy text wanders: its weights are large, its biases are not zero."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(tiny_config(kind), dtype=torch.float32).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(std=0.2)
    return model


def tiny_tokenizer() -> Any:
    """One token a byte, after the special ones; padding and end of text share a token."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE
    from transformers import PreTrainedTokenizerFast

    words = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    core = Tokenizer(BPE({word: place for place, word in enumerate(words)}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens(list(SPECIAL))
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        chat_template=CHAT_TEMPLATE,
    )


def save_tiny(folder: Path, kind: str = "llama") -> Path:
    """The model and its tokenizer in a folder that transformers loads."""
    tiny_model(kind).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder
