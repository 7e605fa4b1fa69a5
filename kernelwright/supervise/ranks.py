"""How one of several processes of a launch tells that it failed: with its rank, and only once.

The launcher ends the others as soon as one has ended. So who may only repeat what another says
waits to be ended before it speaks.
"""

from __future__ import annotations

import sys
import time

from kernelwright.data.runs.process import this_process
from kernelwright.supervise.machine_faults import lost_another

OTHERS_S, LOST_S = 3.0, 15.0
"""How long processes after the first wait, and who only lost its connection to another."""


def rank_words() -> str:
    """`rank 1 of 2 processes: `; nothing where there is one process.

    >>> rank_words()
    ''
    """
    process = this_process()
    return f"rank {process.rank} of {process.world} processes: " if process.world > 1 else ""


def tell_failure(line: str, error: BaseException | None = None) -> None:
    """Prints the last line of a process that fails, which may be this `error`."""
    if rank_words():
        lost = error is not None and lost_another(error)
        time.sleep(LOST_S if lost else OTHERS_S if this_process().rank else 0.0)
    print(f"{rank_words()}{line}", file=sys.stderr, flush=True)
