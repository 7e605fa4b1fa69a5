"""What a source holds, before anything was checked: a module, and answers to it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernelwright.data.suites.row_folder import Lost
from kernelwright.envs.types import Case, Dialect

_TAG = re.compile(r"</?(?:think|thinking|thought|reasoning)>|\[/?THINK\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A kernel for a module."""

    dialect: Dialect
    kernel: str
    reasoning: str = ""
    pattern: str = ""
    schedule: str = ""
    """As in a row."""

    def __post_init__(self) -> None:
        if not self.kernel.endswith("\n"):
            object.__setattr__(self, "kernel", f"{self.kernel}\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One problem of a source. `id` is its name there, the same at every call."""

    id: str
    name: str
    code: str
    entry: str = "Model"
    """The class that is the problem."""
    cases: tuple[Case, ...] = ()
    """Those that the source gives it; none: they are derived."""
    licence: str = ""
    origin: str = ""
    """What the source says it was made from: exams are known by it."""
    category: str = ""
    family: str = ""
    """None: it is known by what the module computes."""
    tags: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ()


class NotTakenError(ValueError):
    """Why an item does not become a row: `reason` is a short code."""

    def __init__(self, reason: str, why: str) -> None:
        super().__init__(why)
        self.reason = reason


Found = Item | Lost


def reasoning_before(completion: str, kernel: str) -> str:
    """What a completion says before its kernel's block, without the tags of thoughts.

    >>> reasoning_before("<think>One pass.</think>\\n```cpp\\nint x;\\n```", "int x;\\n")
    'One pass.'
    """
    before = completion.rpartition(kernel.rstrip("\n"))[0]
    parts = _TAG.split(before.rpartition("```")[0])
    return "\n\n".join(filter(None, map(str.strip, parts)))
