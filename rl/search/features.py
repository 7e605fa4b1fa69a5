"""Features of a kernel: the cell of the grid that `evolve` keeps the best kernel of.

Three numbers, each of a few values, read from the source without comments: how deep its loops nest
(tiles add levels), whether it keeps values close (buffers of its own, shared memory), and whether
it names vectors or matrix units. KernelFoundry (arXiv 2603.12440) has a grid of such a kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from kernelwright.rl.search.archive import Tried
from kernelwright.rl.search.limits import near_limit

DEEPEST = 4
"""Loops deeper than this are one cell."""
_COMMENT = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|#(?!\s*(?:pragma|include|define))[^\n]*", re.DOTALL
)
_PYTHON_COMMENT = re.compile(r"#(?!\s*(?:pragma|include|define))[^\n]*")
"""In Python `//` divides."""
_PYTHON = re.compile(r"^(?:import|from|def|@)\b", re.MULTILINE)
_TOKEN = re.compile(r"\b(?:for|while)\b|[{}();]")
_PYTHON_LOOP = re.compile(r"^([ \t]*)(?:for|while)\b[^\n]*:[ \t]*$", re.MULTILINE)
_CLOSE = re.compile(
    r"__shared__|thread_local|alloca\b|std::(?:vector|array)\b|\b(?:float|double)\s+\w+\s*\[|"
    r"\bstatic\s+float\b|tl\.make_block_ptr|\bsmem\b"
)
_UNITS = re.compile(
    r"\bsimd\b|vector_size|\b_mm\d*_|\bfloat[248]\b|\bwmma\b|\bmma\b|tl\.dot\b|__builtin_shuffle"
)


def features(one: Tried) -> tuple[int, ...]:
    """(depth of loops, own memory or not, vector or matrix units or not)."""
    return _of_source(one.source)


def features_and_limit(one: Tried) -> tuple[int | str, ...]:
    """The same, and the limit that the kernel is near (limits.py)."""
    return *features(one), near_limit(one.evaluation)


def without_comments(source: str) -> str:
    """The code of C++, CUDA or Python alone."""
    return (_PYTHON_COMMENT if _PYTHON.search(source) else _COMMENT).sub(" ", source)


@lru_cache(maxsize=4096)
def _of_source(source: str) -> tuple[int, ...]:
    code = without_comments(source)
    python = [len(found[1].expandtabs()) for found in _PYTHON_LOOP.finditer(code)]
    depth = _python_depth(python) if python else max(_c_depths(code), default=0)
    return min(depth, DEEPEST), int(bool(_CLOSE.search(code))), int(bool(_UNITS.search(code)))


def _c_depths(code: str) -> Iterator[int]:
    """For each loop of C++ how many enclose it, and itself. A loop without braces ends with its
    statement."""
    open_ones: list[str] = []
    brackets = 0
    for found in _TOKEN.finditer(code):
        token = found[0]
        if token in "()":
            brackets += 1 if token == "(" else -1
        elif token in ("for", "while"):
            open_ones.append("loop")
            yield open_ones.count("loop")
        elif token == "{":
            open_ones.append("{")
        elif brackets <= 0:  # a semicolon in the head of a loop ends nothing
            if token == "}" and "{" in open_ones:
                while open_ones.pop() != "{":
                    pass
            while open_ones and open_ones[-1] == "loop":
                open_ones.pop()


def _python_depth(indents: list[int]) -> int:
    """The deepest nest of loops that begin at these indents, in the order of their lines."""
    enclosing: list[int] = []
    most = 0
    for indent in indents:
        while enclosing and enclosing[-1] >= indent:
            enclosing.pop()
        enclosing.append(indent)
        most = max(most, len(enclosing))
    return most
