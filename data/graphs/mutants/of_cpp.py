"""Faults that loop nests cannot have: bounds, indices and first values of C++."""

from __future__ import annotations

from kernelwright.data.graphs.mutants.of_text import NEXT, UNSTABLE, Rule

_ZEROS = rf"float\* to = h\d+ [^\n]*\n[^\n]*{NEXT}\s*to\[z\] = 0\.0f;|{NEXT}\s*\w+\[[^=;]*\] = 0;"
_ARE_ZEROS = "a buffer is made of zeros, and an index is set by the first finite value"
_FIRST = (
    r"(?:float (?P<name>\w+) = |std::fill\((?P<array>\w+)[^;]*, |to\[z\] = "
    r"|std::vector<float> s\([^;]*, )"
)
_SHIFTS = r"[\s\S]*exp\([^;]*\b(?:(?P=name)|(?P=array))\b"
"""What follows the first value of what is taken off before `exp`."""
RULES = (
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
