"""Runs the trivial-answer battery on the starter suite and writes data/starter/admission.json.

python -m scripts.admit
"""

from __future__ import annotations

import json
from dataclasses import replace

from rich.progress import track

from data.admission import check_problem, fingerprint
from data.starter.families import blueprints
from data.starter.suite import ADMISSION_FILE
from envs.wire import to_plain


def main() -> None:
    rows, seen = [], {}
    # Training families first, so that of two equal problems it is the held-out one that goes.
    for blueprint, _ in track(sorted(blueprints(), key=lambda pair: pair[1]), "admission"):
        problem = blueprint.problem()
        dropped = [blueprint.code(expression) for expression in blueprint.dropped]
        admission = check_problem(problem, dropped)
        twin = seen.setdefault(fingerprint(problem), problem.name)
        if twin != problem.name:
            admission = replace(admission, accepted=(*admission.accepted, f"same_as_{twin}"))
        rows.append(to_plain(admission))
        if admission.accepted:
            print(f"{admission.problem} accepts {', '.join(admission.accepted)}: not admitted")
    ADMISSION_FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    print(f"{sum(not row['accepted'] for row in rows)} of {len(rows)} admitted")


if __name__ == "__main__":
    main()
