"""NVIDIA's Compute Sanitizer: how its four checkers are called, and what their reports say.

A report is lines behind `=========`: a headline with one space, below it details with more. The
names of what is found are those of translated device code on a CPU where they mean the same
(envs/referee/reasons.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernelwright.envs.plan.counters import Facts

CHECKERS: dict[str, tuple[tuple[str, str], ...]] = {
    "memcheck": (("report-api-errors", "no"), ("padding", str(1 << 20))),
    "racecheck": (),
    "initcheck": (("initcheck-address-space", "all"),),
    "synccheck": (),
}
"""Checkers, and options of each that not every version has. Padding lies behind each allocation: a
read behind a small one would meet the next."""
OPTIONS = (("launch-timeout", "60"), ("check-exit-code", "no"), ("show-backtrace", "no"))
"""The same of all of them."""
PREFIX = "sanitizer."
"""Begins facts: how many errors a checker counted, and how many reports there are of each kind."""
OTHER = "other"
"""The kind of errors that were counted and are not known by their words."""
SHOWN = 3
"""Reports of a checker that are told in full."""
LETTERS = 300
"""Of one of them: a kernel's name may be long."""

_LINE = re.compile(r"^=========(?P<space> *)(?P<text>.*)$", re.MULTILINE)
_COUNTED = re.compile(
    r"^=+ (?:ERROR SUMMARY: |RACECHECK SUMMARY: .*\()(\d+) errors?(?:$|,)", re.MULTILINE
)
_KINDS = (
    (r"Invalid __\w+__ .* is misaligned", "misaligned_address"),
    (r"Invalid __shared__ ", "shared_out_of_bounds"),
    (r"Invalid __local__ ", "local_out_of_bounds"),
    (r"Invalid __\w+__ ", "illegal_address"),
    (r"(?i)warn(ing)?: (race reported|potential \w+ hazard)", "race_warning"),
    (r"(?i)error: (race reported|potential \w+ hazard)", "race"),
    (r"Uninitialized __shared__ ", "uninitialised_shared"),
    (r"Uninitialized __\w+__ |Host API .*Uninitialized access", "uninitialised"),
    (r"Barrier error detected\. Divergent", "barrier_divergence"),
    (r"Barrier error detected", "barrier_misused"),
)
"""Pattern at the beginning of a report → what it reports; the first that fits."""


def command(program: str, checker: str, log: Path, known: str) -> list[str]:
    """What stands before the command that is checked. `known` is what the program's help says:
    options that it does not name are left out."""
    wanted = [one for one in (*OPTIONS, *CHECKERS[checker]) if f"--{one[0]}" in known]
    options = [word for name, value in wanted for word in (f"--{name}", value)]
    return [program, "--tool", checker, "--log-file", str(log), *options]


def findings(checker: str, log: str) -> tuple[Facts, list[str]] | None:
    """(facts, a line for each of the first reports and for the errors in all) of a checker's log;
    None of one that does not reach its summary: then nothing is known."""
    counted = _COUNTED.search(log)
    if counted is None:
        return None
    reports = [(kind, text) for text in _reports(log) if (kind := _kind(text))]
    errors = max(int(counted[1]), sum(kind != "race_warning" for kind, _ in reports))
    kinds = Counter(kind for kind, _ in reports)
    if errors and not reports:
        kinds[OTHER] = errors
    facts = ((checker, errors), *kinds.items())
    told = [text[:LETTERS] for _, text in reports[:SHOWN]]
    total = f"compute-sanitizer {checker}: {errors} error{'s' * (errors != 1)}"
    lines = [total, *(f"  {one}" for one in told)] if errors or reports else []
    return tuple((PREFIX + name, float(value)) for name, value in facts), lines


def _reports(log: str) -> Iterator[str]:
    """Each headline with its details, in one line."""
    found: list[str] = []
    for line in _LINE.finditer(log):
        text = line["text"].strip()
        if len(line["space"]) <= 1 and not _continues(text):
            if found:
                yield " ".join(found)
            found = []
        found += [text] if text else []
    if found:
        yield " ".join(found)


def _continues(text: str) -> bool:
    """Whether it is a detail: some versions write these as far to the left as headlines."""
    return text.startswith(("at ", "by ", "and ", "Address ", "Access ", "Uninitialized access "))


def _kind(report: str) -> str | None:
    return next((kind for pattern, kind in _KINDS if re.match(pattern, report)), None)


def sanitized(facts: Sequence[tuple[str, float]]) -> str:
    """What the checkers found, in a line for people; empty where none looked."""
    found = {
        name.removeprefix(PREFIX): int(value) for name, value in facts if name.startswith(PREFIX)
    }
    if not found:
        return ""
    ran = [f"{name} {found[name]}" for name in CHECKERS if name in found]
    kinds = [name for name in found if name not in CHECKERS]
    return f"compute-sanitizer, errors: {', '.join(ran)}" + f" ({', '.join(kinds)})" * bool(kinds)
