"""Judges the triples that SFT learns from: all of a dialect's, or a share.

python -m scripts.triples cuda triton [--share 0.1]
python -m scripts.triples cpp --timed 60 [--seed 1]
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from random import Random
from statistics import geometric_mean, mean

from kernelwright.data.factory.answers import ANSWERS
from kernelwright.data.runs.progress import Counted
from kernelwright.data.triple import Triple
from kernelwright.data.triples.templates import template_triples
from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Evaluation, Verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dialects", nargs="+", choices=sorted(ANSWERS))
    parser.add_argument("--share", type=float, default=1.0, help="of each dialect's, spread evenly")
    parser.add_argument(
        "--timed",
        type=int,
        metavar="N",
        help="time N of those that problems teach first, by chance",
    )
    parser.add_argument("--seed", type=int, default=0, help="of that draw")
    options = parser.parse_args()
    wrong = 0
    with Judge() as judge:
        for dialect in options.dialects:
            triples = spread(template_triples(dialect=dialect), options.share)
            if options.timed:
                first = [one for one in triples if one.variant == 0]
                triples = Random(options.seed).sample(first, options.timed)
            with Counted(dialect, len(triples), every=50) as on_done:
                jobs = [(one.problem, one.candidate) for one in triples]
                timed = options.timed is not None
                found = judge.evaluate_many(jobs, timed=timed, on_done=on_done)
            wrong += shown(dialect, triples, found)
            show_speeds(triples, found)
    sys.exit(wrong > 0)


def spread(triples: list[Triple], share: float) -> list[Triple]:
    """Evenly over the suite, one at least."""
    count = max(1, round(share * len(triples)))
    return [triples[i * len(triples) // count] for i in range(count)]


def shown(dialect: str, triples: list[Triple], found: list[Evaluation]) -> int:
    """Prints a line for the dialect and one for each that is not correct; how many those are."""
    pairs = list(zip(triples, found, strict=True))
    wrong = [(one, said) for one, said in pairs if said.verdict is not Verdict.CORRECT]
    seconds = [said.seconds for said in found if said.seconds is not None]
    print(
        f"{dialect}: {len(found) - len(wrong)} of {len(found)} correct, "
        f"{mean(seconds):.1f} s in the mean, {max(seconds):.1f} s at most"
    )
    for one, said in wrong:
        print(f"  {one.problem.name}/{one.variant}: {said.verdict} {said.reason}")
    return len(wrong)


def show_speeds(triples: list[Triple], found: list[Evaluation]) -> None:
    """Prints for each category how many were timed, the geometric mean of their speedups over
    eager PyTorch, and the share that is faster."""
    speeds = defaultdict(list)
    for one, said in zip(triples, found, strict=True):
        if said.timing:
            speeds[one.problem.category].append(said.timing.speedup.median)
            speeds["all"].append(said.timing.speedup.median)
    for category, its in sorted(speeds.items()):
        faster = sum(speed > 1 for speed in its) / len(its)
        mean_speed = geometric_mean(its)
        print(f"  {category}: {len(its)} timed, {mean_speed:.2f} of eager, {faster:.0%} faster")


if __name__ == "__main__":
    main()
