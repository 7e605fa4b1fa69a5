"""`best_of_n`: independent answers to the plain prompt, with which other modes are compared.

Where the search was given a kernel, each answer improves on that one.
"""

from __future__ import annotations

import random

from kernelwright.rl.search.archive import Archive
from kernelwright.rl.search.mode import ModeOptions, Request


class Options(ModeOptions):
    """None."""


class Mode:
    """Asks the same every time."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def ask(self, archive: Archive, step: int, count: int, rng: random.Random) -> list[Request]:
        return [Request(parent=archive.given)] * count
