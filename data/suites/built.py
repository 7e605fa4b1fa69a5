"""A folder that `kernelwright data build` wrote: problems, their examples, and what became of each
draw.

`problems.jsonl` and `triples.jsonl` have a line for each row that was kept, `funnel.jsonl` one for
each draw.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.data.factory.split import hash_fraction
from kernelwright.data.suites.layout import Loaded
from kernelwright.data.triple import Triple
from kernelwright.envs.codec import from_plain, to_plain
from kernelwright.envs.system.paths import write_whole
from kernelwright.envs.types import Dialect, Evaluation, Problem

PROBLEMS, TRIPLES, FUNNEL = "problems.jsonl", "triples.jsonl", "funnel.jsonl"
SPLITS = ("train", "sft", "rl", "held_out")
"""`sft` and `rl` are the two halves of `train`."""
CHAIN = "chain"
"""The category of several statements: one operator alone is never held out."""
HELD_OUT_SHARE = 0.2
SFT_ONLY = "sft_only"
"""The tag of a problem that shows an example and would be a poor judge of answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A row: a triple, and what the judge found when it was built."""

    triple: Triple
    evaluation: Evaluation

    def plain(self) -> dict[str, Any]:
        """As a line of `triples.jsonl` has it."""
        one, timing = self.triple, self.evaluation.timing
        return {
            "problem": one.problem.name,
            "problem_key": one.problem.key,
            "dialect": one.dialect,
            "pattern": one.pattern,
            "reasoning": one.reasoning,
            "kernel": one.source,
            "verdict": self.evaluation.verdict.value,
            "speedup": None if timing is None else to_plain(timing.speedup),
        }


def split_of(problem: Problem) -> tuple[str, ...]:
    """The splits that a problem is in, by the hash of its operators: one composition is in one,
    but that what is for SFT only is in no other."""
    if problem.category == CHAIN and hash_fraction("held out", problem.family) < HELD_OUT_SHARE:
        return () if SFT_ONLY in problem.tags else ("held_out",)
    if SFT_ONLY in problem.tags:
        return ("sft",)
    return ("train", "sft" if hash_fraction("half", problem.family) < 0.5 else "rl")


def folder_and_split(rest: str) -> tuple[Path, str]:
    """`FOLDER` or `FOLDER:SPLIT`.

    >>> folder_and_split("some/rows:sft")[1]
    'sft'
    """
    folder, colon, split = rest.rpartition(":")
    return (Path(folder), split) if colon and split in SPLITS else (Path(rest), "")


def load_built(rest: str) -> Loaded:
    """The problems of a folder, or of a split of them. Raises OSError and ValueError."""
    folder, split = folder_and_split(rest)
    found = [from_plain(Problem, one) for one in lines(folder / PROBLEMS)]
    return tuple(one for one in found if not split or split in split_of(one)), ()


def built_triples(rest: str, dialect: Dialect) -> list[Triple]:
    """The examples of these problems in a dialect."""
    problems = {one.key: one for one in load_built(rest)[0]}
    folder, _ = folder_and_split(rest)
    return [
        Triple(
            problem=problems[row["problem_key"]],
            dialect=dialect,
            reasoning=row["reasoning"],
            source=row["kernel"],
            pattern=row["pattern"],
        )
        for row in lines(folder / TRIPLES)
        if row["dialect"] == dialect and row["problem_key"] in problems
    ]


def lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; a last line that a kill cut off is none. Raises OSError, ValueError."""
    text = path.read_text(encoding="utf-8")
    try:
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON: {error.msg}") from None


def write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Adds rows to a file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(_text(rows))


def rewrite_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """A file of these rows alone, whole or not at all."""
    write_whole(path, _text(rows))


def _text(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
