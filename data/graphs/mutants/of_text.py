"""Faults that loop nests cannot have: bounds, indices and first values of a lowered kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernelwright.envs.types import Dialect


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
            kind = (
                UNSTABLE if SHIFT_LOOP.search(marked) and self.kind == "off_by_one" else self.kind
            )
            why = self.why if self.unless and re.search(self.unless, marked) else ""
            line = source[before + 1 : after].strip()
            yield Mutant(kind=kind, place=line, source=new, same=why)


NEXT = "\v"
"""Stands after the line of the fault where `unless` is looked for."""
UNSTABLE = "unstable_shift"
"""What is taken off before `exp` is not the maximum: it cancels, unless `exp` leaves its range."""
SHIFT_LOOP = re.compile(
    NEXT + r"(?:\s*(?:#pragma|for|float v =|v =)[^\n]*)*\s*(?P<of>[mu])(?:\[q\])? = [^\n]*"
    r"[\s\S]*exp\([^;]*\b(?P=of)\b"
)
"""The loop that looks for it."""
_ZEROS = rf"float\* to = h\d+ [^\n]*\n[^\n]*{NEXT}\s*to\[z\] = 0\.0f;|{NEXT}\s*\w+\[[^=;]*\] = 0;"
_ARE_ZEROS = "a buffer is made of zeros, and an index is set by the first finite value"
_FIRST = (
    r"(?:float (?P<name>\w+) = |std::fill\((?P<array>\w+)[^;]*, |to\[z\] = "
    r"|std::vector<float> s\([^;]*, )"
)
_SHIFTS = r"[\s\S]*exp\([^;]*\b(?:(?P=name)|(?P=array))\b"
"""What follows the first value of what is taken off before `exp`."""
RULES: dict[Dialect, tuple[Rule, ...]] = {
    "cpp": (
        Rule("wrong_start", rf"{_FIRST}(?P<it>0\.0f)\)?;", "1.0f"),
        Rule("wrong_start", rf"{_FIRST}(?P<it>1\.0f)\)?;", "0.0f"),
        Rule("wrong_start", rf"{_FIRST}(?P<it>-?INFINITY)\)?;(?!{_SHIFTS})", "0.0f"),
        Rule(UNSTABLE, rf"{_FIRST}(?P<it>-?INFINITY)\)?;(?={_SHIFTS})", "0.0f"),
        Rule("off_by_one", r"\w+ < (?P<it>[^;]+); \+\+", r"\g<it> - 1", _ZEROS, _ARE_ZEROS),
        Rule(
            "off_by_one",
            r"int64_t \w+ = (?P<it>0); [^;]+; \+\+(?:j|k|z|q|kx)\b",
            "1",
            _ZEROS,
            _ARE_ZEROS,
        ),
        Rule("wrong_index", r"(?<!\* )\b(?!s\b|m\b|t\b|u\b|w\b|r\b)\w+\[(?P<it>j|c|c \+ l)\]", "0"),
        Rule("wrong_index", r"(?P<it>i \* (?!1 )\w+ \+ j)\b", "i + j"),
        Rule("wrong_count", r"total / (?P<it>\w+);", r"(\g<it> - 1)"),
        Rule("wrong_count", r"to\[z\] / (?P<it>\d+\.0f)", r"(\g<it> - 1.0f)"),
    )
}
"""By dialect; one without rules has the faults of loop nests alone."""
