"""Reasoning by a model behind an OpenAI-compatible endpoint, where it says nothing false.

It is given the problem, the kernel and the plan of its loops. What it writes is checked as our own
plans are, but for sentences of other forms, which are searched for numbers, names and some words;
where that finds something, or there is no answer, our own text stays.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from http.client import HTTPException

from kernelwright.data.graphs.lint.lint import findings
from kernelwright.data.suites.rows import Row

AT_ONCE = 8
TIMEOUT_S = 120.0
MOST_CHARACTERS = 6000
TAKEN, FALSE, SILENT = "taken", "false", "no answer"
ASKED = """Explain how this kernel computes what the module computes, for somebody who is going to \
write it.
Say only what the code shows: every number, index and statement you quote has to stand in it.
Write plain text without code blocks, in the form of the plan.

Module:
{code}

Kernel:
{kernel}

Plan of its loops:
{plan}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Teacher:
    """Where the model answers (`http://host/v1`), its name, and the key that it is asked with."""

    endpoint: str
    model: str
    key: str = field(default="", repr=False)

    def __call__(self, row: Row) -> str:
        """What the model says of a kernel. Raises OSError and ValueError."""
        asked = ASKED.format(code=row.code, kernel=row.kernel, plan=row.reasoning)
        body = {"model": self.model, "temperature": 0}
        body |= {"messages": [{"role": "user", "content": asked}]}
        headers = {"Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {self.key}"} if self.key else {}
        url = f"{self.endpoint.rstrip('/')}/chat/completions"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as found:
            plain = json.load(found)
        try:
            return str(plain["choices"][0]["message"]["content"]).strip()
        except (KeyError, IndexError, TypeError):
            raise ValueError("the answer has no choices[0].message.content") from None


@dataclass(frozen=True, slots=True)
class Taught:
    """A row, with the teacher's words where they were taken; `why` says it, after a code."""

    row: Row
    why: str


def taught(rows: Sequence[Row], teacher: Callable[[Row], str]) -> list[Taught]:
    """Asks about every row."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda row: _taught(row, teacher), rows))


def _taught(row: Row, teacher: Callable[[Row], str]) -> Taught:
    try:
        text = teacher(row)
    except (OSError, HTTPException, ValueError) as error:
        return Taught(row, f"{SILENT}: {' '.join(str(error).split())[:200]}")
    if why := _against(text, row):
        return Taught(row, f"{FALSE}: {why}")
    return Taught(replace(row, reasoning=text), TAKEN)


def _against(text: str, row: Row) -> str:
    if not text or len(text) > MOST_CHARACTERS or "```" in text:
        return "empty, too long, or with a code block"
    found = findings(text, row.kernel or "", row.problem, row.dialect or "", is_free=True)
    return "; ".join(found)
