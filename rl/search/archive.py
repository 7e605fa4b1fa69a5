"""The answers of a search to one problem: the worth of each, and what it was made from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelwright.data.runs.records import answer_of
from kernelwright.data.runs.stages import SEARCH, SEARCH_START
from kernelwright.envs.types import Dialect, Evaluation, Record, Verdict
from kernelwright.rl.methods.contrastive import Exemplar


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One kernel that was judged. `lane` is its island, or its chain of refinements; `depth` how
    many kernels it goes back to."""

    key: str
    source: str
    evaluation: Evaluation
    parent: str | None
    kind: str
    lane: int
    depth: int
    step: int

    @classmethod
    def of(cls, record: Record) -> Tried | None:
        """None of an answer without a kernel, or one that the judge reached no verdict on."""
        if record.source is None or record.evaluation.verdict is Verdict.UNJUDGED:
            return None
        return cls(
            key=answer_of(record).key,
            source=record.source,
            evaluation=record.evaluation,
            parent=record.parent,
            kind=record.skill,
            lane=record.trajectory,
            depth=record.turn,
            step=record.step,
        )

    @property
    def is_right(self) -> bool:
        return self.evaluation.verdict is Verdict.CORRECT

    @property
    def speed(self) -> float | None:
        """The lower end of its speedup's interval; None where it was not timed."""
        timing = self.evaluation.timing
        return timing.speedup.low if timing else None

    @property
    def median(self) -> float | None:
        """Its speedup; None where it was not timed."""
        timing = self.evaluation.timing
        return timing.speedup.median if timing else None

    @property
    def worth(self) -> float:
        """0 if not right; else 1, and more the faster it is: 2 at the speed of PyTorch, without an
        upper end, so that a search goes on where a reward would be clipped."""
        return 1.0 + math.log2(1.0 + (self.speed or 0.0)) if self.is_right else 0.0

    def exemplar(self) -> Exemplar | None:
        """As prompts show it; None where it has no speed."""
        if self.median is None:
            return None
        return Exemplar(key=self.key, source=self.source, speedup=self.median)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """An answer by a kind of rewriting; `child` is None where it has no kernel."""

    kind: str
    parent: str
    step: int
    child: Tried | None


class Archive:
    """All answers of a search to one problem, in the order in which they were asked for."""

    given: Tried | None = None
    """The kernel that the search is to improve on; it belongs to every lane."""

    def __init__(self, dialect: Dialect = "", category: str = "") -> None:
        self.dialect, self.category = dialect, category
        """The language of its kernels, and the category of its problem."""
        self.kernels: dict[str, Tried] = {}
        """Every distinct kernel by its key, as it was first judged."""
        self.asked = Counter[str | None]()
        """How many answers were made from each kernel, by its key, and from none."""
        self.rewritten: list[Rewritten] = []
        self.steps: set[int] = set()
        self._last: dict[int, Tried | None] = {}

    def add(self, records: Sequence[Record]) -> None:
        """The answers of one step, or of several; or the kernel that the search was given."""
        for record in records:
            tried = Tried.of(record)
            if tried:
                self.kernels.setdefault(tried.key, tried)
            if record.stage == SEARCH_START:
                self.given = tried
            elif record.stage == SEARCH:
                self.asked[record.parent] += 1
                self.steps.add(record.step)
                self._last[record.trajectory] = tried
                self._add_rewritten(record, tried)

    def _add_rewritten(self, record: Record, tried: Tried | None) -> None:
        """Nothing of an answer that the judge reached no verdict on."""
        if record.skill and record.parent and record.evaluation.verdict is not Verdict.UNJUDGED:
            self.rewritten.append(
                Rewritten(kind=record.skill, parent=record.parent, step=record.step, child=tried)
            )

    def last(self, lane: int) -> Tried | None:
        """The latest answer of a lane; None before there is one, or where it holds no kernel."""
        return self._last.get(lane)

    def in_lane(self, kernels: Iterable[Tried], lane: int) -> list[Tried]:
        """Those of these kernels that a lane may go on from, in their order."""
        return [one for one in kernels if one.lane == lane or one is self.given]

    @property
    def right(self) -> list[Tried]:
        """The distinct kernels that are right, best first."""
        found = (one for one in self.kernels.values() if one.is_right)
        return sorted(found, key=lambda one: -one.worth)

    @property
    def wrong(self) -> list[Tried]:
        """The others, oldest first."""
        return [one for one in self.kernels.values() if not one.is_right]

    @property
    def best(self) -> Tried | None:
        """The right kernel that is surest to be fast."""
        return next(iter(self.right), None)
