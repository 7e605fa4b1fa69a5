"""Runs the trivial-answer battery on the starter suite and writes data/starter/admission.json.

python -m scripts.admit
"""

from __future__ import annotations

from rich.progress import track

from data.starter.families import blueprints
from data.starter.suite import ADMISSION_FILE, job
from data.suite_check import check_many, write_admissions


def main() -> None:
    # Training families first, so that of two equal problems it is the held-out one that goes.
    jobs = [job(one) for one, _ in sorted(blueprints(), key=lambda pair: pair[1])]
    found = []
    for admission in track(check_many(jobs), "admission", total=len(jobs)):
        found.append(admission)
        if not admission.admitted:
            why = admission.failed or f"accepts {', '.join(admission.accepted)}"
            print(f"{admission.problem} {why}: not admitted")
    write_admissions(ADMISSION_FILE, found)
    print(f"{sum(one.admitted for one in found)} of {len(found)} admitted")


if __name__ == "__main__":
    main()
