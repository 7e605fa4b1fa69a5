"""Replaces `load_inline` and `load` in an answer: records each call, or returns the extension built
before."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch.utils.cpp_extension

PARAMETERS = ("name", "cpp_sources", "cuda_sources", "functions", "extra_cflags")
"""The first of `load_inline`, in its order."""
FLAGS = ("extra_cflags", "extra_cuda_cflags", "extra_ldflags")
"""What `load` takes behind its name and its files, in its order."""


def arranged(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**dict(zip(PARAMETERS, args, strict=False)), **kwargs}


def key_of(call: dict[str, Any]) -> str:
    """Equal for calls that build the same; a name may be another each time."""
    said = sorted((name, repr(value)) for name, value in call.items() if name != "name")
    return hashlib.sha256(repr(said).encode("utf-8", "replace")).hexdigest()[:16]


def give(load_inline: Callable[..., Any]) -> None:
    """Makes it the one that answers find; `load` is the same of what is in files."""

    def load(name: str, sources: str | list[str], *flags: Any, **named: Any) -> Any:
        paths = [sources] if isinstance(sources, str) else sources
        texts = {path: Path(path).read_text() for path in paths}
        own = {
            "cpp_sources": [text for path, text in texts.items() if not path.endswith(".cu")],
            "cuda_sources": [text for path, text in texts.items() if path.endswith(".cu")],
        }
        return load_inline(name=name, **own, **dict(zip(FLAGS, flags, strict=False)), **named)

    ours: Any = torch.utils.cpp_extension
    ours.load_inline, ours.load = load_inline, load


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
