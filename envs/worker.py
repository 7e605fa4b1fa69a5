"""A judge's worker: reads jobs as JSON lines, answers with evaluations as JSON lines.

Trusted, small (no torch), and pinned to one core together with everything it starts, so that
baseline and candidate always compete for the same core and never with each other.

    python -m envs.worker CORE   (its standard output is the answer channel)
"""

from __future__ import annotations

import json
import os
import sys

from envs.court import Court, Protocol
from envs.peaks import peaks
from envs.toolchain import toolchain_fingerprint
from envs.wire import candidate_from_plain, problem_from_plain, to_json


def main() -> None:
    os.sched_setaffinity(0, {int(sys.argv[1])})
    court = Court(Protocol(), peaks(toolchain_fingerprint()))
    for line in sys.stdin:
        job = json.loads(line)
        problem, candidate = (
            problem_from_plain(job["problem"]),
            candidate_from_plain(job["candidate"]),
        )
        evaluation = court.judge(problem, candidate, timed=job["timed"], seed=job["seed"])
        print(to_json(evaluation), flush=True)
    court.close()


if __name__ == "__main__":
    main()
