"""Draws problems, and keeps those that are admitted and have a right example in some dialect.

Every draw has a line in `funnel.jsonl` that says what became of it, so that a build that was
stopped goes on with the next draw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

from kernelwright.data.graphs.build_log import BuildLog
from kernelwright.data.graphs.graph import Graph
from kernelwright.data.graphs.lint.lint import findings
from kernelwright.data.graphs.mutants.rows import Right, add_mutants, keep_rows_of
from kernelwright.data.graphs.problem import DIALECTS, examples_of, problem_of
from kernelwright.data.graphs.quotas import Quotas
from kernelwright.data.graphs.sample import VERSION, draw
from kernelwright.data.graphs.schedules import BEST, SCHEDULES
from kernelwright.data.graphs.signature import Twins, signature
from kernelwright.data.graphs.teacher import taught
from kernelwright.data.suites.built import SFT_ONLY, unseen_of
from kernelwright.data.suites.check import check_many
from kernelwright.data.suites.load import load_whole
from kernelwright.data.suites.row_folder import KEPT, Done, Lost, RowFolder
from kernelwright.data.suites.rows import Row
from kernelwright.envs.codec import to_plain
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.reference.admitted import Admission, with_kept
from kernelwright.envs.reference.module import ProblemError
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.types import Dialect, Evaluation, Problem, Verdict

DRAWS_PER_ROW = 20
"""A build ends where so many draws for each problem that is wanted were not enough."""
NEARLY_RIGHT = ("bfloat16_inputs", "dead:", "alive:dropped_epsilon")
"""What a problem may accept whose example is shown, and which earns no reward."""


DUPLICATE = "duplicate"


class BuildError(ValueError):
    """A build that cannot be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What decides the draws of a folder, and what is written of them."""

    seed: int
    dialects: tuple[Dialect, ...] = ("cpp",)
    exclude: tuple[str, ...] = ()
    mutants: int = 0
    """How many kernels with a fault are judged of a problem, in one dialect after another from
    problem to problem: for repairs and preferences."""
    mutated: float = 1.0
    """Share of the problems that have such kernels."""
    variants: int = 1
    """At most so many kernels of a problem in a dialect, each by another schedule."""
    largest_share: float = 1.0
    """No category has more of the problems."""
    least_share: float = 0.0
    """Each category has so much of the problems, where graphs of it are drawn."""
    teacher: str = ""
    """The model that writes reasoning; none: the plans of the loops alone."""
    version: str = VERSION

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.dialects) - set(DIALECTS)):
            raise BuildError(f"graphs are lowered to {', '.join(DIALECTS)}, not to {unknown[0]}")
        if self.variants not in range(1, len(SCHEDULES) + 1):
            raise BuildError(f"variants: there are 1 to {len(SCHEDULES)}, not {self.variants}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How much a build makes, which may change from call to call."""

    count: int
    """Problems."""
    max_examples: Mapping[Dialect, int] = field(default_factory=dict)
    """With so many right examples in a dialect no more are made in it; others have no limit."""
    batch: int = 16
    """Draws that are checked and judged together, and written down."""
    timed: bool = True
    teacher: Callable[[Row], str] | None = None
    """What a model says of a right example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """A graph as a problem. `id` is its place; `why` says why it is dropped, after a code."""

    id: str
    graph: Graph
    problem: Problem
    why: str = ""

    def rows(self, dialect: Dialect, variants: int = 1) -> list[Row]:
        """The problem with each of its examples."""
        problem = self.problem
        return [
            Row(
                name=problem.name,
                code=problem.code,
                cases=problem.cases,
                dialect=dialect,
                reasoning=one.reasoning,
                kernel=one.source,
                source=problem.source,
                licence=problem.licence,
                category=problem.category,
                family=problem.family,
                tags=problem.tags,
                pattern=one.pattern,
                schedule=schedule,
            )
            for schedule, one in examples_of(self.graph, problem, dialect, variants).items()
        ]


@dataclass
class Build:
    """A folder in the making; `fates` counts what became of draws."""

    out: RowFolder
    recipe: Recipe
    wanted: Wanted = Wanted(count=1)
    seen: set[str] = field(default_factory=set)
    fates: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    """Problems by category."""
    drawn_at: dict[str, int] = field(default_factory=dict)
    """The last draw of each category that was no duplicate."""
    examples: Counter[str] = field(default_factory=Counter)
    """Right examples by dialect."""
    twins: Twins = field(default_factory=Twins)
    """Of the suites that are excluded."""

    @classmethod
    def begin(cls, folder: Path, recipe: Recipe) -> Build:
        """A new folder, or what is there of one. Raises FolderError, OSError and ValueError."""
        folder.mkdir(parents=True, exist_ok=True)
        out = RowFolder(folder)
        out.open({"command": "data build", **_asked(recipe)})
        build = cls(out, recipe)
        told = out.funnel()
        for number, line in enumerate(told):
            build.fates[line["result"]] += 1
            build.seen.add(line["graph"])
            if line["result"] == KEPT:
                build.kept[line["category"]] += 1
            if line["result"] != DUPLICATE:
                build.drawn_at[line["category"]] = number
        build.examples.update(str(one.dialect) for one in out.rows())
        keep_rows_of(folder, {line["problem"] for line in told})
        return build

    def run(self, wanted: Wanted, judge: AnyJudge) -> None:
        """Until so many problems are kept. Raises BuildError where too few draws are."""
        self.wanted, count = wanted, wanted.count
        quotas = Quotas(
            count=count,
            largest_share=self.recipe.largest_share,
            least_share=self.recipe.least_share,
            taken=self.kept,
            drawn_at=self.drawn_at,
        )
        self.twins = Twins.of(
            problem for spec in self.recipe.exclude for problem in load_whole(spec).problems
        )
        with BuildLog(self.out.folder, count, self.fates[KEPT]) as log:
            for line in self.twins.said():
                log.note(line)
            while self.fates[KEPT] < count:
                if self.fates.total() > DRAWS_PER_ROW * count:
                    raise BuildError(f"too few draws are kept: {self.said()}")
                size = min(wanted.batch, count - self.fates[KEPT])
                done = self._batch(judge, self._draws(quotas, size))
                dropped = Counter(one.lost.reason for one in done if one.lost)
                log.batch(self.fates[KEPT], sum(len(one.rows) for one in done), dropped)

    def said(self) -> str:
        """What became of the draws, the commonest first, and the examples by dialect."""
        fates = ", ".join(f"{many} {fate}" for fate, many in self.fates.most_common())
        examples = ", ".join(f"{many} in {name}" for name, many in self.examples.items())
        texts = [text for line in self.out.funnel() for text in line.get("teacher", ())]
        said = Counter(text.partition(":")[0] for text in texts)
        teacher = ", ".join(f"{many} {fate}" for fate, many in said.most_common())
        teacher = f"; the teacher's texts: {teacher}" if teacher else ""
        return f"{fates}; right examples: {examples or 'none'}{teacher}"

    def _draws(self, quotas: Quotas, size: int) -> list[Draw]:
        """The next draws, until so many of them are new and have a place."""
        start = self.fates.total()
        found = list[Draw]()
        while sum(not one.why for one in found) < size and len(found) < DRAWS_PER_ROW * size:
            index = start + len(found)
            found.append(self._placed(self._drawn(index), index, quotas))
        return found

    def _batch(self, judge: AnyJudge, draws: Sequence[Draw]) -> list[Done]:
        asked = {one.id for one in draws if not one.why}
        if self.twins.known:
            learn_shapes(one.problem for one in draws if not one.why)
            draws = [_excluded(one, self.twins) for one in draws]
        draws = _admitted(draws)
        draws, rows = self._examples(draws)
        jobs = [(row.problem, row.triple(row.problem).candidate) for row in rows]
        found = judge.evaluate_many(jobs, timed=self.wanted.timed)
        judged: dict[str, list[Row]] = {}
        for row, said in zip(rows, found, strict=True):
            judged.setdefault(row.name, []).append(row.judged(said))
        told = self._teach(judged) if self.wanted.teacher else {}
        if self.recipe.mutants:
            evaluations = dict(zip((row.answer_key for row in rows), found, strict=True))
            rights = _rights(draws, self.recipe.mutated, judged, evaluations)
            add_mutants(
                self.out.folder, rights, judge, self.recipe.mutants, timed=self.wanted.timed
            )
        done = [_done(one, judged.get(one.problem.name, []), told) for one in draws]
        self._write(done)
        self.kept.subtract(
            one.graph.category
            for one, its in zip(draws, done, strict=True)
            if its.lost and one.id in asked
        )
        return done

    def _examples(self, draws: Sequence[Draw]) -> tuple[list[Draw], list[Row]]:
        """The draws, and their examples. One that says what its code does not do is a fault of
        ours, and its draw is dropped."""
        most = self.wanted.max_examples
        dialects = [one for one in self.recipe.dialects if self.examples[one] < most.get(one, inf)]
        kept, found = [], list[Row]()
        for one in draws:
            asked = () if one.why else dialects
            rows = [row for name in asked for row in one.rows(name, self.recipe.variants)]
            false = _false_plan(rows)
            kept.append(replace(one, why=false) if false else one)
            found += [] if false else rows
        return kept, found

    def _teach(self, judged: Mapping[str, list[Row]]) -> dict[str, list[str]]:
        """Gives right examples the teacher's words where they are true; returns problem → what
        became of the words on each."""
        assert self.wanted.teacher is not None
        right = [row for rows in judged.values() for row in rows if row.verdict is Verdict.CORRECT]
        told: dict[str, list[str]] = {}
        for one in taught(right, self.wanted.teacher):
            rows = judged[one.row.name]
            kernels = [row.answer_key for row in rows]
            rows[kernels.index(one.row.answer_key)] = one.row
            told.setdefault(one.row.name, []).append(one.why)
        return told

    def _write(self, done: Sequence[Done]) -> None:
        self.out.add(done)
        for one in done:
            self.fates[one.lost.reason if one.lost else KEPT] += 1
            self.examples.update(str(row.dialect) for row in one.rows)

    def _placed(self, one: Draw, index: int, quotas: Quotas) -> Draw:
        if one.why:
            return one
        if full := quotas.refusal(one.graph.category, index):
            return replace(one, why=f"over quota: {full}")
        self.kept[one.graph.category] += 1
        return one

    def _drawn(self, index: int) -> Draw:
        graph = draw(self.recipe.seed, index)
        why = f"{DUPLICATE}: an earlier draw has the same operators"
        why = why if graph.signature in self.seen else ""
        self.seen.add(graph.signature)
        problem = problem_of(graph, self.recipe.seed, index)
        return Draw(id=f"{index:05d}", graph=graph, problem=problem, why=why)


def _rights(
    draws: Sequence[Draw],
    share: float,
    judged: Mapping[str, Sequence[Row]],
    evaluations: Mapping[str, Evaluation],
) -> list[Right]:
    """The first right kernel of a share of the problems, in one dialect after another. Those that
    are held out have none: repairs and preferences are trained on."""
    found = []
    for one in draws:
        turn = int((int(one.id) + 1) * share)
        is_next = turn > int(int(one.id) * share) and not unseen_of(one.problem)
        rows = judged.get(one.problem.name, ()) if is_next else ()
        rows = [it for it in rows if it.verdict is Verdict.CORRECT and it.schedule == BEST]
        if rows:
            row = rows[turn % len(rows)]
            triple, said = row.triple(one.problem), evaluations[row.answer_key]
            found.append(Right(triple=triple, kernel=one.graph.kernel(), said=said))
    return found


def _asked(recipe: Recipe) -> dict[str, Any]:
    """What a folder is begun with; values as they were before there was a choice say nothing."""
    plain: dict[str, Any] = to_plain(recipe)
    silent = {"variants": 1, "mutated": 1.0}
    return {name: one for name, one in plain.items() if silent.get(name) != one}


def _false_plan(rows: Sequence[Row]) -> str:
    """What the reasoning of an example says falsely; empty where nothing is."""
    for row in rows:
        assert row.dialect is not None
        if found := findings(row.reasoning, row.kernel or "", row.problem, row.dialect):
            return f"false plan: {'; '.join(found)}"
    return ""


def _excluded(one: Draw, twins: Twins) -> Draw:
    if one.why:
        return one
    try:
        is_twin = signature(one.problem) in twins.known
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


def _done(one: Draw, rows: Sequence[Row], told: Mapping[str, list[str]]) -> Done:
    """What came of a draw: its right examples, the wrong ones, or why there is neither."""
    facts: dict[str, Any] = {"problem": one.problem.name, "graph": one.graph.signature}
    facts["category"] = one.graph.category
    if one.problem.name in told:
        facts["teacher"] = told[one.problem.name]
    right = tuple(row for row in rows if row.verdict is Verdict.CORRECT)
    wrong = tuple(row for row in rows if row.verdict not in (Verdict.CORRECT, Verdict.UNJUDGED))
    if unjudged := len(rows) - len(right) - len(wrong):
        facts["unjudged"] = unjudged
    reason, _, why = one.why.partition(": ")
    if not one.why and not right:
        reason = "not right" if wrong else "unjudged"
        why = "; ".join(f"{row.verdict}: {row.reason}" for row in rows)
    lost = None if right else Lost(one.id, reason, why)
    return Done(id=one.id, rows=right, wrong=wrong, lost=lost, facts=facts)
