"""Breaks the judge in the middle of a batch, in every way we know, and prints what came of it.

Right is: each candidate has its verdict or is `unjudged`, or there is one clear error; there is
never a wrong verdict, never a wait without end, never a process left. Exits 1 where that fails.

    python -m scripts.chaos [--count 16] [SCENARIO ...]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kernelwright.envs.judge import Judge
from kernelwright.envs.system.processes import living_below, name_of, still_alive
from kernelwright.envs.types import Verdict
from kernelwright.envs.workers.pool import JudgeError, Worker
from scripts.kernels import is_right, mixture, the_problem

KINDS = (
    "honest.cpp",
    "scaled_result.cpp",
    "honest.py",
    "does_not_compile.cpp",
    "honest.triton.py",
    "null_pointer.cpp",
    "honest.cu",
    "reads_far_away.triton.py",
)
BATCH_LIMIT_S = 120.0
BLOW_EVERY_S = 1.5
BLOWS = 3


class LowWorker(Worker):
    """A worker under a limit of its own."""

    LIMIT = ("RLIMIT_NOFILE", 24)

    def __init__(self, core: int) -> None:
        name, value = self.LIMIT
        limited = f"import resource; resource.setrlimit(resource.{name}, ({value}, {value}))\n"
        self.PROGRAM = ("-c", f"{limited}from kernelwright.envs.workers.worker import main; main()")
        super().__init__(core)


class LowOnMemory(LowWorker):
    LIMIT = ("RLIMIT_AS", 600 << 20)


class AlmostLowOnMemory(LowWorker):
    """Enough to start, not enough for everything."""

    LIMIT = ("RLIMIT_AS", 3 << 30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=16)
    parser.add_argument("scenarios", nargs="*", default=list(SCENARIOS), metavar="SCENARIO")
    options = parser.parse_args()
    failed = [name for name in options.scenarios if not survives(name, options.count)]
    sys.exit(bool(failed))


def survives(name: str, count: int) -> bool:
    """Plays one scenario and prints its outcome; whether nothing happened that must not."""
    problem, before = the_problem(), living_below(os.getpid())
    asked = mixture([KINDS[number % len(KINDS)] for number in range(count)], problem)
    jobs = [(problem, candidate) for _, candidate in asked]
    started = time.monotonic()
    with SCENARIOS[name]() as hire, Judge(2, hire=hire, batch_limit_s=BATCH_LIMIT_S) as judge:
        try:
            found = judge.evaluate_many(jobs, timed=True)
        except JudgeError as error:
            found, outcome = [], f"error: {str(error)[:200]}"
    seconds = time.monotonic() - started
    wrong = []
    if found:
        outcome = str(dict(Counter(f"{one.verdict}/{one.reason}" for one in found)))
        wrong = [
            f"  {kind}: {one.verdict}/{one.reason}"
            for (kind, candidate), one in zip(asked, found, strict=True)
            if one.verdict is not Verdict.UNJUDGED and not is_right(kind, candidate, one)
        ]
    left = still_alive(living_below(os.getpid()) - before)
    late = seconds > 2 * BATCH_LIMIT_S
    print(f"{name}: {seconds:.0f} s; {outcome}", flush=True)
    print(*wrong, *([f"  left behind: {left}"] if left else []), sep="\n", end="")
    return not (wrong or left or late)


@contextmanager
def killing(is_victim: Callable[[int], bool]) -> Iterator[type[Worker]]:
    """A thread that kills one such process every now and then."""
    stop = threading.Event()

    def blows() -> None:
        for _ in range(BLOWS):
            if stop.wait(BLOW_EVERY_S):
                return
            victims = sorted(one for one in living_below(os.getpid()) if is_victim(one))
            for victim in victims[:1]:
                with suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)

    thread = threading.Thread(target=blows)
    thread.start()
    yield Worker
    stop.set()
    thread.join()


def runs(module: str) -> Callable[[int], bool]:
    return lambda process: module.encode() in _command(process)


def is_called(name: str) -> Callable[[int], bool]:
    return lambda process: name_of(process) == name


def _command(process: int) -> list[bytes]:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


@contextmanager
def full_disk() -> Iterator[type[Worker]]:
    """Temporary files lie on a disk of which every byte is taken."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], check=True)
        usual = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = folder
        with suppress(OSError), open(Path(folder, "everything"), "wb", buffering=0) as file:
            while file.write(bytes(4096)) == 4096:
                pass
        yield Worker
        os.environ.pop("TMPDIR") if usual is None else os.environ.update(TMPDIR=usual)
        subprocess.run(["umount", folder], check=True)


@contextmanager
def hiring(kind: type[Worker]) -> Iterator[type[Worker]]:
    yield kind


SCENARIOS = {
    "kill a worker": lambda: killing(runs("kernelwright.envs.workers.worker")),
    "kill a zygote's bubblewrap": lambda: killing(is_called("bwrap")),
    "kill a jail": lambda: killing(is_called("jail")),
    "kill a reference process": lambda: killing(runs("kernelwright.envs.reference.process")),
    "full disk": full_disk,
    "few descriptors": lambda: hiring(LowWorker),
    "little memory": lambda: hiring(LowOnMemory),
    "not quite enough memory": lambda: hiring(AlmostLowOnMemory),
}


if __name__ == "__main__":
    main()
