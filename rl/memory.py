"""Freed memory goes back to the machine after each training step.

A step makes gigabytes of small tensors. glibc keeps what is freed among them, and what is kept
falls to pieces over many steps; the judge's processes and the next stage need it more.
"""

from __future__ import annotations

import ctypes
from typing import Any


def memory_callback() -> Any:
    """A trainer's callback that gives freed memory back; it does nothing where it is not glibc."""
    from transformers import TrainerCallback

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)

    class Memory(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if trim:
                trim(0)

    return Memory()
