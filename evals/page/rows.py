"""A folder of rows in, one HTML page out: filters, a row at a time, what became of each item.

What a model or a row wrote is untrusted. It lies in the page compressed, and the page's script
shows it as text; the page's own content policy allows that one script and nothing from outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from kernelwright.data.exports.contents import Contents, Entry
from kernelwright.data.exports.statistics import Speeds
from kernelwright.data.suites.rows import Row
from kernelwright.envs.system.paths import write_whole
from kernelwright.evals.page.report import clip, page_template
from kernelwright.evals.page.script import Script, embedded

SCRIPT = Script.of("shared.js", "rows.js")
PAGE = "rows.html"
WHYS, WHY_CHARACTERS = 4, 80
"""Most reasons of a result, and most of each."""
OF_PROBLEMS = ("name", "category", "splits", "tags", "source", "licence", "note", "code", "cases")
OF_ROWS = (
    *("problem", "dialect", "verdict", "reason", "speed", "low", "high"),
    *("reasoning", "kernel", "error"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of some items, and the commonest reasons."""

    result: str
    items: int
    whys: Sequence[tuple[str, int]]


def write_rows_page(contents: Contents, path: Path) -> None:
    """Writes the page; one file that needs no network."""
    right = [row for one in contents.entries for row in one.right]
    page = page_template("rows.html.j2").render(
        name=contents.folder.resolve().name,
        dialects=contents.dialects,
        problems=len(contents.entries),
        right=len(right),
        wrong=sum(len(one.wrong) for one in contents.entries),
        speeds=Speeds.of(right),
        funnel=fates(contents),
        data=Markup(packed(contents)),
        **SCRIPT.for_page(),
    )
    write_whole(path, page)


def packed(contents: Contents) -> str:
    """All rows, each problem once, as base64 of compressed JSON: letters, digits, `+/=`."""
    rows = [
        _row(place, row)
        for place, one in enumerate(contents.entries)
        for row in (*one.right, *one.wrong)
    ]
    problems = [_problem(one) for one in contents.entries]
    plain = {
        "problems": {"names": OF_PROBLEMS, "rows": problems},
        "rows": {"names": OF_ROWS, "rows": rows},
    }
    return embedded(plain)


def fates(contents: Contents) -> list[Fate]:
    """What became of items, the commonest first. Reasons count by their first words."""
    whys: dict[str, Counter[str]] = {}
    for line in contents.funnel:
        found = whys.setdefault(str(line["result"]), Counter())
        found[" ".join(str(line.get("why", "")).split())[:WHY_CHARACTERS]] += 1
    made = [
        Fate(
            result=result,
            items=found.total(),
            whys=[one for one in found.most_common(WHYS) if one[0]],
        )
        for result, found in whys.items()
    ]
    return sorted(made, key=lambda one: -one.items)


def _problem(one: Entry) -> list[Any]:
    problem, first = one.problem, (*one.right, *one.wrong)[:1]
    return [
        clip(problem.name),
        clip(problem.category),
        ", ".join(one.splits),
        clip(", ".join(problem.tags)),
        clip(problem.source),
        clip(problem.licence),
        clip(first[0].note if first else ""),
        clip(problem.code),
        [
            [clip(case.name), case.role, _sizes(case.sizes), case.distribution]
            for case in problem.cases
        ],
    ]


def _sizes(sizes: Sequence[tuple[str, int]]) -> str:
    return clip(", ".join(f"{name} {size}" for name, size in sizes))


def _row(problem: int, row: Row) -> list[Any]:
    low, high = row.speedup_interval or (None, None)
    return [
        problem,
        row.dialect,
        row.verdict,
        clip(row.reason),
        row.speedup,
        row.speedup if low is None else low,
        row.speedup if high is None else high,
        clip(row.reasoning),
        clip(row.kernel or ""),
        clip(row.error),
    ]
