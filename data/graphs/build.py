"""Draws problems, and keeps those that are admitted and whose example is right and timed.

Every draw has a line in `funnel.jsonl` that says what became of it, so that a build that was
stopped goes on with the next draw.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernelwright.data.graphs.lint.lint import LINTED, findings
from kernelwright.data.graphs.mutants.rows import Right, add_mutants, keep_rows_of
from kernelwright.data.graphs.problem import DIALECTS, example_of, problem_of
from kernelwright.data.graphs.sample import VERSION, draw
from kernelwright.data.graphs.signature import signature, signatures
from kernelwright.data.runs.progress import Counted
from kernelwright.data.suites.built import (
    FUNNEL,
    PROBLEMS,
    SFT_ONLY,
    TRIPLES,
    Kept,
    lines,
    rewrite_lines,
    write_lines,
)
from kernelwright.data.suites.check import check_many
from kernelwright.data.suites.load import load_suite
from kernelwright.data.triple import Triple
from kernelwright.envs.codec import to_plain
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.reference.admitted import Admission, with_kept
from kernelwright.envs.reference.module import ProblemError
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.types import Dialect, Evaluation, Verdict

RECIPE = "recipe.json"
BATCH = 16
"""So many draws are checked and judged together, and written down."""
DRAWS_PER_ROW = 20
"""A build ends where so many draws for each row that is wanted were not enough."""
KEPT = "kept"
NEARLY_RIGHT = ("bfloat16_inputs", "dead:", "alive:dropped_epsilon")
"""What a problem may accept whose example is shown, and which earns no reward."""


class BuildError(ValueError):
    """A folder that another build wrote, or a recipe that cannot be built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What decides the draws of a folder."""

    seed: int
    dialect: Dialect = "cpp"
    exclude: tuple[str, ...] = ()
    version: str = VERSION

    def __post_init__(self) -> None:
        if self.dialect not in DIALECTS:
            raise BuildError(f"graphs are lowered to {', '.join(DIALECTS)}, not to {self.dialect}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A draw: its place, its graph's signature, and the triple that it may become."""

    index: int
    graph: str
    triple: Triple
    why: str = ""
    """Why it was dropped before it was judged."""


@dataclass
class Build:
    """A folder in the making; `fates` counts what became of draws."""

    folder: Path
    recipe: Recipe
    seen: set[str] = field(default_factory=set)
    fates: Counter[str] = field(default_factory=Counter)
    next: int = 0
    mutants: int = 0
    """How many wrong kernels of each row are judged, to teach repair and preference."""

    @classmethod
    def begin(cls, folder: Path, recipe: Recipe) -> Build:
        """A new folder, or what is there of one. Raises BuildError, OSError and ValueError."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / RECIPE
        plain = to_plain(recipe)
        if not file.exists():
            if any(folder.iterdir()):
                raise BuildError(f"{folder} has other files in it: expects a new folder")
            file.write_text(json.dumps(plain) + "\n", encoding="utf-8")
        elif (found := json.loads(file.read_text(encoding="utf-8"))) != plain:
            raise BuildError(f"{folder} was built otherwise: {found}")
        build = cls(folder, recipe)
        build._resume()
        return build

    def _resume(self) -> None:
        """Goes on after the last batch that has its lines in the funnel."""
        for name in (FUNNEL, PROBLEMS, TRIPLES):
            (self.folder / name).touch()
        told = lines(self.folder / FUNNEL)
        self.next = len(told)
        self.fates.update(row["fate"] for row in told)
        self.seen.update(row["graph"] for row in told)
        known = {row["problem"] for row in told}
        for name, key in ((PROBLEMS, "name"), (TRIPLES, "problem")):
            rows = [row for row in lines(self.folder / name) if row[key] in known]
            rewrite_lines(self.folder / name, rows)
        rewrite_lines(self.folder / FUNNEL, told)
        keep_rows_of(self.folder, known)

    def run(self, count: int, judge: AnyJudge) -> None:
        """Until so many rows are kept. Raises BuildError where too few draws are."""
        twins = signatures(
            problem for spec in self.recipe.exclude for problem in load_suite(spec).problems
        )
        with Counted("rows", count, done=self.fates[KEPT]) as bar:
            while self.fates[KEPT] < count:
                if self.next > DRAWS_PER_ROW * count:
                    raise BuildError(
                        f"{self.next} draws gave {self.fates[KEPT]} rows: {self.said()}"
                    )
                self._batch(judge, twins, min(BATCH, count - self.fates[KEPT]))
                bar.reach(min(count, self.fates[KEPT]), {})

    def said(self) -> str:
        """What became of the draws, the commonest first."""
        return ", ".join(f"{many} {fate}" for fate, many in self.fates.most_common())

    def _batch(self, judge: AnyJudge, twins: set[str], size: int) -> None:
        rows = [self._drawn(index) for index in range(self.next, self.next + size)]
        if twins:
            learn_shapes(one.triple.problem for one in rows if not one.why)
            rows = [self._excluded(one, twins) for one in rows]
        rows = self._admitted(rows)
        asked = [one for one in rows if not one.why]
        jobs = [(one.triple.problem, one.triple.task.candidate(one.triple.source)) for one in asked]
        found = judge.evaluate_many(jobs, timed=True)
        judged = {one.index: said for one, said in zip(asked, found, strict=True)}
        if self.mutants:
            right = [one for one in rows if one.index in judged and _is_right(judged[one.index])]
            add_mutants(self.folder, [self._with_nests(one) for one in right], judge, self.mutants)
        self._write(rows, judged)
        self.next += size

    def _with_nests(self, row: Row) -> Right:
        return Right(triple=row.triple, kernel=draw(self.recipe.seed, row.index).kernel())

    def _drawn(self, index: int) -> Row:
        graph = draw(self.recipe.seed, index)
        problem = problem_of(graph, self.recipe.seed, index)
        triple = example_of(graph, problem, self.recipe.dialect)
        why = "duplicate" if graph.signature in self.seen else _false_plan(triple)
        self.seen.add(graph.signature)
        return Row(index=index, graph=graph.signature, triple=triple, why=why)

    def _excluded(self, row: Row, twins: set[str]) -> Row:
        if row.why:
            return row
        try:
            is_twin = signature(row.triple.problem) in twins
        except ProblemError as error:
            return _dropped(row, f"does not run: {' '.join(str(error).split())[:200]}")
        return _dropped(row, "excluded") if is_twin else row

    def _admitted(self, rows: Sequence[Row]) -> list[Row]:
        """Each with the cases that its admission keeps, or why it was refused."""
        asked = [one for one in rows if not one.why]
        found = dict(
            zip(
                [one.index for one in asked],
                check_many([(one.triple.problem, ()) for one in asked]),
                strict=True,
            )
        )
        done = []
        for one in rows:
            said = found.get(one.index)
            if said is None:
                done.append(one)
            elif not (said.admitted or can_teach(said)):
                done.append(_dropped(one, f"refused: {said.failed or ', '.join(said.accepted)}"))
            else:
                problem = with_kept(one.triple.problem, said.kept)
                problem = problem if said.admitted else replace(problem, tags=(SFT_ONLY,))
                triple = replace(one.triple, problem=problem)
                done.append(Row(index=one.index, graph=one.graph, triple=triple))
        return done

    def _write(self, rows: Sequence[Row], judged: dict[int, Evaluation]) -> None:
        kept, told = [], []
        for one in rows:
            said = judged.get(one.index)
            right = said is not None and _is_right(said)
            if right and said is not None:
                kept.append(Kept(triple=one.triple, evaluation=said))
            untimed = said is not None and said.verdict is Verdict.CORRECT
            other = "not timed" if untimed else "not right"
            fate = KEPT if right else one.why.partition(":")[0] or other
            self.fates[fate] += 1
            told.append(_told(one, fate, said))
        write_lines(self.folder / PROBLEMS, [to_plain(one.triple.problem) for one in kept])
        write_lines(self.folder / TRIPLES, [one.plain() for one in kept])
        write_lines(self.folder / FUNNEL, told)


def _false_plan(triple: Triple) -> str:
    """What is false in an example's reasoning; empty where nothing is, or where nobody can tell."""
    if triple.dialect not in LINTED:
        return ""
    found = findings(triple.reasoning, triple.source, triple.problem)
    return f"false plan: {'; '.join(found)}" if found else ""


def _is_right(said: Evaluation) -> bool:
    return said.verdict is Verdict.CORRECT and said.timing is not None


def can_teach(said: Admission) -> bool:
    """Whether all that a problem accepts are answers that are nearly right: a mean of many numbers
    hardly tells rounded inputs from others. Its example is right; as a reward it would not do."""
    return not said.failed and all(one.startswith(NEARLY_RIGHT) for one in said.accepted)


def _dropped(row: Row, why: str) -> Row:
    return replace(row, why=why)


def _told(row: Row, fate: str, said: Evaluation | None) -> dict[str, Any]:
    """A line of the funnel."""
    why = row.why or ", ".join(row.triple.problem.tags)
    if said is not None and fate != KEPT:
        why = f"{said.verdict}: {said.reason}"
    return {
        "index": row.index,
        "problem": row.triple.problem.name,
        "graph": row.graph,
        "fate": fate,
        "why": why,
    }
