"""Records in, the rows of a viewer's page out: each problem and each prompt once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kernelwright.data.runs.records import answer_of
from kernelwright.envs.types import CaseCheck, Evaluation, Record, Speedup
from kernelwright.evals.page.report import clip, failed_rounds
from kernelwright.evals.page.view_tally import finite, total_of

OF_PROBLEMS = ("name", "key", "category")
OF_ROWS = (
    *("stage", "step", "row", "problem", "prompt", "dialect", "verdict", "reason"),
    *("speed", "low", "high", "reward", "parts", "credit", "trajectory", "turn", "skill"),
    *("key", "parent", "exemplars"),
    *("seconds", "how", "before", "kernel", "after", "log", "rounds", "times", "floor"),
)
"""`key` is the kernel's, as others name it in `parent` (what it was made from) and `exemplars`
(what its prompt showed); None where there is no kernel. `before` and `after` are what the answer
says around its kernel; `seconds` the judge's. `times` are what rounds took, of PyTorch and of the
kernel: shortest, quartiles, longest, in microseconds; `floor` is the least that the work can take
on that machine, likewise."""

_OPENS = re.compile(r"(?:^|\n)[ \t]*(?:`{3,}|~{3,})[^\n]*\n\Z")
_CLOSES = re.compile(r"\A\n*[ \t]*(?:`{3,}|~{3,})[ \t]*(?:\n|\Z)")


class Place(NamedTuple):
    """How many problems, prompts and rows of a table a reader has."""

    problems: int = 0
    prompts: int = 0
    rows: int = 0


class Table:
    """The rollouts of a run as lists that only grow."""

    def __init__(self, categories: Mapping[str, str]) -> None:
        self.categories = categories
        self._problems: dict[tuple[str, str], list[Any]] = {}
        self._prompts: list[str] = []
        self._rows: list[list[Any]] = []
        self._place_of: dict[tuple[str, str] | str, int] = {}

    @property
    def end(self) -> Place:
        """The place of a reader that has everything."""
        return Place(len(self._problems), len(self._prompts), len(self._rows))

    def add(self, record: Record) -> float | None:
        """Appends a row; gives the median of the record's speedup."""
        named = record.problem, record.problem_key
        if named not in self._problems:
            category = self.categories.get(record.problem, "other")
            self._problems[named] = [clip(record.problem), clip(record.problem_key), category]
            self._place_of[named] = len(self._problems) - 1
        if record.prompt not in self._place_of:
            self._prompts.append(clip(record.prompt))
            self._place_of[record.prompt] = len(self._prompts) - 1
        speed = record.evaluation.timing.speedup if record.evaluation.timing else None
        places = self._place_of[named], self._place_of[record.prompt]
        self._rows.append(_row(record, speed, *places))
        return speed.median if speed else None

    def since(self, place: Place) -> dict[str, Any]:
        """What a reader lacks that has everything up to a place, ready for JSON."""
        problems = list(self._problems.values())[place.problems :]
        return {
            "problems": {"names": OF_PROBLEMS, "rows": problems},
            "prompts": self._prompts[place.prompts :],
            "rows": {"names": OF_ROWS, "rows": self._rows[place.rows :]},
        }


def around_the_kernel(completion: str, source: str | None) -> tuple[str, str, str]:
    """An answer as (what is before its kernel, the kernel, what is after it), without fences.

    Where the kernel is not in the answer word for word, the whole answer is before it.

    >>> around_the_kernel("It adds.\\n```cpp\\nint x;\\n```\\nDone.", "int x;\\n")
    ('It adds.', 'int x;\\n', 'Done.')
    """
    kernel = source or ""
    body = kernel.rstrip("\n")
    at = completion.rfind(body) if body.strip() else -1
    if at < 0:
        return completion, kernel, ""
    after = completion[at + len(body) :]
    return _OPENS.sub("", completion[:at]), kernel, _CLOSES.sub("", after).strip("\n")


def _row(record: Record, speed: Speedup | None, problem: int, prompt: int) -> list[Any]:
    evaluation, reward = record.evaluation, record.reward
    how = (evaluation.trust.value, evaluation.sandbox_level or "", evaluation.environment)
    return [
        *(clip(record.stage), record.step, record.row, problem, prompt, clip(record.dialect)),
        *(evaluation.verdict.value, clip(evaluation.reason)),
        *((speed.median, speed.low, speed.high) if speed else (None, None, None)),
        total_of(reward),
        {clip(name): one for name, one in reward.parts.items()} if reward else {},
        finite(record.credit),
        *(record.trajectory, record.turn, clip(record.skill)),
        None if record.source is None else answer_of(record).key,
        *(record.parent and clip(record.parent), [*map(clip, record.exemplars)]),
        finite(evaluation.seconds),
        clip(" · ".join(filter(None, how))),
        *map(clip, around_the_kernel(record.completion, record.source)),
        clip(evaluation.log),
        [_round(one) for one in failed_rounds(evaluation)],
        *_times(evaluation),
    ]


def _times(evaluation: Evaluation) -> tuple[list[list[float]] | None, float | None]:
    """The last two of a row; None where nothing was timed, or no floor is known."""
    timing, floor_ns = evaluation.timing, dict(evaluation.facts).get("floor_ns")
    if timing is None:
        return None, None
    both = [quartiles(one) for one in (timing.baseline_ns, timing.candidate_ns)]
    return both, None if floor_ns is None else finite(_us(floor_ns))


def quartiles(rounds_ns: Sequence[int]) -> list[float]:
    """Shortest, quartiles and longest, in microseconds of four digits.

    >>> quartiles([1000, 3000, 2000])
    [1.0, 1.5, 2.0, 2.5, 3.0]
    """
    times, last = sorted(rounds_ns), len(rounds_ns) - 1
    found = []
    for quarter in range(5):
        at, rest = divmod(quarter * last, 4)
        found.append(_us(times[at] + (times[min(at + 1, last)] - times[at]) * rest / 4))
    return found


def _us(ns: float) -> float:
    return float(f"{ns / 1000:.4g}")


def _round(one: CaseCheck) -> list[Any]:
    return [clip(one.case), finite(one.error), clip(one.note)]
