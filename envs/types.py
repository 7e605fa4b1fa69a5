"""The data types of kernelwright. Read this file first: all other modules take and return them.

A `Problem` is asked for in a `Dialect`; a model's answer to it is a `Candidate`; the judge turns
that into an `Evaluation` with exactly one `Verdict`; a reward function turns the evaluation into a
`Reward`; a `Record` is all of it on disk. A state that makes no sense cannot be built.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median

from kernelwright.envs.stats import signed_rank_interval


class Verdict(StrEnum):
    """The outcome of judging a candidate: exactly one of these values.

    `UNJUDGED`: *we* broke. It earns no reward (None, never 0), leaves its group, and is retried.
    """

    CORRECT = "correct"
    WRONG = "wrong"
    BUILD_FAILED = "build_failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    CHEATED = "cheated"
    NO_KERNEL = "no_kernel"
    UNJUDGED = "unjudged"


Dialect = str
"""The name of what an answer is written in; `envs/dialects/` has the list of them."""


class Trust(StrEnum):
    """Who owned the process, the clock and the check, from strongest to weakest.

    `REPLAYED`: device code was launched again by a trusted process. `REFEREED`: the candidate owned
    its process, the referee owned clock and check. `EMULATED`: device code ran on a CPU, translated
    (envs/ptx), so nothing is known of its speed. `INPROCESS`: they shared one; never rewarded.
    """

    REPLAYED = "replayed"
    REFEREED = "refereed"
    EMULATED = "emulated"
    INPROCESS = "inprocess"


class Baseline(StrEnum):
    """The baseline of a speedup: the PyTorch module as it is, or by torch.compile, in two modes."""

    EAGER = "eager"
    COMPILE = "compile"
    MAX_AUTOTUNE = "max-autotune"


class Precision(StrEnum):
    """Precision of float32 products on a GPU: IEEE, or TF32 with its 10 bits of mantissa."""

    IEEE = "ieee"
    TF32 = "tf32"


class Role(StrEnum):
    """The purpose of a case. Every case is checked; the prompt shows the sizes of the timed one."""

    TRAIN = "train"
    HELD_OUT = "held_out"
    TIME = "time"


def content_hash(*parts: str) -> str:
    """16 hex digits that name these texts, in this order."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One workload of a problem.

    `sizes` replaces module-level integer constants of the problem's source by name;
    `distribution` names how the values of `get_inputs()` are changed (`envs/reference/module.py`).
    """

    name: str
    sizes: tuple[tuple[str, int], ...]
    distribution: str = "given"
    role: Role = Role.TRAIN

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a case needs a name")
        if any(size < 1 for _, size in self.sizes):
            raise ValueError(f"case {self.name}: sizes must be positive, got {dict(self.sizes)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far an output may be from the float64 reference, element by element.

    Allowed error = `relative`·|expected| + `of_spread`·(standard deviation of the expected output)
    + `absolute`, which only the rules of others have: it knows nothing of the problem.
    """

    relative: float
    of_spread: float
    absolute: float = 0.0

    def __post_init__(self) -> None:
        least = self.of_spread + self.absolute
        parts = (self.relative, self.of_spread, self.absolute)
        if not (self.relative > 0 and least > 0 and all(0 <= part < 1 for part in parts)):
            raise ValueError(f"a tolerance lies between 0 and 1, got {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A PyTorch module in KernelBench's format, and the workloads it is judged on.

    `tolerance` None means: derived for this problem by the judge (`envs/referee/tolerance.py`).
    """

    name: str
    code: str
    cases: tuple[Case, ...]
    dtype: str = "float32"
    tolerance: Tolerance | None = None
    category: str = "other"
    family: str = ""
    tags: tuple[str, ...] = ()
    source: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        if not self.cases:
            raise ValueError(f"problem {self.name} has no cases: nothing would be checked")
        names = [case.name for case in self.cases]
        if len(set(names)) != len(names):
            raise ValueError(f"problem {self.name} names a case twice: {names}")
        if "class Model" not in self.code:
            raise ValueError(f"problem {self.name} defines no `class Model`")

    @property
    def key(self) -> str:
        """Content hash of all that decides a verdict: the code, the cases, the tolerance."""
        return content_hash(self.code, self.dtype, repr(self.cases), repr(self.tolerance))

    def timed_case(self) -> Case:
        """The case that speed is measured on: the first with role `time`, else the first."""
        return next((case for case in self.cases if case.role is Role.TIME), self.cases[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A request to a policy: a kernel for this problem, in this dialect."""

    problem: Problem
    dialect: Dialect
    skill: str = ""  # names the way it is asked, where a method has several

    @property
    def key(self) -> str:
        """Content hash of problem, dialect and skill."""
        return content_hash(self.problem.key, self.dialect, *filter(None, [self.skill]))

    def candidate(self, source: str) -> Candidate:
        """This source as an answer to the task."""
        return Candidate(problem_key=self.problem.key, dialect=self.dialect, source=source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Hardware that candidates run on. A peak is an upper bound (envs/workers), None if unknown.

    `read_bytes_per_s` has a rate for each size of what is read over and over, sizes rising: the
    smaller the set, the nearer the cache that it fits in.
    """

    name: str
    read_bytes_per_s: tuple[tuple[int, float], ...] = ()
    flops_per_s: float | None = None

    def __post_init__(self) -> None:
        sizes = [size for size, _ in self.read_bytes_per_s]
        if sizes != sorted(set(sizes)):
            raise ValueError(f"{self.name}: sizes have to rise, got {sizes}")

    def bandwidth_bytes_per_s(self, working_set_bytes: int) -> float | None:
        """Upper bound on the rate at which this set can be read; None where it was not measured.

        Half of the set may lie in a nearer cache than all of it, so half of it decides.
        """
        if not self.read_bytes_per_s:
            return None
        sizes = [size for size, _ in self.read_bytes_per_s]
        nearest = max((one for one in sizes if 2 * one <= working_set_bytes), default=sizes[0])
        return max(rate for size, rate in self.read_bytes_per_s if size >= nearest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An answer to a problem, stored exactly as it was judged."""

    problem_key: str
    dialect: Dialect
    source: str
    torch_allowed: bool = False
    """Whether PyTorch may compute a part of it, as KernelBench lets it: for evaluations."""

    @property
    def key(self) -> str:
        """Content hash of problem, dialect and source, and of what is allowed."""
        rule = ["torch_allowed"] * self.torch_allowed
        return content_hash(self.problem_key, self.dialect, self.source, *rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseCheck:
    """The result of one round on one case.

    `error` is the largest error as a share of what the tolerance allows: at most 1 passes. None
    where it could not be computed (NaN in the output, or no output).
    """

    case: str
    passed: bool
    error: float | None
    note: str = ""

    def __post_init__(self) -> None:
        if self.passed and (self.error is None or not self.error <= 1):
            raise ValueError(f"case {self.case} cannot pass with error {self.error}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The results of all compared rounds, in order. Never empty: a check needs a round."""

    rounds: tuple[CaseCheck, ...]

    def __post_init__(self) -> None:
        if not self.rounds:
            raise ValueError("a check without rounds shows nothing")

    @property
    def passed(self) -> bool:
        return all(one.passed for one in self.rounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speedup:
    """A ratio of durations with its 95 % interval; above 1 is faster than the baseline."""

    median: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.median <= self.high < math.inf:
            raise ValueError(f"not an interval around a median: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Raw samples, in blocks of `block` rounds: baseline and candidate took turns, block by block.

    Both saw the same inputs in the same round, fresh ones every time.
    """

    baseline_ns: tuple[int, ...]
    candidate_ns: tuple[int, ...]
    block: int = 1

    def __post_init__(self) -> None:
        if not self.baseline_ns or len(self.baseline_ns) != len(self.candidate_ns):
            raise ValueError("baseline and candidate need the same, non-zero number of samples")
        if min(self.baseline_ns + self.candidate_ns) <= 0:
            raise ValueError("a duration is positive")
        if self.block < 1 or len(self.baseline_ns) % self.block:
            raise ValueError(f"{len(self.baseline_ns)} samples are no blocks of {self.block}")

    @property
    def log_ratios(self) -> list[float]:
        """For each block the log of how many times as long the baseline took."""
        blocks = [slice(at, at + self.block) for at in range(0, len(self.baseline_ns), self.block)]
        pairs = ((self.baseline_ns[one], self.candidate_ns[one]) for one in blocks)
        return [math.log(median(baseline) / median(candidate)) for baseline, candidate in pairs]

    @property
    def speedup(self) -> Speedup:
        """Blocks are the unit, because rounds of one process share its luck (envs/stats.py)."""
        low, centre, high = signed_rank_interval(self.log_ratios)
        return Speedup(median=math.exp(centre), low=math.exp(low), high=math.exp(high))


UNSUPPORTED = "unsupported:"
"""Begins a reason that names a limit of ours, the same at every try: never retried, priced as the
failure that its verdict says, counted apart. Unlike `unjudged`, no answer gains by choosing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The judge's whole result for one candidate.

    `reason` is a short code (`ok`, `compile_error`, `signal_11`, …) that says why the verdict is
    what it is; `facts` are static facts such as the size of the binary; `binary` is the content
    hash of what was built; with `seed` the judge draws the same inputs again.
    """

    verdict: Verdict
    reason: str
    sandbox_level: str | None = None
    trust: Trust = Trust.REFEREED
    check: Check | None = None
    timing: Timing | None = None
    facts: tuple[tuple[str, float], ...] = ()
    binary: str | None = None
    seed: int | None = None
    environment: str = ""
    log: str = ""
    seconds: float | None = None

    def __post_init__(self) -> None:
        correct = self.verdict is Verdict.CORRECT
        if not self.reason:
            raise ValueError("an evaluation says why")
        if self.timing is not None and not correct:
            raise ValueError(f"a kernel that is {self.verdict} has no timing")
        if correct and (self.check is None or not self.check.passed):
            raise ValueError("a correct kernel has passed a check")
        if correct and self.trust is Trust.INPROCESS:
            raise ValueError("a verdict from the candidate's own process is never `correct`")

    @property
    def is_unsupported(self) -> bool:
        """Whether a limit of ours, which `reason` names, decided it."""
        return self.reason.startswith(UNSUPPORTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """The reward of an evaluation, in named parts; the total is their sum."""

    parts: Mapping[str, float]

    def __post_init__(self) -> None:
        if not self.parts or not all(math.isfinite(part) for part in self.parts.values()):
            raise ValueError(f"a reward has finite, named parts, got {dict(self.parts)}")

    @property
    def total(self) -> float:
        return math.fsum(self.parts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One rollout on disk: enough to re-price it, and with the problem to judge it again.

    (`stage`, `step`, `row`) is unique within a run. `reward` is None where there is none to give.
    `credit` is what the method made of its group's rewards, and None where the trainer never got
    this row: it was sampled for measurement, or its group gave way to one that differs more.
    `parent` is the key of what a turn started from, `weights_step` the step whose weights wrote it.
    """

    stage: str
    step: int
    row: int
    problem: str
    problem_key: str
    dialect: Dialect
    prompt: str
    completion: str
    source: str | None
    evaluation: Evaluation
    reward: Reward | None
    exemplars: tuple[str, ...] = ()
    trajectory: int = 0
    turn: int = 0
    parent: str | None = None
    credit: float | None = None
    weights_step: int | None = None
    torch_allowed: bool = False  # as the `Candidate` was judged
    skill: str = ""  # of its task
    void: bool = False  # takes back the earlier record of this id, and is read by nobody
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.reward is not None and self.evaluation.verdict is Verdict.UNJUDGED:
            raise ValueError("an unjudged rollout has no reward")
        if (self.source is None) != (self.evaluation.verdict is Verdict.NO_KERNEL):
            raise ValueError("a record has no source exactly when no kernel was found")

    @property
    def id(self) -> tuple[str, int, int]:
        return (self.stage, self.step, self.row)
