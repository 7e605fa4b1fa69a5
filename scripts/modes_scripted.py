"""Search modes at equal budget, in a world without a model: seconds, the same table every time.

    python -m scripts.modes_scripted [--seeds 32] [--budgets 24 64] [--batch 4]

The search, its modes, its prompts and its records are the real ones. A scripted policy improves on
the kernel that its prompt shows (tests/searches.py), and a scripted judge knows how fast each is.
The worth of a search is the mean over three problems of log2(1 + speedup) of the best kernel.
Intervals are bootstraps over seeds, of gains paired by seed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from statistics import fmean

import pytest

from kernelwright.envs.types import Record
from kernelwright.evals.numbers.metrics import Gain, paired_gain
from kernelwright.evals.numbers.search_results import found_in
from scripts.modes import MODES

POLICIES = {"Improver": "every kernel leads on", "DeadEnds": "some kernels are dead ends"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=32)
    parser.add_argument("--budgets", type=int, nargs="+", default=[24, 64])
    parser.add_argument("--batch", type=int, default=4)
    options = parser.parse_args()
    for policy, title in POLICIES.items():
        for budget in options.budgets:
            print(*table(policy, title, range(options.seeds), budget, options.batch), "", sep="\n")


def table(policy: str, title: str, seeds: Sequence[int], budget: int, batch: int) -> Iterator[str]:
    """Of Markdown: a line for each mode, gains over the first."""
    yield f"| {title}; {budget} answers to each problem | worth | gain over `{MODES[0]}` |"
    yield "|---|---|---|"
    base: list[float] = []
    for mode in MODES:
        values = worths_of(mode, policy, seeds, budget, batch)
        base = base or values
        gain = "" if values is base else said(paired_gain(list(zip(base, values, strict=True))))
        found = said(paired_gain([(0.0, value) for value in values]), sign="")
        yield f"| `{mode}` | {found} | {gain} |"


def worths_of(mode: str, policy: str, seeds: Sequence[int], budget: int, batch: int) -> list[float]:
    """What a mode finds, for each seed."""
    from tests import searches

    found = []
    with pytest.MonkeyPatch.context() as patched:
        searches.without_modules(patched)
        for seed in seeds:
            asked = getattr(searches, policy)()
            records = searches.searched(mode, policy=asked, seed=seed, budget=budget, batch=batch)
            found.append(worth(records))
    return found


def worth(records: Sequence[Record]) -> float:
    """The mean over problems of the worth of the best kernel, as it was measured again."""
    speeds = [one.again.median if one.again else 0.0 for one in found_in(records)]
    return fmean(math.log2(1 + speed) for speed in speeds)


def said(one: Gain | None, sign: str = "+") -> str:
    """The mean, and its interval."""
    if one is None:
        return ""
    return f"{one.mean:{sign}.2f} [{one.low:{sign}.2f}, {one.high:{sign}.2f}]"


if __name__ == "__main__":
    main()
