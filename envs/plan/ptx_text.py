"""Finds comments and strings in PTX as its assembler does, before any other parsing.

As ptxas does (tried with 12.9 and 13.4): what begins first ends first, so that neither kind of
comment nor a string begins inside of another. A line's end is `\\n` alone, and no backslash hides
it; comments do not nest, and strings have no escapes and may span lines.
"""

from __future__ import annotations

import re

_BEGINS = re.compile(r'"|//|/\*')
_ENDS = {'"': '"', "//": "\n", "/*": "*/"}
_HEAD = re.compile(
    r"\.version\s+\d+\.\d+|\.target\s+\w+(?:\s*,\s*\w+)*|\.address_size\s+\d+"
    r'|\.file\s+\d+\s+""(?:\s*,\s*\d+\s*,\s*\d+)?'
    r"|\.loc\s+\d+\s+\d+\s+\d+(?:\s*,\s*function_name\s+[\w$.]+(?:\s*\+\s*\d+)?"
    r"\s*,\s*inlined_at\s+\d+\s+\d+\s+\d+)?"
)


def uncommented(text: str) -> str:
    """The text with a space for each comment, and nothing in its strings.

    >>> uncommented('a; // /*\\nb; // */')
    'a;  \\nb;  '
    >>> uncommented('.pragma "//"; /* " */ c;')
    '.pragma "";   c;'
    """
    kept, at = list[str](), 0
    while begins := _BEGINS.search(text, at):
        kind = begins[0]
        kept.append(text[at : begins.start()])
        at = text.find(_ENDS[kind], begins.end())
        if at < 0 and kind != "//":  # without an end it is no PTX
            return "".join([*kept, text[begins.start() :]])
        at = len(text) if at < 0 else at + len(_ENDS[kind]) * (kind != "//")
        kept.append('""' if kind == '"' else " ")
    return "".join([*kept, text[at:]])


def statements_of(text: str) -> str:
    """The same without what says where code comes from and what it is for. These directives have no
    end of their own: what follows on the same line counts.

    >>> statements_of(".loc 1 2 3 add.s32 %r1, %r1, 1;").strip()
    'add.s32 %r1, %r1, 1;'
    """
    return _HEAD.sub(" ", uncommented(text))
