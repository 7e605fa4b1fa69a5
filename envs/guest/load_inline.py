"""What `load_inline` is where an answer is imported to learn what it wants: a list of calls."""

from __future__ import annotations

from typing import Any

PARAMETERS = ("name", "cpp_sources", "cuda_sources", "functions", "extra_cflags")
"""The first of `load_inline`, in its order."""


class Recorder:
    """Keeps each call, and builds nothing."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls.append({**dict(zip(PARAMETERS, args, strict=False)), **kwargs})
        return Unbuilt()


class Unbuilt:
    """Stands for an extension that is not built yet."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None
