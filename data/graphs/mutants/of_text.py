"""Faults in the text of a kernel, by rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

NEXT = "\v"
"""Stands after the line of the fault where `unless` is looked for."""
UNSTABLE = "unstable_shift"
"""What is taken off before `exp` is not the maximum: it cancels, unless `exp` leaves its range."""
SHIFT_LOOP = re.compile(
    r"(?:^|\n)(?!    mask)[^\n]*"
    + NEXT
    + r"(?:\s*(?:#pragma|for|float v =|v =|at =)[^\n]*)*\s*(?P<of>[mu])(?:\[q\])? = [^\n]*"
    r"[\s\S]*expf?\([^;\n]*\b(?P=of)\b"
)
"""The loop that looks for it."""
OF_PASSES = ("off_by_one", "wrong_index", "wrong_mask")
"""Kinds that are in one pass over a row, where others may be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A source with one fault."""

    kind: str
    place: str
    source: str
    same: str = ""
    """Why it computes what the right kernel does; empty where it does not."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Where a kernel's text matches, `text` takes the place of the group `it`. `unless` is what
    stands after the line where a kernel computes the same, and `why`."""

    kind: str
    pattern: str
    text: str
    unless: str = ""
    why: str = ""

    def changed(self, source: str) -> Iterator[Mutant]:
        """The source with the fault at each place."""
        for found in re.finditer(self.pattern, source):
            start, end = found.span("it")
            new = source[:start] + found.expand(self.text) + source[end:]
            before, after = source.rfind("\n", 0, start), source.find("\n", end)
            marked = source[:after] + NEXT + source[after:]
            is_shift = self.kind in OF_PASSES and SHIFT_LOOP.search(marked)
            kind = UNSTABLE if is_shift else self.kind
            why = self.why if self.unless and re.search(self.unless, marked) else ""
            line = source[before + 1 : after].strip()
            yield Mutant(kind=kind, place=line, source=new, same=why)
