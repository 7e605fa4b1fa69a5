"""Puts a kernel into a code block, and extracts it from a completion by one rule for all commands.

Thoughts are left out, the rest is read for fenced code blocks as CommonMark has them, and of those
in the dialect's language the last one that defines what is called is the answer
(docs/answers.md says it in full).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.types import Dialect

_THOUGHT = re.compile(
    r"<(?P<end>/)?(?:think|thinking|thought|reasoning)>|\[(?P<closed>/)?THINK\]", re.IGNORECASE
)
_OPENING = re.compile(
    r"(?P<before>[ \t]*(?:>[ \t]*|(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<fence>`{3,}|~{3,})(?P<info>.*)"
)
_BEHIND_TEXT = re.compile(r"(?P<before>).*[^`\s][ \t]*(?P<fence>`{3,})(?P<info>[\w+#-]+)[ \t]*")
_LANGUAGE = re.compile(r"\s*\{?\s*\.?([\w+#-]*)")
_QUOTED = re.compile(r"^[ \t]*> ?")
_MARKDOWN = ("markdown", "md")
_DEEPEST = 3
"""Blocks of Markdown within one another that are looked into."""

_C_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_DEFINITION = {
    "kernel": re.compile(r"(?<!__global__) (?:void|auto)\s+kernel\s*\([^;{}]*\)[^;{}()]*\{"),
    "ModelNew": re.compile(r"^(?:class\s+ModelNew\b|ModelNew\s*=(?!=))", re.MULTILINE),
}
_PROGRAM = {
    "kernel": re.compile(r"\bmain\s*\([^;{}]*\)\s*\{"),
    "ModelNew": re.compile(r"^if\s+__name__\s*==", re.MULTILINE),
}
"""A program of its own, which shows how the answer is used."""


class Block(NamedTuple):
    """A fenced code block: the first word of what its fence says, in small letters; its lines."""

    language: str
    text: str


def fenced(source: str, dialect: Dialect) -> str:
    """The source, which ends its last line, as prompts and answers show it: a block with the
    dialect's mark."""
    return f"```{DIALECTS[dialect].mark}\n{source}```"


def extract(completion: str, dialect: Dialect) -> str | None:
    """Source of the block that is the answer; None where no block in the language has any text.

    >>> extract("It adds.\\n```cpp\\nint x;\\n```", "cpp")
    'int x;\\n'
    """
    spec = DIALECTS[dialect]
    text = without_thoughts(completion.replace("\r\n", "\n"))

    def candidates(*, behind_text: bool) -> list[Block]:
        found = blocks(text, behind_text=behind_text)
        return [one for one in found if one.language in spec.fences and one.text.strip()]

    found = candidates(behind_text=False) or candidates(behind_text=True)
    if not found:
        return None
    return max(enumerate(found), key=lambda row: (*_rank(row[1], spec.entry), row[0]))[1].text


def _rank(block: Block, entry: str) -> tuple[bool, bool, bool]:
    """(whether it defines what is called; if not, whether it is no program of its own, and whether
    its fence names a language): the more of it, the rather it is the answer."""
    code = block.text
    if entry == "kernel":
        code = " ".join(["", *_C_COMMENT.sub(" ", code).split()])
    if _DEFINITION[entry].search(code):
        return True, True, True
    return False, _PROGRAM[entry].search(code) is None, block.language != ""


def without_thoughts(text: str) -> str:
    """The text but for what stands between `<think>` and `</think>`, to its end where that is
    missing, and from its beginning where the prompt has the first tag."""
    kept: list[str] = []
    start, inside, seen = 0, False, False
    for tag in _THOUGHT.finditer(text):
        closes = bool(tag["end"] or tag["closed"])
        if closes and (inside or not seen):
            inside, start = False, tag.end()
        elif not closes and not inside:
            kept.append(text[start : tag.start()])
            inside = True
        seen = True
    return "\n".join(kept if inside else [*kept, text[start:]])


def blocks(text: str, *, behind_text: bool = False, depth: int = 0) -> Iterator[Block]:
    """The fenced code blocks in order; of one in Markdown those within it.

    Those that nobody closes reach to the end. A fence may be in a list or a quotation, at any
    indentation. `behind_text`: also behind other text on its line, where it names a language.
    """
    lines = iter(text.split("\n"))
    for line in lines:
        opened = _OPENING.fullmatch(line)
        if opened and opened["fence"][0] == "`" and "`" in opened["info"]:
            opened = None
        if opened is None and behind_text:
            opened = _BEHIND_TEXT.fullmatch(line)
        if opened is None:
            continue
        language = _LANGUAGE.match(opened["info"])
        block = Block(language[1].lower() if language else "", _content(lines, opened))
        if block.language in _MARKDOWN and depth < _DEEPEST:
            yield from blocks(block.text, behind_text=behind_text, depth=depth + 1)
        else:
            yield block


def _content(lines: Iterator[str], opened: re.Match[str]) -> str:
    """The lines up to the closing fence, without the indentation of the opening one."""
    fence, quotes = opened["fence"], opened["before"].count(">")
    inner = opened["before"].rpartition(">")[2].removeprefix(" " if quotes else "")
    width = len(inner.expandtabs(4))
    closing = re.compile(rf"[ \t]{{0,{width + 3}}}{fence[0]}{{{len(fence)},}}[ \t]*")
    indentation = re.compile(rf"[ \t]{{0,{width}}}")
    found = []
    for line in lines:
        for _ in range(quotes):
            line = _QUOTED.sub("", line, count=1)
        if closing.fullmatch(line):
            break
        found.append(indentation.sub("", line, count=1))
    else:
        if found and not found[-1]:
            found.pop()  # the text ended with a line feed
    return "".join(f"{one}\n" for one in found)
