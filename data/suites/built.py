"""A folder that `kernelwright data build` wrote, and its splits."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from kernelwright.data.factory.split import hash_fraction
from kernelwright.data.suites.curate import RULES, curated
from kernelwright.data.suites.graph_facts import GraphFacts
from kernelwright.data.suites.layout import Loaded
from kernelwright.data.suites.repairs import read_repairs
from kernelwright.data.suites.row_folder import WRONG
from kernelwright.data.suites.rows import FILE, Row, RowError, load_rows, objects, row_triples
from kernelwright.data.triple import Repair, Triple
from kernelwright.envs.types import Dialect, Problem

Number = TypeVar("Number", int, float)
UNSEEN = ("operator", "depth", "composition", "rank")
"""Why a problem is held out: what it has, no problem that is trained on has. Of a rank that is its
sequence of operators on inputs of that rank, which may be trained on at others or at none."""
SPLITS = ("train", "sft", "rl", "held_out", *(f"held_out_{one}" for one in UNSEEN))
"""`sft` and `rl` are the two halves of `train`; the others are parts of `held_out`."""
UNSEEN_OPERATORS = frozenset(
    ("softsign", "hardsigmoid", "squared_difference", "norm1", "softmin", "smooth_l1_loss")
)
"""Gradients of these are unseen, too."""
UNSEEN_FORMULA = re.compile(r"formula_(?:.*_)?(?:bounded|sub_(?:square|power))(?:_|$)")
"""Formulas with softsign, or a squared difference, written out."""
SYNONYMS = {
    **{"larger": "maximum", "smaller": "minimum", "ratio": "div_abs", "negative": "neg"},
    **{"clip": "clamp", "limit": "clamp", "hardtanh": "clamp", "power": "square"},
    **{"bell": "exp_neg", "log": "log1p", "root": "sqrt", "inverse": "reciprocal"},
    **{"scaled": "scale", "shifted": "shift", "leak": "leaky_relu", "normalize": "l2_norm"},
    **{"linear_backward_input": "matmul", "linear_backward_weight": "matmul_tn"},
    "rms_norm_layer": "rms_norm",
}
"""Names in a family of what computes the same as another operator."""
DEEPEST = 5
"""Statements of a module that is trained on, at most."""
COMPOSITIONS, RANKS = 0.15, 0.05
"""The shares of compositions, and of compositions of a certain rank, that are held out."""
SFT_ONLY = "sft_only"
"""The tag of a problem that shows an example and would be a poor judge of answers."""


def split_of(problem: Problem) -> tuple[str, ...]:
    """The splits that a problem is in; one that is for SFT only is in no other."""
    if unseen := unseen_of(problem):
        return () if SFT_ONLY in problem.tags else ("held_out", f"held_out_{unseen}")
    if SFT_ONLY in problem.tags:
        return ("sft",)
    return ("train", "sft" if hash_fraction("half", sequence_of(problem.family)) < 0.5 else "rl")


def sequence_of(family: str) -> str:
    """What a family computes, about: a formula is its operations, synonyms have one name.

    >>> sequence_of("formula_larger_clip") == sequence_of("maximum_hardtanh")
    True
    """
    family = family.replace("formula_", "")
    for other, name in SYNONYMS.items():
        family = re.sub(rf"(?<![^_]){other}(?![^_])", name, family)
    return family


def is_unseen(operator: str) -> bool:
    """Whether no problem with this operator is trained on."""
    base = operator.removesuffix("_backward")
    return base in UNSEEN_OPERATORS or bool(UNSEEN_FORMULA.match(operator))


def unseen_of(problem: Problem) -> str:
    """The first of UNSEEN that holds of a problem; empty where it is trained on."""
    facts = GraphFacts.of(problem.tags)
    if any(map(is_unseen, facts.operators)):
        return "operator"
    if facts.statements > DEEPEST:
        return "depth"
    sequence = sequence_of(problem.family)
    if facts.statements > 1 and hash_fraction("held out", sequence) < COMPOSITIONS:
        return "composition"
    if hash_fraction("rank", f"{sequence} {facts.rank}") < RANKS:
        return "rank"
    return ""


def folder_and_split(rest: str) -> tuple[str, str]:
    """`FOLDER` or `FOLDER:SPLIT`.

    >>> folder_and_split("some/rows:sft")
    ('some/rows', 'sft')
    """
    folder, colon, split = rest.rpartition(":")
    return (folder, split) if colon and split in SPLITS else (rest, "")


def load_built(rest: str, **options: str) -> Loaded:
    """The problems of a folder, or of a split of them, whatever is taught of them. Raises OSError
    and ValueError."""
    Taught.of(**options)
    folder, split = folder_and_split(rest)
    found, notes = load_rows(_checked(folder))
    return tuple(one for one in found if not split or split in told_split(folder, one)), notes


def told_split(folder: str | Path, problem: Problem) -> tuple[str, ...]:
    """`split_of` a problem of a folder. Raises RowError, which names the line whose tags say
    nothing."""
    try:
        return split_of(problem)
    except ValueError as error:
        files = (path for name in (FILE, WRONG) if (path := Path(folder) / name).exists())
        lines = (line for path in files for line in objects(path))
        place = next((place for place, row in lines if row["name"] == problem.name), folder)
        raise RowError(f"{place}: {error}") from None


def built_triples(rest: str, dialect: Dialect, **options: str) -> list[Triple]:
    """The examples of these problems in a dialect that are taught, the fastest of a problem
    first."""
    problems = {one.key for one in load_built(rest)[0]}
    folder, _ = folder_and_split(rest)
    found = row_triples(folder, dialect, Taught.of(**options).chosen)
    return [one for one in found if one.problem.key in problems]


def built_repairs(rest: str, dialect: Dialect, **_: str) -> list[Repair]:
    """The repairs of these problems in a dialect."""
    problems = {one.key for one in load_built(rest)[0]}
    found = read_repairs(Path(folder_and_split(rest)[0]))
    return [one for one in found if one.dialect == dialect and one.problem_key in problems]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """Examples of less than `speedup` times eager PyTorch's speed are left out, and those without a
    speed; then `rule` chooses between those of one problem. No rule: all are taught."""

    speedup: float
    rule: str
    seed: int

    @classmethod
    def of(cls, speedup: str = "", curate: str = "", seed: str = "") -> Taught:
        """From the options of a spec. Raises ValueError."""
        if curate and curate not in RULES:
            raise ValueError(f"curate={curate}: there are {', '.join(RULES)}")
        return cls(
            speedup=_number("speedup", speedup, float),
            rule=curate,
            seed=_number("seed", seed, int),
        )

    def chosen(self, rows: list[Row]) -> list[Row]:
        fast = [one for one in rows if (one.speedup or 0.0) >= self.speedup]
        return curated(fast, self.rule, self.seed).kept if self.rule else fast


def _number(name: str, text: str, kind: Callable[[str], Number]) -> Number:
    try:
        return kind(text or "0")
    except ValueError:
        raise ValueError(f"{name}={text}: expects a number, as in {name}=1") from None


def _checked(folder: str) -> str:
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"{folder}: No such folder")
    return folder
