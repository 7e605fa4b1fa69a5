"""Checks the problems of shipped suites by trivial answers and mutants: writes
data/suites/starter_admission.json and data/suites/exam_admission.json.

python -m scripts.admit [starter] [exam]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from kernelwright.data.factory.families import blueprints
from kernelwright.data.factory.split import is_held_out
from kernelwright.data.suites import exam, starter
from kernelwright.data.suites.check import Job, read_admissions, write_admissions
from scripts.kill_score import judged


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("suites", nargs="*", help="all of them, if none is named")
    names = parser.parse_args().suites or list(SUITES)
    if unknown := sorted(set(names) - set(SUITES)):
        parser.error(f"no suite {', '.join(unknown)}; there are {', '.join(SUITES)}")
    for name in names:
        jobs, file = SUITES[name]
        admit(name, jobs(), file)


def admit(name: str, jobs: Sequence[Job], file: Path) -> None:
    found = judged(jobs)
    for one in found:
        if not one.admitted:
            why = one.failed or f"accepts {', '.join(one.accepted)}"
            print(f"{one.problem} {why}: not admitted")
    write_admissions(file, found)
    print(f"{name}: {sum(one.admitted for one in found)} of {len(found)} admitted")


def starter_jobs() -> list[Job]:
    """Of two equal problems the later one goes: what was admitted before stays, then training
    first."""
    before = read_admissions(starter.ADMISSION_FILE)
    known = {name for name, one in before.items() if one.admitted}
    order = sorted(blueprints(), key=lambda one: (one.family not in known, is_held_out(one)))
    return [starter.job(one) for one in order]


def exam_jobs() -> list[Job]:
    return [(problem, ()) for problem in exam.written()]


SUITES: dict[str, tuple[Callable[[], list[Job]], Path]] = {
    "starter": (starter_jobs, starter.ADMISSION_FILE),
    "exam": (exam_jobs, exam.ADMISSION_FILE),
}

if __name__ == "__main__":
    main()
