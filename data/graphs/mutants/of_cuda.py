"""Faults that loop nests cannot have: threads, barriers, indices and first values of CUDA."""

from __future__ import annotations

from kernelwright.data.graphs.mutants.of_text import NEXT, UNSTABLE, Rule

_FIRST = r"float (?P<name>\w+) = "
_SHIFTS = r"(?:(?!__global__)[\s\S])*?expf\([^;]*\b(?P=name)\b"
"""What follows the first value of what is taken off before `exp`."""
_OUTSIDE = rf"{NEXT}\s*if \("
_IS_OUTSIDE = "only threads beyond the row have it"
_GUARD = r"(?P<it>\n  if \([ipq] >= (?P<many>[^\n]*)\) return;)"
RULES = (
    Rule("wrong_start", rf"{_FIRST}(?P<it>0\.0f);", "1.0f", _OUTSIDE, _IS_OUTSIDE),
    Rule("wrong_start", rf"{_FIRST}(?P<it>1\.0f);", "0.0f", _OUTSIDE, _IS_OUTSIDE),
    Rule("wrong_start", rf"{_FIRST}(?P<it>-?INFINITY);(?!{_SHIFTS})", "0.0f"),
    Rule(UNSTABLE, rf"{_FIRST}(?P<it>-?INFINITY);(?={_SHIFTS})", "0.0f"),
    Rule(
        "off_by_one",
        r"for \(int (?P<at>[jtqil]|k[xy]) = [^;]+; (?P=at) < (?P<it>[^;&]+?)(?: &&[^;]*)?;",
        r"\g<it> - 1",
    ),
    Rule("wrong_mask", rf"threadIdx\.x;{_GUARD}", "", zero=r"(\g<many>) % 256"),
    Rule("wrong_mask", rf"lane = threadIdx\.x % 32;{_GUARD}", "", zero=r"\g<many> % 8"),
    Rule("wrong_mask", r"threadIdx\.y == 0(?P<it> && q < inner)", "", zero="inner % 32"),
    Rule(
        "wrong_mask",
        r"row = blockIdx\.y \* (?P<each>\d+)[\s\S]*?"
        r"(?P<it>      if \(r >= m \|\| c >= n\) continue;\n)",
        "",
        zero=r"m % \g<each> + n % \g<each>",
    ),
    Rule("wrong_mask", r"if \((?P<it>\w+ < 0 \|\| )\w+ >= \w+\) continue;", ""),
    Rule("wrong_index", r"(?P<it>i \* size \+ j)\]", "i + j"),
    Rule("wrong_index", r"(?:j|\(i \* size \+ j\))(?P<it> \* inner) \+ q", ""),
    Rule("wrong_index", r"t[xy] \+ (?P<it>16 \* (?P<at>[ij]))\]", r"\g<at>"),
    Rule("wrong_index", r"\* \d+ \+ (?P<it>l)\] \* v", "0"),
    Rule("wrong_index", r"row \* wide \+ (?P<it>column)\]", "0"),
    Rule("missing_barrier", r"(?P<it>    __syncthreads\(\);\n)", ""),
    Rule(
        "missing_barrier",
        r"(?P<it>\n  __syncthreads\(\);)(?=\n  (?:v = |bool |for |int i|s = ))",
        "",
    ),
    Rule("missing_barrier", r"s [+*]= part\[k\];\n  \}(?P<it>\n  __syncthreads\(\);)", ""),
    Rule("wrong_scope", r"= (?P<it>block)_(?:sum|prod|max|min)\(\w+\);", "warp"),
    Rule("wrong_shuffle", r"for \(int k = (?P<it>16); k > 0", "8"),
    Rule("wrong_grid", r"blockIdx\.x \* (?P<it>8) \+ threadIdx", "4"),
    Rule("wrong_grid", r"blockIdx\.[xy] \* (?P<it>32) \+ threadIdx", "16"),
    Rule(
        "wrong_grid",
        r"<<<(?:dim3\()?\((?P<many>[^;<>]*?)(?P<it> \+ (?:255|63|31|7))\) / (?P<each>\d+)",
        "",
        zero=r"(\g<many>) % \g<each>",
    ),
    Rule("race", r"part\d\[(?P<it>blockIdx\.x|i)\] = ", "0"),
    Rule("wrong_count", r"/ (?P<it>outer);", r"(\g<it> - 1)"),
    Rule("wrong_count", r"v /= (?P<it>\d+\.0f)", r"(\g<it> - 1.0f)"),
)
