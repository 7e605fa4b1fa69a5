"""Triples for the cold start: problem · reasoning · kernel, of the training families only."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from typing import TypeVar

from kernelwright.data.factory.answers import ANSWERS
from kernelwright.data.factory.blueprint import Blueprint
from kernelwright.data.factory.operators import UNARY
from kernelwright.data.suites.load import imported_triples, load_suite
from kernelwright.data.suites.starter import SIZES, USUAL, in_split
from kernelwright.data.triple import Triple
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.types import Dialect

Row = TypeVar("Row")


def template_triples(
    split: str = "train", dialect: Dialect = "cpp", sizes: str = USUAL
) -> list[Triple]:
    """One kernel for every problem of a training split (`train`, `sft`, `rl`); in C++ another for
    many. None in a dialect that has no examples to imitate. A kernel takes its sizes as arguments,
    so it is the same on all `sizes` (SIZES of data/suites/starter.py)."""
    if split not in ("train", "sft", "rl"):
        raise ValueError(f"triples are of train, sft or rl, not of {split!r}")
    if not DIALECTS[dialect].has_triples:
        return []
    return [
        Triple(
            problem=problem,
            dialect=dialect,
            reasoning=reasoning,
            source=source,
            variant=variant,
            pattern=_pattern(blueprint),
        )
        for blueprint, problem in in_split(split, sizes)
        for variant, (reasoning, source) in enumerate(ANSWERS[dialect](blueprint))
    ]


def triples_of(suite: str, dialect: Dialect) -> list[Triple]:
    """The examples that lie with a suite, else those of the templates whose problems it has: none
    for a suite of others. Raises SuiteError."""
    if (imported := imported_triples(suite, dialect)) is not None:
        return imported
    asked = load_suite(suite).by_key()
    every = (one for sizes in SIZES for one in template_triples(dialect=dialect, sizes=sizes))
    return [one for one in every if one.problem.key in asked]


def balanced(rows: Sequence[Row], pattern_of: Callable[[Row], str], exponent: float) -> list[Row]:
    """As many rows again, of which a pattern that had n has a share in proportion to n^exponent.

    1 leaves the rows as they are; 0 gives each pattern as many. Small models imitate the commonest
    loops wherever they are unsure, so rare ones are shown more often and common ones less. A
    pattern's rows take turns, the first one first. Source: Arivazhagan et al. 2019, "Massively
    Multilingual Neural Machine Translation in the Wild", arXiv:1907.05019, §4.1 (sampling by
    temperature 1/exponent).
    """
    of_pattern = defaultdict(list)
    for row in rows:
        of_pattern[pattern_of(row)].append(row)
    weights = {pattern: len(its) ** exponent for pattern, its in of_pattern.items()}
    shares = apportion(weights, len(rows))
    return [
        row for pattern, its in of_pattern.items() for row in islice(cycle(its), shares[pattern])
    ]


def apportion(weights: dict[str, float], seats: int) -> Counter[str]:
    """Whole shares of `seats` in proportion to the weights: largest remainders first."""
    total = math.fsum(weights.values())
    exact = {name: seats * weight / total for name, weight in weights.items()}
    shares = Counter({name: math.floor(share + 1e-9) for name, share in exact.items()})
    by_remainder = sorted(exact, key=lambda name: shares[name] - exact[name])
    shares.update(by_remainder[: seats - shares.total()])
    return shares


def _pattern(blueprint: Blueprint) -> str:
    pointwise = {one.name for one in UNARY}
    return "_".join(part for part in blueprint.family.split("_") if part not in pointwise)
