"""How the process of an answer ends that convicts itself."""

from __future__ import annotations

import os
import sys

NOT_LOADABLE = 65
OTHER_PARAMETERS, NOT_A_TENSOR, OTHER_SHAPE, OTHER_DTYPE, TORCH_COMPUTE = 70, 71, 72, 73, 74
"""Exit codes that envs/referee/exit_codes.py puts into words."""


def leave(code: int, why: str = "") -> None:
    """Ends this process, saying why in its log."""
    if why:
        print(why, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
