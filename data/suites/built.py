"""A folder that `kernelwright data build` wrote, and its splits."""

from __future__ import annotations

from pathlib import Path

from kernelwright.data.factory.split import hash_fraction
from kernelwright.data.suites.layout import Loaded
from kernelwright.data.suites.rows import load_rows, row_triples
from kernelwright.data.triple import Triple
from kernelwright.envs.types import Dialect, Problem

SPLITS = ("train", "sft", "rl", "held_out")
"""`sft` and `rl` are the two halves of `train`."""
CHAIN = "chain"
"""What categories of several statements end with: one operator alone is never held out."""
HELD_OUT_SHARE = 0.2
SFT_ONLY = "sft_only"
"""The tag of a problem that shows an example and would be a poor judge of answers."""


def is_chain(problem: Problem) -> bool:
    return problem.category.endswith(CHAIN)


def split_of(problem: Problem) -> tuple[str, ...]:
    """The splits that a problem is in, by the hash of its operators: one composition is in one,
    but that what is for SFT only is in no other."""
    if is_chain(problem) and hash_fraction("held out", problem.family) < HELD_OUT_SHARE:
        return () if SFT_ONLY in problem.tags else ("held_out",)
    if SFT_ONLY in problem.tags:
        return ("sft",)
    return ("train", "sft" if hash_fraction("half", problem.family) < 0.5 else "rl")


def folder_and_split(rest: str) -> tuple[str, str]:
    """`FOLDER` or `FOLDER:SPLIT`.

    >>> folder_and_split("some/rows:sft")
    ('some/rows', 'sft')
    """
    folder, colon, split = rest.rpartition(":")
    return (folder, split) if colon and split in SPLITS else (rest, "")


def load_built(rest: str, speedup: str = "") -> Loaded:
    """The problems of a folder, or of a split of them. Raises OSError and ValueError."""
    _least(speedup)
    folder, split = folder_and_split(rest)
    found, notes = load_rows(_checked(folder))
    return tuple(one for one in found if not split or split in split_of(one)), notes


def built_triples(rest: str, dialect: Dialect, speedup: str = "") -> list[Triple]:
    """The examples of these problems in a dialect, the fastest of a problem first; those of less
    than `speedup` times eager PyTorch's speed are left out."""
    problems = {one.key for one in load_built(rest)[0]}
    folder, _ = folder_and_split(rest)
    found = row_triples(folder, dialect, least_speedup=_least(speedup))
    return [one for one in found if one.problem.key in problems]


def _least(speedup: str) -> float:
    try:
        return float(speedup or 0)
    except ValueError:
        raise ValueError(f"speedup={speedup}: expects a number, as in speedup=1") from None


def _checked(folder: str) -> str:
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"{folder}: No such folder")
    return folder
