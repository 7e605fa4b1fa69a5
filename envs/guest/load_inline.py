"""What `load_inline` is where an answer is imported to learn what it wants: a list of calls."""

from __future__ import annotations

import hashlib
from typing import Any

PARAMETERS = ("name", "cpp_sources", "cuda_sources", "functions", "extra_cflags")
"""The first of `load_inline`, in its order."""


def arranged(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**dict(zip(PARAMETERS, args, strict=False)), **kwargs}


def key_of(call: dict[str, Any]) -> str:
    """Equal for calls that build the same; a name may be another each time."""
    said = sorted((name, repr(value)) for name, value in call.items() if name != "name")
    return hashlib.sha256(repr(said).encode("utf-8", "replace")).hexdigest()[:16]


class Recorder:
    """Keeps each call, and builds nothing."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = arranged(args, kwargs)
        self.calls.append({**call, "key": key_of(call)})
        return Unbuilt()


class Unbuilt:
    """Stands for an extension that is not built yet."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None
