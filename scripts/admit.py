"""Checks all starter problems by trivial answers and mutants: writes
data/suites/starter_admission.json.

python -m scripts.admit
"""

from __future__ import annotations

from rich.progress import track

from kernelwright.data.factory.families import blueprints
from kernelwright.data.factory.split import is_held_out
from kernelwright.data.suites.check import check_many, read_admissions, write_admissions
from kernelwright.data.suites.starter import ADMISSION_FILE, job


def main() -> None:
    # Of two equal problems the later one goes: what was admitted before stays, then training first.
    before = read_admissions(ADMISSION_FILE)
    known = {name for name, one in before.items() if one.admitted}
    order = sorted(blueprints(), key=lambda one: (one.family not in known, is_held_out(one)))
    jobs = [job(one) for one in order]
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
