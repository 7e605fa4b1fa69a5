"""A method whose rows are paid by their tokens: even a model that writes no kernel has something to
learn."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Literal

from kernelwright.rl.methods import base
from kernelwright.rl.methods.base import MethodOptions, Row


class Options(MethodOptions):
    name: Literal["tests.paid_by_tokens"] = "tests.paid_by_tokens"


class Method(base.Method):
    def credit(self, rows: Sequence[Row]) -> list[float | None]:
        """The share of a row's tokens that have an even number."""
        return [fmean(one % 2 == 0 for one in row.token_ids) for row in rows]
