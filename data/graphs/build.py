"""Draws problems, and keeps those that are admitted and have a right example in some dialect.

Every draw has a line in `funnel.jsonl` that says what became of it, so that a build that was
stopped goes on with the next draw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernelwright.data.graphs.graph import Graph
from kernelwright.data.graphs.lint.lint import findings
from kernelwright.data.graphs.mutants.rows import Right, add_mutants, keep_rows_of
from kernelwright.data.graphs.problem import DIALECTS, example_of, problem_of
from kernelwright.data.graphs.sample import VERSION, draw
from kernelwright.data.graphs.signature import signature, signatures
from kernelwright.data.runs.progress import Counted
from kernelwright.data.suites.built import SFT_ONLY
from kernelwright.data.suites.check import check_many
from kernelwright.data.suites.load import load_suite
from kernelwright.data.suites.row_folder import KEPT, Done, Lost, RowFolder
from kernelwright.data.suites.rows import Row
from kernelwright.envs.codec import to_plain
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.reference.admitted import Admission, with_kept
from kernelwright.envs.reference.module import ProblemError
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.types import Dialect, Problem, Verdict

BATCH = 16
"""So many draws are checked and judged together, and written down."""
DRAWS_PER_ROW = 20
"""A build ends where so many draws for each problem that is wanted were not enough."""
NEARLY_RIGHT = ("bfloat16_inputs", "dead:", "alive:dropped_epsilon")
"""What a problem may accept whose example is shown, and which earns no reward."""


class BuildError(ValueError):
    """A build that cannot be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What decides the draws of a folder, and what is written of them."""

    seed: int
    dialects: tuple[Dialect, ...] = ("cpp",)
    exclude: tuple[str, ...] = ()
    mutants: int = 0
    """How many kernels with a fault are judged of each example, for repairs and preferences."""
    version: str = VERSION

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.dialects) - set(DIALECTS)):
            raise BuildError(f"graphs are lowered to {', '.join(DIALECTS)}, not to {unknown[0]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """A graph as a problem. `id` is its place; `why` says why it is dropped, after a code."""

    id: str
    graph: Graph
    problem: Problem
    why: str = ""

    def row(self, dialect: Dialect) -> Row:
        """The problem with its example."""
        one = example_of(self.graph, self.problem, dialect)
        return Row(
            name=one.problem.name,
            code=one.problem.code,
            cases=one.problem.cases,
            dialect=dialect,
            reasoning=one.reasoning,
            kernel=one.source,
            source=one.problem.source,
            licence=one.problem.licence,
            category=one.problem.category,
            family=one.problem.family,
            tags=one.problem.tags,
            pattern=one.pattern,
        )


@dataclass
class Build:
    """A folder in the making; `fates` counts what became of draws."""

    out: RowFolder
    recipe: Recipe
    seen: set[str] = field(default_factory=set)
    fates: Counter[str] = field(default_factory=Counter)
    examples: Counter[str] = field(default_factory=Counter)
    """Right examples by dialect."""

    @classmethod
    def begin(cls, folder: Path, recipe: Recipe) -> Build:
        """A new folder, or what is there of one. Raises FolderError, OSError and ValueError."""
        folder.mkdir(parents=True, exist_ok=True)
        out = RowFolder(folder)
        out.open({"command": "data build", **to_plain(recipe)})
        build = cls(out, recipe)
        for line in out.funnel():
            build.fates[line["result"]] += 1
            build.seen.add(line["graph"])
        build.examples.update(str(one.dialect) for one in out.rows())
        keep_rows_of(folder, {line["problem"] for line in out.funnel()})
        return build

    def run(self, count: int, judge: AnyJudge) -> None:
        """Until so many problems are kept. Raises BuildError where too few draws are."""
        twins = signatures(
            problem for spec in self.recipe.exclude for problem in load_suite(spec).problems
        )
        with Counted("problems", count, done=self.fates[KEPT]) as bar:
            while self.fates[KEPT] < count:
                if self.fates.total() > DRAWS_PER_ROW * count:
                    raise BuildError(f"too few draws are kept: {self.said()}")
                self._batch(judge, twins, min(BATCH, count - self.fates[KEPT]))
                bar.reach(min(count, self.fates[KEPT]), {})

    def said(self) -> str:
        """What became of the draws, the commonest first, and the examples by dialect."""
        fates = ", ".join(f"{many} {fate}" for fate, many in self.fates.most_common())
        examples = ", ".join(f"{many} in {name}" for name, many in self.examples.items())
        return f"{fates}; right examples: {examples or 'none'}"

    def _batch(self, judge: AnyJudge, twins: set[str], size: int) -> None:
        start = self.fates.total()
        draws = [self._drawn(index) for index in range(start, start + size)]
        if twins:
            learn_shapes(one.problem for one in draws if not one.why)
            draws = [_excluded(one, twins) for one in draws]
        draws = _admitted(draws)
        draws, rows = self._examples(draws)
        jobs = [(row.problem, row.triple(row.problem).candidate) for row in rows]
        judged: dict[str, list[Row]] = {}
        for row, said in zip(rows, judge.evaluate_many(jobs, timed=True), strict=True):
            judged.setdefault(row.name, []).append(row.judged(said))
        if self.recipe.mutants:
            self._add_mutants(judge, draws, judged)
        self._write([_done(one, judged.get(one.problem.name, [])) for one in draws])

    def _examples(self, draws: Sequence[Draw]) -> tuple[list[Draw], list[Row]]:
        """The draws, and their examples. One that says what its code does not do is a fault of
        ours, and its draw is dropped."""
        kept, found = [], list[Row]()
        for one in draws:
            rows = [] if one.why else [one.row(dialect) for dialect in self.recipe.dialects]
            false = _false_plan(rows)
            kept.append(replace(one, why=false) if false else one)
            found += [] if false else rows
        return kept, found

    def _add_mutants(
        self, judge: AnyJudge, draws: Sequence[Draw], judged: Mapping[str, Sequence[Row]]
    ) -> None:
        rights = [
            Right(triple=row.triple(one.problem), kernel=one.graph.kernel())
            for one in draws
            for row in judged.get(one.problem.name, ())
            if row.verdict is Verdict.CORRECT
        ]
        add_mutants(self.out.folder, rights, judge, self.recipe.mutants)

    def _write(self, done: Sequence[Done]) -> None:
        self.out.add(done)
        for one in done:
            self.fates[one.lost.reason if one.lost else KEPT] += 1
            self.examples.update(str(row.dialect) for row in one.rows)

    def _drawn(self, index: int) -> Draw:
        graph = draw(self.recipe.seed, index)
        why = "duplicate: an earlier draw has the same operators" * (graph.signature in self.seen)
        self.seen.add(graph.signature)
        problem = problem_of(graph, self.recipe.seed, index)
        return Draw(id=f"{index:05d}", graph=graph, problem=problem, why=why)


def _false_plan(rows: Sequence[Row]) -> str:
    """What the reasoning of an example says falsely; empty where nothing is."""
    for row in rows:
        assert row.dialect is not None
        if found := findings(row.reasoning, row.kernel or "", row.problem, row.dialect):
            return f"false plan: {'; '.join(found)}"
    return ""


def _excluded(one: Draw, twins: set[str]) -> Draw:
    if one.why:
        return one
    try:
        is_twin = signature(one.problem) in twins
    except ProblemError as error:
        return replace(one, why=f"does not run: {' '.join(str(error).split())[:200]}")
    return replace(one, why="excluded: the same as a problem of that suite") if is_twin else one


def _admitted(draws: Sequence[Draw]) -> list[Draw]:
    """Each with the cases that its admission keeps, or why it was refused."""
    asked = [one for one in draws if not one.why]
    checked = check_many([(one.problem, ()) for one in asked])
    found = {one.id: said for one, said in zip(asked, checked, strict=True)}
    return [_with(one, found[one.id]) if one.id in found else one for one in draws]


def _with(one: Draw, said: Admission) -> Draw:
    if not (said.admitted or can_teach(said)):
        return replace(one, why=f"refused: {said.failed or ', '.join(said.accepted)}")
    problem = with_kept(one.problem, said.kept)
    return replace(one, problem=problem if said.admitted else _for_sft(problem))


def _for_sft(problem: Problem) -> Problem:
    return replace(problem, tags=(*problem.tags, SFT_ONLY))


def can_teach(said: Admission) -> bool:
    """Whether all that a problem accepts are answers that are nearly right: a mean of many numbers
    hardly tells rounded inputs from others. Its example is right; as a reward it would not do."""
    return not said.failed and all(one.startswith(NEARLY_RIGHT) for one in said.accepted)


def _done(one: Draw, rows: Sequence[Row]) -> Done:
    """What came of a draw: its right examples, the wrong ones, or why there is neither."""
    facts: dict[str, Any] = {"problem": one.problem.name, "graph": one.graph.signature}
    right = tuple(row for row in rows if row.verdict is Verdict.CORRECT)
    wrong = tuple(row for row in rows if row.verdict not in (Verdict.CORRECT, Verdict.UNJUDGED))
    reason, _, why = one.why.partition(": ")
    if not one.why and not right:
        reason = "not right" if wrong else "unjudged"
        why = "; ".join(f"{row.verdict}: {row.reason}" for row in rows)
    lost = None if right else Lost(one.id, reason, why)
    return Done(id=one.id, rows=right, wrong=wrong, lost=lost, facts=facts)
