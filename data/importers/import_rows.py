"""The work of an import: items are checked, sized and judged, batch by batch, and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kernelwright.data.graphs.signature import family_of, rank_of, signature_of
from kernelwright.data.importers.exams import Exams, refuse_named
from kernelwright.data.importers.item import Answer, Found, Item, NotTakenError
from kernelwright.data.importers.module import as_problem
from kernelwright.data.importers.modules import MODULE_LIMIT_S, Modules
from kernelwright.data.importers.sized import sized
from kernelwright.data.suites.row_folder import Done, Lost, RowFolder
from kernelwright.data.suites.rows import Row
from kernelwright.envs.answer import extract
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.referee.reasons import Side, side_of
from kernelwright.envs.types import Evaluation, Problem, Task, Verdict, content_hash

VERSION = "3"
"""Of what decides ids and families: a folder that another one began is not gone on with."""
LEAST_BATCH = 8
"""Items between two writes, at least: what a call that is killed loses."""
TOO_SMALL = "device_too_small"
"""The one reason of a machine that neither time nor an installation mends."""
UNJUDGED = "unjudged"
"""The answers of an item without a verdict, in its line of the funnel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """What is asked of an import. `judge` None: answers are kept unjudged."""

    source: str
    spec: str = ""
    """What the source was asked for by: exams are known by it."""
    licence: str = ""
    """Of items whose source names none."""
    allow_unlicensed: bool = False
    exams: Exams = field(default_factory=Exams)
    judge: AnyJudge | None = None
    timed: bool = True
    grow_to_bytes: float = 0.0
    """What lifted modules grow to, so that their speed can be measured."""
    module_limit_s: float = MODULE_LIMIT_S


@dataclass(frozen=True, slots=True)
class _Ready:
    """An item that passed every check, and its row without an answer."""

    item: Item
    row: Row
    is_new: bool
    """Whether no earlier item has the same problem."""


class _Known:
    """Problems and answers that are there already."""

    def __init__(self) -> None:
        self._hashes: set[str] = set()
        self._names: dict[str, str] = {}

    def add(self, *rows: Row) -> None:
        for row in rows:
            key = row.problem.key
            self._hashes |= {row.answer_key, content_hash(key, "", "")}
            self._names.setdefault(row.name, key)

    def has(self, row: Row) -> bool:
        return row.answer_key in self._hashes

    def named(self, row: Row) -> Row:
        """The row under a name that no other problem has."""
        key = row.problem.key
        if self._names.get(row.name, key) == key:
            return row
        return replace(row, name=f"{row.name}_{key[:6]}")


def import_items(
    asked: Import, found: Sequence[Found], output: RowFolder, on_done: Callable[[], None]
) -> int:
    """Brings all items in that are not there yet; returns how many could not be judged, which the
    next call tries again. Raises JudgeError, and OSError where nothing can be written."""
    left = [one for one in found if one.id not in output.done]
    known = _Known()
    for row in (*output.rows(), *output.wrong()):
        known.add(row)
    unjudged = 0
    size = max(LEAST_BATCH, 2 * asked.judge.workers) if asked.judge else LEAST_BATCH
    with Modules(asked.module_limit_s) as modules:
        for start in range(0, len(left), size):
            batch = left[start : start + size]
            ready = [_ready(asked, one, modules, known) for one in batch]
            done = list(_judged(asked, ready))
            output.add([one for one in done if one is not None])
            unjudged += done.count(None)
            for _ in batch:
                on_done()
    return unjudged


def _ready(asked: Import, item: Found, modules: Modules, known: _Known) -> _Ready | Lost:
    if isinstance(item, Lost):
        return item
    try:
        licence = item.licence or asked.licence
        if not licence and not asked.allow_unlicensed:
            raise NotTakenError("unlicensed", "names no licence")
        refuse_named(asked.spec, item.origin, item.id, item.name)
        code = as_problem(item.code, item.entry)
        asked.exams.refuse_code(code)
        row = known.named(_row(asked, replace(item, licence=licence), code, modules))
        answers = tuple(one for one in item.answers if not known.has(_answered(row, one)))
        is_new = not known.has(row)
        if not is_new and not answers:
            raise NotTakenError("duplicate", "an earlier item has the same code")
        known.add(row, *(_answered(row, one) for one in answers))
        return _Ready(replace(item, answers=answers), row, is_new)
    except NotTakenError as error:
        return Lost(item.id, error.reason, str(error))
    except (ValueError, SyntaxError, RecursionError) as error:
        return Lost(item.id, "not_a_problem", " ".join(str(error).split())[:300])


def _row(asked: Import, item: Item, code: str, modules: Modules) -> Row:
    """The item's problem, once its module has run. Raises NotTakenError, for a twin of an exam's
    too."""
    row = Row(
        name=item.name,
        code=code,
        cases=item.cases,
        source=f"{asked.source}:{item.id}",
        licence=item.licence,
        category=item.category,
        family=item.family or family_of(code),
        tags=item.tags,
    )
    shapes = modules.shapes(row.problem)
    asked.exams.refuse_twin(signature_of(code, rank_of(shapes)))
    if item.cases:
        return row
    fitted = sized(code, modules.runs, asked.grow_to_bytes)
    return replace(row, code=fitted.code, cases=fitted.cases, note=fitted.note)


def _answered(row: Row, answer: Answer) -> Row:
    """The row with an answer; reasoning in which the kernel would not be found is left out."""
    found = replace(
        row,
        dialect=answer.dialect,
        kernel=answer.kernel,
        reasoning=answer.reasoning,
        pattern=answer.pattern,
        schedule=answer.schedule,
    )
    read = extract(found.triple(found.problem).completion(), answer.dialect)
    return found if read == answer.kernel else replace(found, reasoning="")


def _judged(asked: Import, batch: Sequence[_Ready | Lost]) -> Iterator[Done | None]:
    """What came of each item; None where we could not judge one of its answers."""
    answers = [
        (one.row.problem, answer)
        for one in batch
        if isinstance(one, _Ready)
        for answer in one.item.answers
    ]
    found = iter(_evaluations(asked, answers))
    for one in batch:
        if isinstance(one, Lost):
            yield Done(id=one.id, lost=one)
        else:
            yield _done(one, [next(found) for _ in one.item.answers])


def _evaluations(
    asked: Import, answers: Sequence[tuple[Problem, Answer]]
) -> Sequence[Evaluation | None]:
    if asked.judge is None or not answers:
        return [None] * len(answers)
    jobs = [
        (problem, Task(problem=problem, dialect=one.dialect).candidate(one.kernel))
        for problem, one in answers
    ]
    return asked.judge.evaluate_many(jobs, timed=asked.timed)


def _done(ready: _Ready, evaluations: Sequence[Evaluation | None]) -> Done | None:
    item = ready.item
    rows, wrong, silent = [], [], list[tuple[Answer, Evaluation]]()
    for answer, found in zip(item.answers, evaluations, strict=True):
        row = _answered(ready.row, answer)
        if found is None:
            rows.append(row)
        elif found.verdict is Verdict.CORRECT:
            rows.append(row.judged(found))
        elif found.verdict is not Verdict.UNJUDGED:
            wrong.append(row.judged(found))
        elif _stays(found):
            silent.append((answer, found))
        else:
            return None
    if silent and not rows and not wrong:
        return Done(id=item.id, lost=_lost(item.id, [found for _, found in silent]))
    if ready.is_new and not rows and not any(_is_problems(found) for _, found in silent):
        rows = [ready.row]
    told = [f"{answer.dialect}: {found.reason}" for answer, found in silent]
    facts = {UNJUDGED: told} if told else {}
    return Done(id=item.id, rows=tuple(rows), wrong=tuple(wrong), facts=facts)


def _stays(found: Evaluation) -> bool:
    """Whether an answer gets no verdict on this machine, however often it is judged."""
    return found.reason == TOO_SMALL or _is_problems(found)


def _is_problems(found: Evaluation) -> bool:
    known = side_of(found.reason)
    return known is not None and known[0] is Side.PROBLEM


def _lost(name: str, silent: Sequence[Evaluation]) -> Lost:
    """Why an item is left out of which nothing was judged: its module, or this machine."""
    found = next((one for one in silent if _is_problems(one)), silent[0])
    why = " ".join(found.log.split())[:300] or ": ".join(side_of(found.reason) or ())
    return Lost(name, "module_fails" if _is_problems(found) else found.reason, why)
