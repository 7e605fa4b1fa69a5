"""Pairs of answers to one prompt, the better one first: what preferences are learned from.

An answer is better if it is right and the other is not, or if both are right and the intervals of
their speeds are apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.data.exports.contents import Contents, read_contents
from kernelwright.data.exports.tables import prefs
from kernelwright.data.runs.stages import training
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.types import Record, Verdict, content_hash
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.recipe.schema import Recipe

FOLDERS = ("data:", "rows:")
SAMPLED = training()
"""Stages whose answers may be learned from."""
NO_PAIRS = (
    "dpo: there is no pair of a better and a worse answer in {}: sample some with "
    "stages=[sft, rft, dpo], or name a folder that has wrong answers: dpo.pairs=data:FOLDER"
)


@dataclass(frozen=True, slots=True)
class Pair:
    """Completions of one prompt."""

    prompt: str
    chosen: str
    rejected: str


def pairs_for(recipe: Recipe, records: Iterable[Record]) -> list[Pair]:
    """The pairs of the recipe's folder, else of these records. Raises ModelError for none."""
    each, where = recipe.dpo.pairs_per_prompt, recipe.dpo.pairs
    if where is None:
        found = pairs_of_records(records, each, recipe.seed)
    else:
        found = _pairs_of_folder(where, recipe.data.dialects, each)
    if not found:
        raise ModelError(NO_PAIRS.format(where or "the records of this run"))
    return found


def pairs_of_records(records: Iterable[Record], each: int, seed: int) -> list[Pair]:
    """At most `each` pairs of a prompt, from answers that were sampled to be trained on. No two
    pairs of a prompt have the same worse answer."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for one in sorted(records, key=lambda one: one.id):  # processes write them in any order
        if one.stage in SAMPLED and one.source:
            groups[one.prompt].append(one)
    return [pair for its in groups.values() for pair in list(_pairs(its, seed))[:each]]


def _pairs(records: Sequence[Record], seed: int) -> Iterator[Pair]:
    """Right over wrong first, by turns of the right ones; then fastest over slower. A kernel that
    was timed twice is as fast as it was at best."""
    shuffled = sorted(records, key=lambda one: content_hash(str(seed), one.completion))
    first = dict[str | None, Record]()
    for one in sorted(_of(shuffled, Verdict.CORRECT), key=_low, reverse=True):
        first.setdefault(one.source, one)
    right = list(first.values())
    judged = (one for one in shuffled if one.evaluation.verdict is not Verdict.UNJUDGED)
    wrong = {one.source: one for one in judged if one.evaluation.verdict is not Verdict.CORRECT}
    for number, worse in enumerate(wrong.values() if right else ()):
        yield _pair(right[number % len(right)], worse)
    for worse in reversed(right):
        if _low(right[0]) > _high(worse):
            yield _pair(right[0], worse)


def _of(records: Iterable[Record], verdict: Verdict) -> list[Record]:
    return [one for one in records if one.evaluation.verdict is verdict]


def _pair(better: Record, worse: Record) -> Pair:
    return Pair(better.prompt, better.completion, worse.completion)


def _low(one: Record) -> float:
    timing = one.evaluation.timing
    return timing.speedup.low if timing else 0.0


def _high(one: Record) -> float:
    timing = one.evaluation.timing
    return timing.speedup.high if timing else float("inf")


def pair_folder(where: str) -> Contents:
    """What `dpo.pairs` names. Raises ModelError for what is no folder of rows."""
    if not where.startswith(FOLDERS):
        raise ModelError(f"dpo.pairs: {where} is neither data:FOLDER nor rows:FOLDER")
    try:
        return read_contents(Path(where.partition(":")[2]))
    except (OSError, ValueError) as error:
        raise ModelError(f"dpo.pairs: {error}") from None


def _pairs_of_folder(where: str, dialects: Sequence[str], each: int) -> list[Pair]:
    contents = pair_folder(where)
    learn_shapes(one.problem for one in contents.entries)
    groups: dict[str, list[Pair]] = defaultdict(list)
    for row in prefs(contents):
        if row["dialect"] in dialects:
            prompt, chosen, rejected = (
                row[name][0]["content"] for name in ("prompt", "chosen", "rejected")
            )
            groups[prompt].append(Pair(prompt, chosen, rejected))
    return [pair for its in groups.values() for pair in its[:each]]
