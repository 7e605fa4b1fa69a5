"""Conversations to learn from: without turn marks in their text, and none that is too long."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import cycle
from typing import Any

from kernelwright.rl.models.chat import plain
from kernelwright.rl.models.weights import ModelError

Chat = list[dict[str, str]]


def short_enough(
    stage: str, rows: Sequence[dict[str, Chat]], tokenizer: Any, max_length: int
) -> list[dict[str, Chat]]:
    """The rows, a `prompt` and answers to it, of which each conversation fits; the others are left
    out, and that is said. Cut to length one would teach answers without an end.

    Raises ModelError where none is left.
    """
    cleaned = [{name: plain(tokenizer, chat) for name, chat in row.items()} for row in rows]
    lengths = [_longest(row, tokenizer) for row in cleaned]
    kept = [row for row, length in zip(cleaned, lengths, strict=True) if length <= max_length]
    if len(kept) < len(rows):
        print(
            f"{stage}: {len(rows) - len(kept)} of {len(rows)} examples are longer than "
            f"{stage}.max_length ({max_length} tokens) and are left out; the longest has "
            f"{max(lengths)}",
            file=sys.stderr,
        )
    if not kept:
        raise ModelError(f"{stage}: no example is left to learn from; raise {stage}.max_length")
    return kept


def of_tokens(
    rows: Sequence[dict[str, Chat]], tokenizer: Any, tokens: int
) -> list[dict[str, Chat]]:
    """Rows in order, again from the first one after the last, until their answers have so many
    tokens: the last one may go beyond."""
    texts = [row["completion"][0]["content"] for row in rows]
    lengths = map(len, tokenizer(texts, add_special_tokens=False).input_ids)
    found, many = list[dict[str, Chat]](), 0
    for row, length in cycle(zip(rows, lengths, strict=True)):
        if many >= tokens:
            break
        found.append(row)
        many += length
    return found


def _longest(row: dict[str, Chat], tokenizer: Any) -> int:
    """Tokens of the longest conversation of a row."""
    answers = [chat for name, chat in row.items() if name != "prompt"]
    texts = [
        tokenizer.apply_chat_template(row["prompt"] + chat, tokenize=False) for chat in answers
    ]
    return max(len(ids) for ids in tokenizer(texts, add_special_tokens=False).input_ids)
