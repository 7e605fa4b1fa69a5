"""Interface of a search mode: its options, and what the next answers are made from.

A module of this folder's `modes/` holds `Options` and `Mode`. A mode is a pure function of the
archive and of a random generator, so that a search which was stopped goes on as if it had not been.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from kernelwright.rl.search.archive import Archive, Tried
from kernelwright.rl.section import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One answer to ask for: to improve on `parent`, or to mend it; without one, from nothing.

    `shown` are other kernels in its prompt, slowest first; `kind` names the rewriting that is asked
    for (kinds.py), and `helped` says how often it helped before; `lane` is the island or chain that
    the answer joins.
    """

    parent: Tried | None = None
    shown: tuple[Tried, ...] = ()
    kind: str = ""
    helped: str = ""
    lane: int = 0


class ModeOptions(Section):
    """The keys of every mode."""


class Mode(Protocol):
    """Chooses what the next answers are made from."""

    def ask(self, archive: Archive, step: int, count: int, rng: random.Random) -> list[Request]:
        """`count` requests, from the answers of the steps before this one."""
        ...


def mode_names() -> list[str]:
    """Every mode that comes with this project."""
    files = (Path(__file__).parent / "modes").glob("*.py")
    return sorted(file.stem for file in files if file.stem != "__init__")


def start_mode(name: str, options: dict[str, Any]) -> Mode:
    """The mode with these options. Raises ValueError for another name, key or value."""
    if name not in mode_names():
        raise ValueError(f"no search mode {name!r}; there are: {', '.join(mode_names())}")
    module = import_module(f"kernelwright.rl.search.modes.{name}")
    known = module.Options.model_fields
    if unknown := [one for one in options if one not in known]:
        has = ", ".join(known) or "none"
        raise ValueError(f"search mode {name} has no option {unknown[0]!r}; there are: {has}")
    try:
        started: Mode = module.Mode(module.Options.model_validate(options))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise ValueError(f"search mode {name}, option {key}: {first['msg']}") from None
    return started
