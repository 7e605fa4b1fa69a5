"""Mutants of a right kernel: each has a fault of a named kind, or is known to compute the same."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kernelwright.data.graphs.kernel import Kernel
from kernelwright.data.graphs.mutants.of_nests import nest_faults
from kernelwright.data.graphs.mutants.of_text import RULES, Mutant
from kernelwright.envs.types import Dialect

HIDDEN = "an index may be the same for other values"
Lower = Callable[[Kernel], str]
"""A kernel as the source of a dialect."""


def mutants_of(kernel: Kernel, dialect: Dialect, lower: Lower) -> list[Mutant]:
    """All of them, each source once."""
    right = lower(kernel)
    found: dict[str, Mutant] = {}
    for one in (*_of_nests(kernel, lower), *_of_text(kernel, right, dialect)):
        if one.source != right:
            found.setdefault(one.source, one)
    return list(found.values())


def _of_nests(kernel: Kernel, lower: Lower) -> Iterator[Mutant]:
    is_index, last = kernel.nests[-1].c_type != "float", f"nest {len(kernel.nests)}, pass"
    for one, wrong in nest_faults(kernel):
        same = HIDDEN if is_index and not one.place.startswith(last) else one.same
        yield Mutant(kind=one.kind, place=one.place, source=lower(wrong), same=same)


def _of_text(kernel: Kernel, right: str, dialect: Dialect) -> Iterator[Mutant]:
    hides = len(kernel.nests) > 1 and kernel.nests[-1].c_type != "float"
    last = right.rfind("\n  {\n")
    for rule in RULES.get(dialect, ()):
        for one in rule.changed(right):
            is_last = one.source[:last] == right[:last]
            yield replace(one, same=HIDDEN) if hides and not is_last else one


def chosen(mutants: Sequence[Mutant], most: int, seed: str) -> list[Mutant]:
    """At most so many that compute something else: of each kind one, before another has two."""
    rng = random.Random(seed)
    of_kind = defaultdict(list)
    for one in mutants:
        if not one.same:
            of_kind[one.kind].append(one)
    found: list[Mutant] = []
    piles = list(of_kind.values())
    rng.shuffle(piles)
    for pile in piles:
        rng.shuffle(pile)
    while piles and len(found) < most:
        found += [pile.pop() for pile in piles[: most - len(found)]]
        piles = [pile for pile in piles if pile]
    return found
