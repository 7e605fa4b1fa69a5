"""Output of `kernelwright suite check`: a bar while it works, a table when it is done."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from kernelwright.data.runs.progress import Counted, told_while_waiting
from kernelwright.data.suites.check import Job, check_many
from kernelwright.envs.reference.admitted import Admission

SEEN = (
    "an answer to an admitted problem is checked in seven rounds: on every case, each with sizes "
    "or values of its own, and once more on the timed one. A fault that shows in half of all draws "
    "escapes them once in 128 times, one in a hundredth 93 times in 100. What shows only beyond "
    "|x| of about 36, at values that hardly ever occur, or at sizes that the parameters fix, they "
    "cannot see."
)
"""Which faults rounds can and cannot see."""


def checked(jobs: Sequence[Job]) -> Iterator[Admission]:
    """Results as they come, under a bar on a terminal; a line at once for problems that fail to
    load, and each minute for one that takes long."""
    done = 0
    waits = told_while_waiting(lambda: jobs[done][0].name if done < len(jobs) else "the end")
    every = max(1, min(10, len(jobs) // 10))
    with Counted("trivial answers", len(jobs), every=every) as on_done, waits:
        for done, one in enumerate(check_many(jobs), 1):  # noqa: B007  `waits` reads it
            if one.failed:
                print(f"{one.problem}: {one.failed}", file=sys.stderr)
            for name in one.fixed:
                print(
                    f"{one.problem}: {name} decides the outputs' shapes: never another value",
                    file=sys.stderr,
                )
            on_done()
            yield one


def print_table(found: Sequence[Admission]) -> None:
    """A table on a terminal, one plain line per problem elsewhere; then the count."""
    console = Console()
    table = Table("problem", "tried", "mutants", "accepts", "keeps")
    for one in found:
        accepts = ", ".join(one.accepted) or ("could not be tried" if one.failed else "nothing")
        keeps = ", ".join(one.kept)
        table.add_row(one.problem, str(len(one.tried)), str(one.mutants), accepts, keeps)
        if not console.is_terminal:
            line = f"{one.problem} · {len(one.tried)} tried · accepts {accepts}"
            line += f" · keeps {keeps}" if keeps else ""
            plain = f"{one.problem} · {accepts}" if one.failed else line
            console.print(plain, soft_wrap=True, highlight=False, markup=False)
    if console.is_terminal:
        console.print(table)
    console.print(f"{sum(one.admitted for one in found)} of {len(found)} admitted", highlight=False)
    print(SEEN, file=sys.stderr)
