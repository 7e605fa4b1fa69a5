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
HEAD = re.compile(r"(?m)^(?:__global__ void |def )(?P<name>\w+)|^(?:extern|class|__device__) ")
"""Where a function on the device begins, or something else."""
OF_PASSES = ("off_by_one", "wrong_index", "wrong_mask")
"""Kinds that are in one pass over a row, where others may be right."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A source with one fault."""

    kind: str
    place: str
    source: str
    same: str = ""
    """Why it computes what the right kernel does; empty where it does not."""
    zero: str = ""
    """A number that is 0 for sizes at which it computes the same, in names of `function`."""
    function: str = ""
    """The function on the device that has the fault; empty for what is beside them."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Where a kernel's text matches, `text` takes the place of the group `it`. `unless` is what
    stands after the line where a kernel computes the same, and `why`; `zero` is a number that is 0
    at sizes at which it does."""

    kind: str
    pattern: str
    text: str
    unless: str = ""
    why: str = ""
    zero: str = ""

    def changed(self, source: str) -> Iterator[Mutant]:
        """The source with the fault at each place."""
        for found in re.finditer(self.pattern, source):
            start, end = found.span("it")
            new = source[:start] + found.expand(self.text) + source[end:]
            before, after = source.rfind("\n", 0, start + 1), source.find("\n", end)
            marked = source[:after] + NEXT + source[after:]
            is_shift = self.kind in OF_PASSES and SHIFT_LOOP.search(marked)
            kind = UNSTABLE if is_shift else self.kind
            why = self.why if self.unless and re.search(self.unless, marked) else ""
            line = source[before + 1 : after].strip()
            zero = found.expand(self.zero) if self.zero else ""
            yield Mutant(kind, line, new, why, zero, _function(source, start))


def _function(source: str, place: int) -> str:
    """The function on the device that a place is in."""
    heads = [one for one in HEAD.finditer(source) if one.start() < place]
    return (heads[-1]["name"] or "") if heads else ""
