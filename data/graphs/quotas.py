"""Shares of a build's problems by category: none takes too many, and each gets some."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from kernelwright.data.graphs.operators.registry import CATEGORIES

PATIENCE = 1000
"""After so many draws without a new graph of a category no place is kept for it any more."""


@dataclass(kw_only=True)
class Quotas:
    """Of `count` problems a category has at most `largest_share`, and `least_share` where graphs of
    it are drawn. `taken` counts what is kept or being judged."""

    count: int
    largest_share: float = 1.0
    least_share: float = 0.0
    taken: Counter[str] = field(default_factory=Counter)
    drawn_at: dict[str, int] = field(default_factory=dict)
    """The last draw of each category that was no duplicate."""

    @property
    def most(self) -> int:
        return max(1, int(self.largest_share * self.count))

    @property
    def least(self) -> int:
        return int(self.least_share * self.count)

    def refusal(self, category: str, draw: int) -> str:
        """Why there is no place for a new graph of this category; empty where there is one."""
        self.drawn_at[category] = draw
        if self.taken[category] >= self.most:
            return f"{category} has its {self.most} of {self.count} problems"
        left = self.count - self.taken.total()
        if self.taken[category] >= self.least and left <= self._kept_free(draw):
            return f"the last {left} places are for categories with fewer than {self.least}"
        return ""

    def _kept_free(self, draw: int) -> int:
        """Places that categories with too few problems still need."""
        return sum(
            max(0, self.least - self.taken[one])
            for one in CATEGORIES
            if draw - self.drawn_at.get(one, 0) <= PATIENCE
        )
