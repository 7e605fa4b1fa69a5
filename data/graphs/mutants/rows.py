"""Repairs and preferences from mutants that the judge refuses, and the share that it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from kernelwright.data.graphs.kernel import Kernel
from kernelwright.data.graphs.mutants.mutant import chosen, mutants_of
from kernelwright.data.graphs.mutants.of_text import Mutant
from kernelwright.data.graphs.mutants.slow import apart, slow_source
from kernelwright.data.graphs.problem import LOWERED
from kernelwright.data.suites.built import SFT_ONLY, split_of
from kernelwright.data.suites.repairs import REPAIRS
from kernelwright.data.suites.row_folder import keep_lines, lines, write_lines
from kernelwright.data.triple import Triple
from kernelwright.envs.answer import fenced
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.referee.feedback import MEND
from kernelwright.envs.referee.reasons import verdict_and_fault
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.system.paths import write_whole
from kernelwright.envs.types import Candidate, Evaluation, Problem, Verdict

PREFERENCES, MUTANTS = "prefs.jsonl", "mutants.jsonl"
KILL = "kill.json"
FILES = (REPAIRS, PREFERENCES, MUTANTS)
LINES = 4
SLOWER = "slower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """A kernel that the judge found right: its example, its loop nests, what the judge said."""

    triple: Triple
    kernel: Kernel
    said: Evaluation

    def lower(self, kernel: Kernel) -> str:
        source, _ = LOWERED[self.triple.dialect]
        return source(kernel, self.triple.problem.code)

    def mutants(self, most: int) -> list[Mutant]:
        """At most so many that compute something else."""
        problem = self.triple.problem
        every = mutants_of(self.kernel, self.triple.dialect, self.lower, problem.cases)
        return chosen(every, most, problem.key)

    def slow_source(self) -> str | None:
        """The same computation in a slow form; None where there is none."""
        return slow_source(self.kernel, self.lower, self.triple.dialect)


def add_mutants(
    folder: Path, rights: Sequence[Right], judge: AnyJudge, most: int, timed: bool = True
) -> None:
    """Judges at most so many mutants of each and a slower form, and writes down what came."""
    learn_shapes(one.triple.problem for one in rights)
    made = [(one, mutant) for one in rights for mutant in one.mutants(most)]
    slow = [(one, it) for one in rights if (it := one.slow_source()) is not None]
    asked = [*((one, it.source) for one, it in made), *slow]
    # A mutant is refused before it is timed.
    found = judge.evaluate_many([_job(one.triple, source) for one, source in asked], timed=timed)
    repairs, preferences, told = [], [], []
    for (one, mutant), said in zip(made, found, strict=False):
        told.append(_told(one.triple, mutant, said))
        if is_killed(said):
            repairs.append(repair(one.triple, mutant, said))
            preferences.append(preference(one.triple, mutant.source, mutant.kind))
    preferences += _slower_rows(slow, found[len(made) :])
    for name, its in zip(FILES, (repairs, preferences, told), strict=True):
        write_lines(folder / name, its)


def keep_rows_of(folder: Path, problems: set[str]) -> None:
    """Drops rows of problems that a build which was stopped has not written down."""
    for name in FILES:
        keep_lines(folder / name, lambda row: row["problem"] in problems)


def _job(triple: Triple, answer: str) -> tuple[Problem, Candidate]:
    return triple.problem, triple.task.candidate(answer)


def is_killed(said: Evaluation) -> bool:
    return said.verdict not in (Verdict.CORRECT, Verdict.UNJUDGED)


def kill_score(told: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Of each kind how many mutants were judged, and which share of them was refused; those of
    problems that are poor judges by themselves."""
    judged = [one for one in told if one["verdict"] != Verdict.UNJUDGED]
    fair = [one for one in judged if SFT_ONLY not in one["tags"]]
    kinds = sorted({one["kind"] for one in fair})
    return {
        **_share(fair),
        "kinds": {kind: _share([one for one in fair if one["kind"] == kind]) for kind in kinds},
        SFT_ONLY: _share([one for one in judged if SFT_ONLY in one["tags"]]),
    }


def _share(judged: Sequence[dict[str, Any]]) -> dict[str, Any]:
    killed = sum(one["verdict"] != Verdict.CORRECT for one in judged)
    share = round(killed / len(judged), 4) if judged else None
    return {"judged": len(judged), "killed": killed, "share": share}


def write_kill_score(folder: Path) -> str:
    """Writes `kill.json` of a folder; returns how many mutants the judge refuses, and of which
    kinds it accepts some."""
    found = kill_score(lines(folder / MUTANTS)) if (folder / MUTANTS).exists() else kill_score([])
    write_whole(folder / KILL, json.dumps(found, indent=1) + "\n")
    alive = [f"{one['judged'] - one['killed']} {kind}" for kind, one in found["kinds"].items()]
    alive = [one for one in alive if not one.startswith("0 ")]
    accepted = f"; accepted: {', '.join(alive)}" if alive else ""
    return f"{found['killed']} of {found['judged']} mutants refused{accepted}"


def _head(triple: Triple) -> dict[str, Any]:
    one = triple.problem
    named = {"problem": one.name, "problem_key": one.key, "dialect": triple.dialect}
    return named | {"splits": list(split_of(one))}


def _told(triple: Triple, mutant: Mutant, said: Evaluation) -> dict[str, Any]:
    """A line of `mutants.jsonl`; of one that the judge accepts with its source."""
    row = _head(triple) | {"kind": mutant.kind, "place": mutant.place}
    row |= {"verdict": said.verdict.value, "reason": said.reason}
    row |= {"tags": list(triple.problem.tags)}
    return row | ({} if is_killed(said) else {"kernel": mutant.source})


def repair(triple: Triple, mutant: Mutant, said: Evaluation) -> dict[str, Any]:
    """A broken kernel with what the judge says of it, and the right one."""
    spec = DIALECTS[triple.dialect]
    told = verdict_and_fault(said)
    shown = f"This kernel is not right:\n{fenced(mutant.source, triple.dialect)}\n{told}"
    request = MEND.format(answer=spec.another)
    why = diagnosis(mutant.source, triple.source)
    return _head(triple) | {
        "kind": mutant.kind,
        "place": mutant.place,
        "prompt": f"{task_prompt(triple.task)}\n{shown}\n{request}",
        "broken": mutant.source,
        "verdict": said.verdict.value,
        "reason": said.reason,
        "feedback": told,
        "reasoning": why,
        "kernel": triple.source,
        "completion": f"{why}\n\n{triple.block()}",
    }


def diagnosis(broken: str, right: str) -> str:
    """The lines that differ, as the right kernel has them."""
    old, new = _without_headers(broken), _without_headers(right)
    found = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        was, now = (_quoted(one) for one in (old[a:b], new[c:d]))
        if kind == "replace":
            found.append(f"{was} has to be {now}.")
        elif kind == "insert":
            found.append(f"{now} is missing.")
        elif kind == "delete":
            found.append(f"{was} is too much.")
    return " ".join(found)


def _without_headers(source: str) -> list[str]:
    return [one for one in source.splitlines() if not one.startswith("#include")]


def _quoted(found: Sequence[str]) -> str:
    kept = [one.strip() for one in found if one.strip() not in ("", "}")]
    more = " and what follows" if len(kept) > LINES else ""
    return " ".join(f"`{one}`" for one in kept[:LINES]) + more


def preference(triple: Triple, other: str, why: str, **more: Any) -> dict[str, Any]:
    """An answer that is better than another one: both with the same reasoning."""
    worse = replace(triple, source=other)
    return _head(triple) | {
        "why": why,
        "prompt": task_prompt(triple.task),
        "chosen": triple.completion(),
        "rejected": worse.completion(),
        **more,
    }


def _slower_rows(
    made: Sequence[tuple[Right, str]], found: Sequence[Evaluation]
) -> list[dict[str, Any]]:
    """A right kernel and a slow one, where what the judge says of both shows it."""
    return [
        preference(one.triple, slow, SLOWER, **facts)
        for (one, slow), said in zip(made, found, strict=True)
        if (facts := apart(one.said, said)) is not None
    ]
