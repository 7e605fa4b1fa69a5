"""A model, problems and a mode in, a folder with the fastest kernels out: what `search` does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kernelwright.data.runs.folder import ENV_FILE, SEARCH_FILE, SEARCH_RESULTS
from kernelwright.data.runs.progress import Answered, StageDisplay, logged
from kernelwright.data.runs.records import RecordStore, read_records
from kernelwright.data.runs.stages import SEARCH
from kernelwright.data.suites.load import Suite
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.judge import BatchJudge
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.envs.system.paths import no_pipe, write_whole
from kernelwright.envs.types import Problem, Record, content_hash
from kernelwright.evals.evaluate.model import Attempt
from kernelwright.evals.numbers.search_results import Found, best_so_far, found_in, results
from kernelwright.machine.facts import environment
from kernelwright.rl.search.knowledge import (
    Knowledge,
    Known,
    add_knowledge,
    by_kind,
    read_knowledge,
)
from kernelwright.rl.search.mode import start_mode
from kernelwright.rl.search.search import Search
from kernelwright.rl.search.settings import SearchSettings

BEST = "best"
KNOWN_BEFORE = "knowledge.jsonl"
"""What its bandit began with: others may have added to the file when it is resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is searched, and how. `knowledge` is the file of what earlier searches showed of kinds
    of rewriting; `given` are kernels to improve on, by the problem's key. Raises ValueError."""

    model: str
    suite: Suite
    mode: str
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: SearchSettings
    knowledge: Path | None = None
    given: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.knowledge and self.settings.kinds == "none":
            raise ValueError("--knowledge is of kinds of rewriting: give --kinds bandit too")

    def question(self) -> dict[str, Any]:
        """Everything that decides the answers, as plain JSON."""
        asked = asdict(self.settings)
        del asked["versions"]
        return {
            "model": self.model,
            "searched": self.suite.spec,
            "problems": [one.key for one in self.suite.problems],
            "mode": {"name": self.mode, **self.options},
            "knowledge": str(self.knowledge) if self.knowledge else None,
            "given": {key: content_hash(source) for key, source in self.given.items()},
            **asked,
        }


def search_model(
    wanted: Wanted,
    folder: Path,
    *,
    resume: bool = False,
    judges: Callable[[], BatchJudge] = open_judge,
) -> list[Found]:
    """What was found for each problem. Writes the records, `results.json`, and into `best/` the
    best kernel of each problem. A folder that is not empty is refused unless `resume`, and resumed
    only under the same question. Raises EvalError, ValueError, ModelError."""
    from kernelwright.rl.policies.hf import open_policy

    mode, store = start_mode(wanted.mode, dict(wanted.options)), RecordStore(folder)
    attempt = Attempt(folder / SEARCH_FILE, wanted.question())
    attempt.open(resume)
    store.cut_unfinished()
    policy = open_policy(wanted.model)
    attempt.save()
    knowledge = _begun_with(folder, wanted)
    if not (folder / ENV_FILE).exists():
        write_whole(folder / ENV_FILE, json.dumps(environment(), indent=2) + "\n")
    kept = store.read()

    def keep(records: Sequence[Record]) -> None:
        store.append(records)
        progress.add(records)

    with logged(folder), judges() as judge, _Progress(wanted, kept) as progress:
        problems, settings = wanted.suite.problems, wanted.settings
        search = Search(problems, mode, settings, keep, kept, knowledge, wanted.given)
        search.run(policy, judge, progress)
        search.measure_again(judge, progress)
    attempt.save()
    found = _conclude(folder, wanted, store.read())
    if wanted.knowledge:
        add_knowledge(wanted.knowledge, _name(folder, wanted), search.learned())
    return found


def results_seen(folder: Path) -> dict[str, Any]:
    """What a search wrote of itself when it ended."""
    found: dict[str, Any] = json.loads((folder / SEARCH_RESULTS).read_text(encoding="utf-8"))
    return found


def kinds_seen(folder: Path) -> dict[str, Known]:
    """What the records of a search show of each kind of rewriting."""
    return by_kind(read_records(folder))


def file_of(folder: Path, problem: str, dialect: str) -> Path:
    """Where the best kernel of a problem is written."""
    return folder / BEST / _file_name(problem, dialect)


def given_kernels(path: Path, problems: Sequence[Problem], dialect: str) -> dict[str, str]:
    """Problem's key → the kernel to improve on: the file's, of one problem, or those that a folder
    has under the names that `best/` gives them. Raises ValueError, OSError."""
    if path.is_dir():
        files = {one.key: path / _file_name(one.name, dialect) for one in problems}
        files = {key: file for key, file in files.items() if file.is_file()}
    elif len(problems) > 1:
        raise ValueError(f"--start {path}: {len(problems)} problems need a folder of kernels")
    else:
        files = {problems[0].key: path}
    if not files:
        raise ValueError(f"--start {path}: no {_file_name(problems[0].name, dialect)} or the like")
    suffix = DIALECTS[dialect].suffix
    if other := [file for file in files.values() if file.suffix != suffix]:
        raise ValueError(f"--start {other[0]}: answers are in {dialect} ({suffix}); see --dialect")
    return {
        key: no_pipe(file).read_text(encoding="utf-8", errors="replace")
        for key, file in files.items()
    }


def _file_name(problem: str, dialect: str) -> str:
    """Of a problem's kernel: what is no letter, digit, `_`, `.` or `-` is written as in a URL, so
    that different problems have different files.

    >>> _file_name("level1/1_Name", "cpp"), _file_name("relu", "cpp")
    ('level1%2F1_Name.cpp', 'relu.cpp')
    """
    name = re.sub(r"[^\w.-]", lambda found: quote(found[0], "", errors="surrogatepass"), problem)
    return f"{name}{DIALECTS[dialect].suffix}"


def _conclude(folder: Path, wanted: Wanted, records: Sequence[Record]) -> list[Found]:
    found = found_in(records)
    for one in found:
        if one.source is not None:
            write_whole(file_of(folder, one.problem, wanted.settings.dialect), one.source)
    told = {"date": datetime.now(UTC).date().isoformat()}
    told |= results(found, records, wanted.settings.budget)
    write_whole(folder / SEARCH_RESULTS, json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    return found


def _begun_with(folder: Path, wanted: Wanted) -> Knowledge:
    """The knowledge that a search begins with, or began with; kept in its folder."""
    if wanted.knowledge is None:
        return {}
    kept = folder / KNOWN_BEFORE
    add_knowledge(kept, "", read_knowledge(wanted.knowledge))  # nothing where it has it already
    return read_knowledge(kept)


def _name(folder: Path, wanted: Wanted) -> str:
    """Names a search by all that decides its answers: it is counted once, however often resumed."""
    before = (folder / KNOWN_BEFORE).read_text(encoding="utf-8")
    return content_hash(json.dumps(wanted.question(), sort_keys=True), before)


class _Progress(Answered):
    """Answers that are written and judged, and after each step what the best kernels are."""

    def __init__(self, wanted: Wanted, kept: Sequence[Record]) -> None:
        self.settings, self.problems = wanted.settings, len(wanted.suite.problems)
        self.records = list(kept)
        self.best = ""
        super().__init__(
            wanted.mode,
            self.problems * self.settings.budget,
            done=sum(one.stage == SEARCH for one in kept),
            every=min(16, self.problems * max(1, self.settings.batch // 2)),
        )

    def add(self, records: Sequence[Record]) -> None:
        """New records of the search."""
        self.records += records

    def step_done(self, step: int) -> None:
        """Counts what problems that ended early were not asked; nothing of steps that an earlier
        attempt had done."""
        settings = self.settings
        asked = self.problems * min(settings.budget, (step + 1) * settings.batch)
        if asked < self.judged:
            return
        (last,) = best_so_far(self.records, [settings.budget])
        speed, solved = last["geomean_speedup"], last["solved"] or 0.0
        self.best = f"{step + 1}/{settings.steps} steps, {solved:.0%} of problems solved"
        self.best += f", best {speed:.2f} on average" if speed else ""
        self.judged = asked
        self.reach(2 * asked, {})

    def measures_again(self, count: int) -> None:
        """Shows these from now on."""
        self.display.end()
        self.display, self.total, self.done = StageDisplay("measured again"), count, 0
        self.answers = 0
        self.display.begin(count, 0)

    def said(self) -> str:
        """Nothing of what is measured again: its number says it."""
        return ", ".join(filter(None, [super().said(), self.best])) if self.answers else ""
