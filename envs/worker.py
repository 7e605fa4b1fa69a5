"""A judge's worker: reads jobs as JSON lines, answers with evaluations as JSON lines.

Trusted, small (no torch), and pinned to one core together with everything it starts, so that
baseline and candidate always compete for the same core and never with each other.

    python -m envs.worker CORE   (its standard output is the answer channel)
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

from envs.build import FLAGS
from envs.court import Court, Protocol
from envs.peaks import peaks
from envs.toolchain import compiler_path
from envs.types import content_hash
from envs.wire import candidate_from_plain, problem_from_plain, to_json

KIND = ("model name", "cpu family", "model\t", "stepping", "cache size", "flags")
"""Lines of /proc/cpuinfo that say what a core can do; clouds call many kinds by one name."""


def environment_fingerprint() -> str:
    """Names this machine's kind of core, compiler and flags: timings compare only within one."""
    compiler = subprocess.run(
        [compiler_path(), "--version"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[0]
    with open("/proc/cpuinfo") as file:
        core = file.read().partition("\n\n")[0].splitlines()
    kind = [line.strip() for line in core if line.startswith(KIND)] or [platform.machine()]
    return content_hash(*kind, compiler, " ".join(FLAGS))


def main() -> None:
    os.sched_setaffinity(0, {int(sys.argv[1])})
    court = Court(Protocol(), peaks(environment_fingerprint()))
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
