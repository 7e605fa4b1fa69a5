"""The columns of a data set's tables: one of a name has one type, whatever its rows hold."""

from __future__ import annotations

from typing import Any

NUMBERS = ("speedup", "speedup_low", "speedup_high", "chosen_speedup", "rejected_speedup")
COUNTS = ("statements",)
LISTS = ("splits", "tags")
CHATS = ("prompt", "completion", "chosen", "rejected")
"""Columns that are not text."""


def features(columns: list[str]) -> Any:
    """Their types, as `datasets.Features`: an export without speeds or tags has those of others."""
    from datasets import Features, List, Value

    text, number, count = Value("string"), Value("float64"), Value("int64")
    kinds = dict.fromkeys(NUMBERS, number) | dict.fromkeys(COUNTS, count)
    kinds |= dict.fromkeys(LISTS, List(text))
    kinds |= dict.fromkeys(CHATS, List({"role": text, "content": text}))
    return Features({name: kinds.get(name, text) for name in columns})
