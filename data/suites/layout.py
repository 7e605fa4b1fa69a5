"""A layout: one way in which problems lie somewhere. `data/suites/load.py` has the table of
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.data.triple import Repair, Triple
from kernelwright.envs.types import Problem

Loaded = tuple[tuple[Problem, ...], Sequence[str]]
"""The problems, and a sentence on each lot that was left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How specs `NAME:REST?OPTION=VALUE&…` are read. Its functions are called with REST and the
    options by name, and raise ValueError or OSError."""

    forms: tuple[str, ...]
    """What a spec may look like, for messages."""
    load: Callable[..., Loaded]
    triples: Callable[..., list[Triple]] | None = None
    """(REST, dialect, options by name) → the examples that lie with the problems. None: they are
    those that the starter suite's templates have for the same problems."""
    repairs: Callable[..., list[Repair]] | None = None
    """(REST, dialect, options by name) → broken kernels of these problems, and how they are
    mended."""
    accepts: Callable[[str], bool] = bool
    """Whether a REST can name a suite at all."""
    options: tuple[str, ...] = ()
    local_options: tuple[str, ...] = ()
    """Those that name a file of this machine: left out where a spec is published."""
    is_path: bool
    """Whether REST is a file or folder of this machine, of which only the last name is published.
    It has no default: a private path is published by nobody's oversight."""
    for_evaluation: bool = False
    """Whether nothing is to be trained on its problems."""
