"""Exit codes by which the guest reports that an answer failed or broke a rule."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

NOT_LOADABLE = 65
OTHER_PARAMETERS, NOT_A_TENSOR, OTHER_SHAPE, OTHER_DTYPE, TORCH_COMPUTE = 70, 71, 72, 73, 74
FORWARD_RAISED, COMPILE_ERROR = 75, 76
"""Exit codes that envs/referee/exit_codes.py puts into words."""


def leave(code: int, why: str = "") -> NoReturn:
    """Ends this process, saying why in its log."""
    if why:
        print(why, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
