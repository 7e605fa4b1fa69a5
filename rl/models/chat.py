"""A model's chat format: messages to tokens, and the tokens that end an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernelwright.envs.policy import Prompt, messages_of

ANSWER = "answer"
ASKED = [{"role": "user", "content": "question"}]
ANSWERED = [*ASKED, {"role": "assistant", "content": ANSWER}]
"""The chats that tell what a format is."""


def chat_ids(tokenizer: Any, prompt: Prompt) -> list[int]:
    """A prompt as the policy reads it: in the model's own chat format, as tokens."""
    text = tokenizer.apply_chat_template(
        plain(tokenizer, messages_of(prompt)), tokenize=False, add_generation_prompt=True
    )
    ids: list[int] = tokenizer(text, add_special_tokens=False).input_ids
    return ids


def plain(tokenizer: Any, messages: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """The messages with a space in each special token that their text spells out.

    A problem's comment may hold `<|im_end|>`; it would end the user's turn.
    """
    marks = [one for one in special_tokens(tokenizer).values() if len(one) > 1]
    found = []
    for message in messages:
        text = message["content"]
        for mark in marks:
            text = text.replace(mark, f"{mark[0]} {mark[1:]}")
        found.append({**message, "content": text})
    return found


def special_tokens(tokenizer: Any) -> dict[int, str]:
    """Tokens that are no text, by id."""
    added = tokenizer.added_tokens_decoder.items()
    named = zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=True)
    return {**dict(named), **{number: str(one) for number, one in added if one.special}}


def end_token_ids(generation_config: Any, tokenizer: Any) -> set[int]:
    """Tokens that end an answer: those of the generation config, the tokenizer's end of text, and
    what ends a turn in the chat format, which is what SFT teaches.

    Base models declare only the end of a text, where their chat format ends turns with another.
    """
    given = generation_config.eos_token_id
    ends = set(given) if isinstance(given, list) else {given}
    return (ends | {tokenizer.eos_token_id} | turn_end_ids(tokenizer)) - {None}


def opens_thought(tokenizer: Any) -> bool:
    """Whether a question ends in the beginning of a thought, which no given answer has: what learns
    such answers is asked in another way than it was taught."""
    asked = tokenizer.apply_chat_template(ASKED, tokenize=False, add_generation_prompt=True)
    whole: str = tokenizer.apply_chat_template(ANSWERED, tokenize=False)
    return not whole.startswith(asked)


def turn_end_ids(tokenizer: Any) -> set[int]:
    """The first special token behind an answer in the chat format; empty where there is none."""
    if not tokenizer.chat_template:
        return set()
    text = tokenizer.apply_chat_template(ANSWERED, tokenize=False)
    special = special_tokens(tokenizer)
    ids = tokenizer(text.rpartition(ANSWER)[2], add_special_tokens=False).input_ids
    return set([one for one in ids if one in special][:1])
