"""Faults that loop nests cannot have: programs, masks, indices and first values of Triton."""

from __future__ import annotations

from kernelwright.data.graphs.mutants.of_text import UNSTABLE, Rule

_FULL = r"(?P<name>\w+) = tl\.full\([^()]*\], "
_SHIFTS = r"(?:(?!@triton\.jit)[\s\S])*?tl\.exp\([^\n]*\b(?P=name)\b"
"""What follows the first value of what is taken off before `exp`."""
_INFINITE = r'(?P<it>-?float\("inf"\))'
_LINE = r"    .*\n"
_MASK = r"mask = [ij] < (?P<many>\w+)\n"
_COLUMNS = r"mask = \(j < (?P<many>\w+)\) & \(q < (?P<columns>\w+)\)\n"
_IS_FULL = r"\g<many> % BLOCK"
_FLAT = r"(?:i|j) = tl\.program_id\(0\) \* "
_BLOCK = r"BLOCK=(?P<it>triton\.next_power_of_2\((?:[^()]|\([^()]*\))*\))"
RULES = (
    Rule("wrong_start", rf"{_FULL}(?P<it>0\.0)", "1.0"),
    Rule("wrong_start", rf"{_FULL}(?P<it>1\.0)", "0.0"),
    Rule("wrong_start", rf"{_FULL}{_INFINITE}(?!{_SHIFTS})", "0.0"),
    Rule(UNSTABLE, rf"{_FULL}{_INFINITE}(?={_SHIFTS})", "0.0"),
    Rule(
        "wrong_start",
        rf"{_MASK}(?:{_LINE})*?{_LINE}.*tl\.where\(mask, .+, (?P<it>0\.0)\)(?:, 0\))?\n",
        "1.0",
        zero=_IS_FULL,
    ),
    Rule("wrong_start", r"mask=inside, other=(?P<it>0\.0)\)", "1.0"),
    Rule("wrong_mask", r"mask = \(?[ij] < (?P<it>\w+)", r"\g<it> + 1", zero=r"\g<it> % BLOCK"),
    Rule(
        "wrong_mask",
        rf"{_MASK}(?:{_LINE})*?\s+tl\.store\([^\n]*(?P<it>, mask=mask)\)",
        "",
        zero=_IS_FULL,
    ),
    Rule(
        "wrong_mask",
        rf"{_COLUMNS}(?:{_LINE})*?\s+tl\.store\([^\n]*(?P<it>, mask=mask)\)",
        "",
        zero=rf"{_IS_FULL} + \g<columns> % COLUMNS",
    ),
    Rule(
        "wrong_mask",
        r"tl\.store\([^\n]*(?P<it>, mask=q < (?P<many>\w+))\)",
        "",
        zero=r"\g<many> % COLUMNS",
    ),
    Rule("wrong_mask", r"(?P<it>\(i[xy] >= 0\) & )", ""),
    Rule("off_by_one", r"mask = \(?[ij] < (?P<it>\w+)", r"\g<it> - 1"),
    Rule("off_by_one", r"tl\.static_range\((?P<it>\d+)\)", r"\g<it> - 1"),
    Rule("off_by_one", r"for q in range\((?P<it>\w+)\)", r"\g<it> - 1"),
    Rule("off_by_one", r"k < (?P<it>count)", r"\g<it> - 1"),
    Rule("wrong_index", r"\+ (?P<it>i \* \w+) \+ j[,)]", "i"),
    Rule("wrong_index", r"at = .*j\)?(?P<it> \* \w+) \+ q", ""),
    Rule("wrong_index", r"(?P<it> \* \w+) \+ ix", ""),
    Rule("wrong_index", r"(?P<it>k\[:, None\] \* \w+) \+ j", "k[:, None]"),
    Rule(
        "wrong_accumulator",
        rf"range\(0, (?P<many>\w+), BLOCK_K\):\n(?:{_LINE})*?.*tl\.dot\(left, right, (?P<it>v)",
        "v * 0.0",
        zero=r"(\g<many> - 1) / BLOCK_K",
    ),
    Rule("wrong_block", _BLOCK, r"\g<it> // 2"),
    Rule(
        "wrong_grid",
        r"\w+\[\([^\n]*?(?P<it>triton\.cdiv\((?P<many>[^(),]+(?:\(\))?), (?P<each>\d+)\))",
        r"\g<many> // \g<each>",
        zero=r"\g<many> % \g<each>",
    ),
    Rule("race", rf"{_FLAT}(?P<it>BLOCK)\b", "(BLOCK // 2)"),
    Rule("race", r"parts\d?_ptr(?P<it> \+ (?:tl\.program_id\(0\)|i)), ", ""),
    Rule("wrong_count", r"v / (?P<it>count)\b", r"(\g<it> - 1)"),
    Rule("wrong_count", r"v = v / (?P<it>\d+)\n", r"(\g<it> - 1)"),
)
