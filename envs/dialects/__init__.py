"""Registry of the dialects, the languages that answers are written in. Each is one file, named as
it is.

A dialect is loaded when it is first asked for: their names alone cost nothing, and a dialect's
tools are not needed to read a recipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelwright.envs.dialects.base import DialectSpec

NAMES = ("cpp", "inline", "triton", "cuda")


class _Dialects(Mapping[str, "DialectSpec"]):
    def __getitem__(self, name: str) -> DialectSpec:
        if name not in NAMES:
            raise KeyError(name)
        found: DialectSpec = import_module(f"kernelwright.envs.dialects.{name}").DIALECT
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


DIALECTS = _Dialects()


def known_dialect(name: str) -> str:
    """The name, if it is a dialect's. Raises ValueError, with those that there are."""
    if name not in NAMES:
        raise ValueError(f"no dialect {name!r}; there are {', '.join(NAMES)}")
    return name
