"""`method: tritonrl`: the plan is paid for speed, the code for being right.

After TritonRL (arXiv 2510.17891): tokens before the kernel's block, the plan, have the advantage of
the speedup, and those from there on have that of correctness. A good plan is so not punished for a
slip in its code, nor is right code for a slow plan.

Ours: the plan's weight, which the paper has and does not tell, is 1; a speedup is the lower end of
its interval; an answer whose kernel stands in no block that can be found again is code alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from kernelwright.envs.types import Verdict
from kernelwright.rl.methods import base
from kernelwright.rl.methods.base import Advantage, MethodOptions, Row, centred

FENCE = "```"


class Options(MethodOptions):
    """How plans are paid."""

    name: Literal["tritonrl"] = "tritonrl"
    plan_weight: float = Field(default=1.0, ge=0)
    """Times the advantage of a plan's tokens; those of code have 1."""
    most_speedup: float = Field(default=2.0, gt=0)
    """More is not paid."""

    @property
    def needs_speeds(self) -> bool:
        return True


class Method(base.Method):
    """Two advantages for each answer: one up to its block, one from there on."""

    options: Options

    def advantages(self, rows: Sequence[Row], credits: Sequence[float | None]) -> list[Advantage]:
        """min(speedup, most_speedup) for correct, 0 for not, less the group's mean, for each token
        of the plan; 1 or 0 less the mean for each of the code. 0 for a row without credit."""
        code = centred(
            [
                None if credit is None else float(_is_right(row))
                for row, credit in zip(rows, credits, strict=True)
            ]
        )
        plan = centred(
            [
                None if credit is None else self._speed(row)
                for row, credit in zip(rows, credits, strict=True)
            ]
        )
        lengths = [self.plan_tokens(row) for row in rows]
        return [
            (self.options.plan_weight * fast,) * length + (right,) * (len(row.token_ids) - length)
            for row, length, fast, right in zip(rows, lengths, plan, code, strict=True)
        ]

    def plan_tokens(self, row: Row) -> int:
        """How many of a row's tokens begin before the block of its kernel."""
        begin = code_begins(row.completion, row.source)
        decode = self.run.decode
        if decode is None:
            raise ValueError("method 'tritonrl' needs to know the text of tokens (RunView.decode)")
        places = range(len(row.token_ids) + 1)
        return bisect_left(places, begin, key=lambda count: len(decode(row.token_ids[:count])))

    def _speed(self, row: Row) -> float | None:
        """None for a correct row of unknown speed."""
        if not _is_right(row):
            return 0.0
        timing = row.evaluation.timing
        return min(timing.speedup.low, self.options.most_speedup) if timing else None


def code_begins(completion: str, source: str | None) -> int:
    """Where the fence of the source's block stands; 0 without a source that can be found again.

    >>> code_begins("It adds.\\n```cpp\\nint x;\\n```", "int x;\\n")
    9
    """
    start = completion.rfind(source) if source else -1
    return max(0, completion.rfind(FENCE, 0, start)) if start > 0 else 0


def _is_right(row: Row) -> bool:
    return row.evaluation.verdict is Verdict.CORRECT
