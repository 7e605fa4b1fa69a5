"""A child process that ends with its parent, however that ends (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress

PR_SET_PDEATHSIG = 1
ORPHANED = 1
"""The exit status of a child whose parent was gone before it could say so."""


def die_with(parent: int) -> None:
    """To be called by the child first of all; `parent` is the process id of who started it."""
    with suppress(AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(ORPHANED)
