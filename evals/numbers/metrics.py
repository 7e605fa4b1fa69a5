"""Evaluations in, numbers out. Pure: what is not known is None, and no rate divides by zero.

`unjudged` evaluations say that the judge broke, nothing about the kernel: every function here
leaves them out of its denominator, and `Scores` counts them apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from kernelwright.envs.types import Evaluation, Record, Speedup, Trust, Verdict

Interval = tuple[float, float]
"""The lower and the upper end at 95 %."""
RESAMPLES = 4000
FEWEST_PAIRS = 6
"""Of fewer pairs even ones that all differ in one direction are no evidence at 5 % (2 / 2^n)."""
Z_95 = 1.959963984540054


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Metrics of one set of samples, with 95 % intervals over problems. `n` counts the judged ones;
    `verdicts` only what occurred."""

    n: int
    correct: int
    correct_rate: float | None
    correct_rate_ci: Interval | None
    fast_1: float | None
    geomean_speedup: float | None
    fast_1_ci: Interval | None = None
    geomean_speedup_ci: Interval | None = None
    verdicts: Mapping[str, int]
    unjudged: int
    unsupported: int = 0
    """Of the `n`: those that a limit of the judge decided, and not the kernel."""
    timed: int = 0
    """Of the `correct`: those that have a speed. `fast_1` takes the others as not faster, and
    `geomean_speedup` leaves them out."""

    def __post_init__(self) -> None:
        if not 0 <= self.correct <= self.n:
            raise ValueError(f"{self.correct} of {self.n} cannot be correct")
        if sum(self.verdicts.values()) != self.n + self.unjudged:
            raise ValueError("the verdicts do not add up to the samples")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstCompile:
    """The same speeds with torch.compile as the baseline, over the `n` samples that have one.

    `elsewhere` counts samples that were timed where the baseline was not (another GPU, another kind
    of core): they are not among the `n`. There is no `fast_1` then: only right kernels are timed,
    and wrong ones of those places stay among the `n`.
    """

    n: int
    fast_1: float | None
    geomean_speedup: float | None
    elsewhere: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """pass@k: the mean over the `problems` that have at least k judged samples, and its 95 %
    interval over them."""

    mean: float
    low: float
    high: float
    problems: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A mean difference over paired problems, with its 95 % interval."""

    mean: float
    low: float
    high: float
    problems: int


def scores(evaluations: Iterable[Evaluation], problems: Sequence[str] = ()) -> Scores:
    """Every number of one set of samples; `problems` says of each which one it answers, where
    several may answer one."""
    everything = tuple(evaluations)
    known = judged(everything)
    named = zip(problems or map(str, range(len(everything))), everything, strict=True)
    groups = _by_problem(named)
    count = sum(one.verdict is Verdict.CORRECT for one in known)
    return Scores(
        n=len(known),
        correct=count,
        correct_rate=count / len(known) if known else None,
        correct_rate_ci=share_interval(groups, lambda one: one.verdict is Verdict.CORRECT),
        fast_1=(fast := fast_p(known, 1.0)),
        fast_1_ci=None if fast is None else share_interval(groups, is_faster),
        geomean_speedup=geomean_speedup(known),
        geomean_speedup_ci=speedup_interval(groups),
        timed=len(_speedups(known)),
        verdicts=verdict_counts(everything),
        unjudged=len(everything) - len(known),
        unsupported=sum(one.is_unsupported for one in known),
    )


def record_scores(records: Iterable[Record]) -> Scores:
    """The same of samples on record, which know their problems."""
    kept = tuple(records)
    return scores((one.evaluation for one in kept), [one.problem_key for one in kept])


def judged(evaluations: Iterable[Evaluation]) -> tuple[Evaluation, ...]:
    """Those that the judge reached a verdict on."""
    return tuple(one for one in evaluations if one.verdict is not Verdict.UNJUDGED)


def verdict_counts(evaluations: Iterable[Evaluation]) -> dict[str, int]:
    """How often each verdict occurred, in the order in which `Verdict` lists them."""
    found = Counter(one.verdict for one in evaluations)
    return {verdict.value: found[verdict] for verdict in Verdict if found[verdict]}


def share_interval(
    problems: Iterable[Sequence[Evaluation]], counts: Callable[[Evaluation], bool]
) -> Interval | None:
    """The 95 % interval of the share of judged samples that count, by problem; None of none."""
    known = [some for one in problems if (some := judged(one))]
    return rate_interval([(sum(map(counts, one)), len(one)) for one in known]) if known else None


def is_faster(one: Evaluation) -> bool:
    """Whether a sample is correct and, by its median, faster than PyTorch: what fast_1 counts."""
    return one.timing is not None and one.timing.speedup.median > 1


def rate_interval(problems: Sequence[tuple[int, int]]) -> Interval:
    """The 95 % interval of a correct-rate, from (correct, judged) of each problem.

    Samples of one problem are alike, so they are worth fewer: Wilson's interval with the effective
    sample size, which is n over the design effect, the variance of the rate between problems over
    that of as many independent ones (Dean and Pagano, J. Survey Stat. Methodol. 3, 2015). For the
    design effect alone there is one more problem that is always solved and one that never is: a few
    problems, or rates near 0 and 1, show little of how alike samples are. With a sample a problem
    it is Wilson's own.

    >>> low, high = rate_interval([(4, 4), (0, 4), (4, 4), (0, 4), (2, 4)])
    >>> round(low, 2), round(high, 2)
    (0.17, 0.83)
    """
    n, correct = sum(m for _, m in problems), sum(c for c, _ in problems)
    if n == len(problems):
        return wilson(correct, n)
    each = n / len(problems)
    effective = n / max(1.0, _design_effect([*problems, (0, each), (each, each)]))
    return wilson(correct / n * effective, effective)


def _design_effect(problems: Sequence[tuple[float, float]]) -> float:
    """How many times the variance of as many independent samples that of their rate is; there is
    at least one sample of each kind."""
    n, count = sum(m for _, m in problems), len(problems)
    rate = sum(c for c, _ in problems) / n
    between = count / (count - 1) * sum((c - m * rate) ** 2 for c, m in problems)
    return between / (n * rate * (1 - rate))


def _by_problem(named: Iterable[tuple[str, Evaluation]]) -> list[list[Evaluation]]:
    """The evaluations of each problem."""
    found: dict[str, list[Evaluation]] = {}
    for problem, one in named:
        found.setdefault(problem, []).append(one)
    return list(found.values())


def wilson(successes: float, n: float) -> Interval:
    """The 95 % score interval of a proportion; it never leaves [0, 1].

    >>> low, high = wilson(9, 10)
    >>> round(low, 3), round(high, 3)
    (0.596, 0.982)

    It takes the samples as independent: those of one problem are not (`rate_interval`).
    """
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"{successes} of {n} is not a proportion")
    rate, spread = successes / n, Z_95 * Z_95 / n
    middle = (rate + spread / 2) / (1 + spread)
    half = Z_95 * math.sqrt(rate * (1 - rate) / n + spread / (4 * n)) / (1 + spread)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return low, high


def fast_p(evaluations: Iterable[Evaluation], p: float) -> float | None:
    """Share of all judged samples that are correct and more than `p` times as fast.

    None without samples, or where kernels are correct and none of them was timed.
    """
    known = judged(evaluations)
    return _fast_share(known, _speedups(known), p)


def surely_fast_p(evaluations: Iterable[Evaluation], p: float) -> float | None:
    """Share of all judged samples that are correct and, by their interval's lower end, faster.

    For `p` 0 that is the share of the correct ones. None as in `fast_p`.
    """
    known = judged(evaluations)
    if p == 0:
        correct = sum(one.verdict is Verdict.CORRECT for one in known)
        return correct / len(known) if known else None
    return _fast_share(known, [one.timing.speedup.low for one in known if one.timing], p)


def is_surely_fast(p: float, one: Evaluation) -> bool:
    """Whether a sample is among those that `surely_fast_p` counts."""
    if p == 0:
        return one.verdict is Verdict.CORRECT
    return one.timing is not None and one.timing.speedup.low > p


def geomean_speedup(evaluations: Iterable[Evaluation]) -> float | None:
    """Geometric mean of the speedups of the correct kernels; None where none was timed."""
    return geomean(_speedups(evaluations))


def speedup_interval(problems: Iterable[Sequence[Evaluation]]) -> Interval | None:
    """The 95 % interval of `geomean_speedup`, from the evaluations of each problem; None where
    fewer than two problems have a speed."""
    return geomean_interval(map(_speedups, problems))


def geomean_interval(problems: Iterable[Sequence[float]]) -> Interval | None:
    """The 95 % interval of a geometric mean, from the ratios of each problem; None where fewer than
    two problems have one.

    A percentile bootstrap over problems, as in `paired_gain`: each draw has as many problems, with
    all of their ratios. Of fewer than `FEWEST_PAIRS` it spans the means of all of them.
    """
    logs = [found for one in problems if (found := list(map(math.log, one)))]
    if len(logs) < 2:
        return None
    if len(logs) < FEWEST_PAIRS:
        each = [math.exp(math.fsum(one) / len(one)) for one in logs]
        return min(each), max(each)
    sums, counts = np.array([(math.fsum(one), len(one)) for one in logs]).T
    drawn = np.random.default_rng(0).integers(len(logs), size=(RESAMPLES, len(logs)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.exp(np.quantile(means, (0.025, 0.975)))
    return float(low), float(high)


def speed_of_light(evaluations: Iterable[Evaluation]) -> float | None:
    """Geometric mean, over the correct kernels whose floor is known, of the least time that their
    work can take as a share of their own, at most 1; None where no floor is known."""
    return geomean(lights(evaluations))


def lights(evaluations: Iterable[Evaluation]) -> list[float]:
    """That share of each such kernel."""
    return [
        min(1.0, dict(one.facts)["floor_ns"] / median(one.timing.candidate_ns))
        for one in judged(evaluations)
        if one.timing and dict(one.facts).get("floor_ns")
    ]


def geomean(ratios: Sequence[float]) -> float | None:
    """Geometric mean; None of nothing."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else None


def relative(speedup: Speedup, baseline: Speedup) -> Speedup:
    """How many times as fast as this baseline, where both are known against eager PyTorch.

    On a log scale the medians are subtracted and the half-widths of the intervals added. They were
    measured apart, and the errors of two measurements rarely add up: the result covers at least
    95 % where both errors are normal and independent, and 90 % whatever they are.
    """
    return Speedup(
        median=speedup.median / baseline.median,
        low=speedup.low / baseline.high,
        high=speedup.high / baseline.low,
    )


def timed_at(evaluation: Evaluation, environment: str) -> bool:
    """Whether it was timed where a baseline of this environment was. One without a name is of an
    older version, which measured on a core."""
    if not environment:
        return evaluation.trust is Trust.REFEREED
    return evaluation.environment == environment


def against_compile(samples: Iterable[tuple[Evaluation, Speedup, str]]) -> AgainstCompile:
    """Speeds against the compiled baseline of each sample's problem, given with the sample: how
    fast that is, and its environment."""
    known = [(one, baseline, where) for one, baseline, where in samples if judged([one])]
    there = [(one, base) for one, base, where in known if not one.timing or timed_at(one, where)]
    speedups = [relative(one.timing.speedup, base).median for one, base in there if one.timing]
    elsewhere = len(known) - len(there)
    share = _fast_share([one for one, _ in there], speedups, 1.0)
    return AgainstCompile(
        n=len(there),
        fast_1=None if elsewhere else share,
        geomean_speedup=geomean(speedups),
        elsewhere=elsewhere,
    )


def pass_at_k(n: int, correct: int, k: int) -> float:
    """Chance that of `k` samples, drawn from `n` of which `correct` pass, at least one passes.

    The unbiased estimate: 1 - C(n - correct, k) / C(n, k).

    >>> pass_at_k(4, 1, 2)
    0.5
    """
    if not (0 <= correct <= n and 1 <= k <= n):
        raise ValueError(f"cannot draw {k} of {n} samples, {correct} of them correct")
    return 1.0 - math.comb(n - correct, k) / math.comb(n, k)


def mean_pass_at_k(problems: Iterable[Sequence[Evaluation]], k: int) -> Draws | None:
    """`pass_at_k` over problems; those with fewer than `k` judged samples have no say, and None
    where no problem has.

    Its interval is Wilson's, as if each problem were always solved or never: chances of problems
    can vary no more than that, so it is never too narrow.
    """
    chances = []
    for evaluations in problems:
        known = judged(evaluations)
        count = sum(one.verdict is Verdict.CORRECT for one in known)
        if len(known) >= k:
            chances.append(pass_at_k(len(known), count, k))
    if not chances:
        return None
    total, problems_asked = math.fsum(chances), len(chances)
    low, high = wilson(min(total, problems_asked), problems_asked)
    return Draws(mean=total / problems_asked, low=low, high=high, problems=problems_asked)


def paired_gain(pairs: Sequence[tuple[float, float]]) -> Gain | None:
    """How much the second of each problem's two values lies above the first; None without pairs.

    The interval is a percentile bootstrap over problems, so that several samples of one problem
    do not pass for independent evidence. Of fewer than `FEWEST_PAIRS` it spans all differences, and
    none. Seeded: the same pairs always print the same interval.
    """
    if not pairs:
        return None
    rises = np.array([after - before for before, after in pairs])
    drawn = np.random.default_rng(0).choice(rises, size=(RESAMPLES, len(rises))).mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    if len(pairs) < FEWEST_PAIRS:
        low, high = min(0.0, rises.min()), max(0.0, rises.max())
    return Gain(mean=float(rises.mean()), low=float(low), high=float(high), problems=len(pairs))


def _speedups(evaluations: Iterable[Evaluation]) -> list[float]:
    return [one.timing.speedup.median for one in evaluations if one.timing is not None]


def _fast_share(known: Sequence[Evaluation], speedups: Sequence[float], p: float) -> float | None:
    if not known or (not speedups and any(one.verdict is Verdict.CORRECT for one in known)):
        return None
    return sum(speedup > p for speedup in speedups) / len(known)
