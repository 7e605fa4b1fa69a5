"""Mutants of a right kernel: each has a fault of a named kind, or is known to compute the same."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from kernelwright.data.graphs.expr import V, name
from kernelwright.data.graphs.kernel import Kernel
from kernelwright.data.graphs.mutants import of_cpp, of_cuda, of_triton
from kernelwright.data.graphs.mutants.maxima import (
    NEAR,
    NOT_BELOW,
    SHORT,
    from_zero,
    may_start_lower,
    rows_are_short,
)
from kernelwright.data.graphs.mutants.of_nests import nest_faults
from kernelwright.data.graphs.mutants.of_text import UNSTABLE, Mutant, Rule
from kernelwright.data.graphs.mutants.sizes import LAUNCHED, Sizes, never_shows, sizes_in
from kernelwright.data.graphs.nests import Nest, Rows
from kernelwright.envs.types import Case, Dialect

RULES: dict[Dialect, tuple[Rule, ...]] = {
    "cpp": of_cpp.RULES,
    "cuda": of_cuda.RULES,
    "triton": of_triton.RULES,
}
BEGINS: dict[Dialect, str] = {"cpp": "\n  {\n", "cuda": "__global__", "triton": "@triton.jit"}
"""What a nest begins with in a source."""
HIDDEN = "an index may be the same for other values"
LEAST = re.compile(r'-(?:INFINITY|float\("inf"\))')
"""What a maximum starts at."""
Lower = Callable[[Kernel], str]
"""A kernel as the source of a dialect."""


FULL = "no case has a size at which it shows"
SCALED = "the loops after it divide a row by its own length"
SCALE_FREE = ("l1_norm", "l2_norm", "mean_abs_norm")


def mutants_of(
    kernel: Kernel, dialect: Dialect, lower: Lower, cases: Iterable[Case] = ()
) -> list[Mutant]:
    """All of them, each source once; `cases` have the sizes that show them."""
    right = lower(kernel)
    functions = LAUNCHED[dialect](right) if dialect in LAUNCHED else []
    sizes = sizes_in(kernel, cases)
    found: dict[str, Mutant] = {}
    for one in (*_of_nests(kernel, lower), *_of_text(kernel, right, dialect, sizes)):
        if never_shows(one, functions, sizes):
            one = replace(one, same=FULL)
        if one.source != right:
            found.setdefault(one.source, one)
    return list(found.values())


def _of_nests(kernel: Kernel, lower: Lower) -> Iterator[Mutant]:
    is_index, last = kernel.nests[-1].c_type != "float", f"nest {len(kernel.nests)}, pass"
    scaled = tuple(f"nest {number + 1}, pass" for number in scaled_away(kernel.nests))
    for one, wrong in nest_faults(kernel):
        same = HIDDEN if is_index and not one.place.startswith(last) else one.same
        same = SCALED if one.place.startswith(scaled) and not same else same
        yield Mutant(kind=one.kind, place=one.place, source=lower(wrong), same=same)


def _of_text(
    kernel: Kernel, right: str, dialect: Dialect, sizes: Sequence[Sizes]
) -> Iterator[Mutant]:
    hides = len(kernel.nests) > 1 and kernel.nests[-1].c_type != "float"
    last, scaled = right.rfind(BEGINS[dialect]), scaled_away(kernel.nests)
    is_short = rows_are_short(kernel, sizes)
    starts_anywhere, starts_lower = from_zero(kernel), may_start_lower(kernel)
    for rule in RULES[dialect]:
        for one in rule.changed(right):
            is_last = one.source[:last] == right[:last]
            same = HIDDEN if hides and not is_last else one.same
            same = SCALED if scaled and one.kind == "wrong_start" else same
            is_start = one.kind in ("wrong_start", UNSTABLE) and LEAST.search(one.place)
            same = NOT_BELOW if starts_anywhere and is_start else same
            same = SHORT if is_short and one.kind == "wrong_shuffle" else same
            same = (
                NEAR if starts_lower and is_start and rule.kind == UNSTABLE and not same else same
            )
            yield replace(one, same=same)


def scaled_away(nests: Sequence[Nest]) -> list[int]:
    """Nests that divide a row by a number of it, where the next one does so by its length: a wrong
    number is gone then."""
    return [
        number
        for number, (one, other) in enumerate(pairwise(nests))
        if isinstance(one, Rows) and isinstance(other, Rows) and one.keep == V / name("s")
        if other.says in SCALE_FREE and not (one.after or other.before)
        if (one.first, one.last) == (other.first, other.last)
    ]


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
