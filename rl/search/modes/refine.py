"""`refine`: chains of answers, each made from the one before and what the judge said of it.

As many chains as a step has answers; a chain of `turns` answers is followed by a new one
(Kevin-32B, arXiv 2507.11948, refines for 8 turns at test time).
"""

from __future__ import annotations

import random

from pydantic import Field

from kernelwright.rl.search.archive import Archive
from kernelwright.rl.search.mode import ModeOptions, Request


class Options(ModeOptions):
    """How long a chain is."""

    turns: int = Field(default=8, ge=1)
    """Answers of a chain, the first one from nothing, or from the kernel that was given."""


class Mode:
    """Goes on from the last answer of each chain, right or wrong."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def ask(self, archive: Archive, step: int, count: int, rng: random.Random) -> list[Request]:
        found, first = [], 1 if archive.given else 0
        for lane in range(count):
            last = archive.last(lane)
            ended = last is None or last.depth + 1 - first >= self.options.turns
            found.append(Request(parent=archive.given if ended else last, lane=lane))
        return found
