"""Freed memory is kept for the next tensor: on a CPU this speeds up training.

Logits are temporaries of hundreds of megabytes. glibc takes each one fresh from the kernel and
gives it back at once, so a third of a training step went to zeroing pages (measured on two cores,
as was: making and dropping such temporaries is five times faster without it). What is kept falls to
pieces over many steps, so it is given back after one that ends with most of the machine's taken.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
NEVER = -1
"""A threshold of some gigabytes is met by the logits of one step, and all is given back."""
TOP_PAD_BYTES = 64 << 20
MOST_KEPT = 0.75
"""Share of the machine's memory."""


def keep_freed_memory() -> bool:
    """Asks the allocator of this process not to return memory; False where it is not glibc."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return False
    asked = ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, NEVER), (M_TOP_PAD, TOP_PAD_BYTES))
    return all(mallopt(option, value) for option, value in asked)


def memory_callback() -> Any:
    """A trainer's callback that gives freed memory back after a step, where too much is held."""
    from transformers import TrainerCallback

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)

    class Memory(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if trim and _resident_pages() > MOST_KEPT * os.sysconf("SC_PHYS_PAGES"):
                trim(0)

    return Memory()


def _resident_pages() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])
