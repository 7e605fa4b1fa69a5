"""A causal language model of random weights with a byte tokenizer: real, small and quick."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def tiny_config(kind: str = "llama", **changed: Any) -> Any:
    from transformers import AutoConfig

    sizes = {
        "vocab_size": 256 + len(SPECIAL),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "initializer_range": 0.2,
        "max_position_embeddings": 512,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "tie_word_embeddings": True,
    }
    return AutoConfig.for_model(kind, **sizes | changed)


def tiny_model(kind: str = "llama", seed: int = 0, **changed: Any) -> Any:
    """A model whose greedy text wanders: its weights are large, its biases are not zero."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    config = tiny_config(kind, **changed)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(std=0.2)
    return model


def with_adapter(model: Any, seed: int = 0, **lora: Any) -> Any:
    """LoRA around every linear layer, with matrices that matter from the start."""
    import torch
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    return drawn_adapter(
        get_peft_model(model, LoraConfig(r=4, target_modules="all-linear", **lora))
    )


def drawn_adapter(model: Any) -> Any:
    """The model, with an adapter that changes what it says."""
    import torch

    for name, parameter in model.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(parameter, std=0.1)
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


def save_writer(folder: Path, answer: str) -> Path:
    """A model that answers everything with one text, a token of its own, in a folder. Its layers
    add next to nothing to what a token is embedded as, and can be trained."""
    import torch

    tokenizer, model = tiny_tokenizer(), tiny_model()
    tokenizer.add_tokens([answer])
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    model.config.tie_word_embeddings = False
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    said, end = tokenizer.convert_tokens_to_ids([answer, tokenizer.eos_token])
    with torch.no_grad():
        for layer in model.model.layers:
            for part in (layer.self_attn.o_proj, layer.mlp.down_proj):
                part.weight.mul_(1e-3)
        embedded, to_logits = model.model.embed_tokens.weight, model.lm_head.weight
        embedded[:, :2] = to_logits[:, :2] = 0
        embedded[:, 0] = to_logits[said, 0] = 10  # whatever comes before: the answer
        embedded[said, :2] = torch.tensor([0.0, 10.0])
        to_logits[end, 1] = 10  # after the answer: the end
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
