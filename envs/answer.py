"""A completion in, the source of its kernel out."""

from __future__ import annotations

import re

from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.types import Dialect

_BLOCK = re.compile(r"^```([\w+-]*)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


def extract(completion: str, dialect: Dialect) -> str | None:
    """Source of the last closed code block in this dialect's language; None where there is none.

    >>> extract("It adds.\\n```cpp\\nint x;\\n```", "cpp")
    'int x;\\n'
    """
    fences = DIALECTS[dialect].fences
    blocks = [body for tag, body in _BLOCK.findall(completion) if tag.lower() in fences]
    return blocks[-1] if blocks and blocks[-1].strip() else None
