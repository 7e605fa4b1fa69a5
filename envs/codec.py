"""Converts the dataclasses of `types.py` to plain JSON and back. Never given bytes that a candidate
wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

Noun = TypeVar("Noun")
TOO_DEEP = "nested too deeply"


def to_plain(value: Any) -> Any:
    """Dicts, lists, strings and numbers only, ready for `json.dumps`."""
    if hasattr(value, "__dataclass_fields__"):
        return {name: to_plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {key: to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    return value.value if isinstance(value, StrEnum) else value


def to_json(noun: Any) -> str:
    """One line of JSON, all ASCII: a completion may hold half of a surrogate pair."""
    return json.dumps(to_plain(noun), separators=(",", ":"))


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text that others may have written. Raises ValueError, too where it is
    nested deeper than Python reads."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def from_plain(noun: type[Noun], plain: Any) -> Noun:
    """The noun that `to_plain` was given; fields that it lacks have their defaults.

    Raises ValueError, naming the first field that is wrong. Of Python's values, not of JSON text:
    pydantic's own reader of JSON refuses half of a surrogate pair.
    """
    try:
        found: Noun = _adapter(cast("Any", noun)).validate_python(plain)
        return found
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(": ".join(part for part in (place, first["msg"]) if part)) from None


@cache
def _adapter(noun: Any) -> TypeAdapter[Any]:
    return TypeAdapter(noun)
