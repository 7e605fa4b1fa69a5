"""The doorbell: everything a user starts comes through this package.

The flat package names of this project (`data`, `envs`, `evals`, `rl`, ...) also exist on package
indexes. Whatever is installed beside it, this checkout is looked at first.
"""

import sys
from pathlib import Path

_CHECKOUT = str(Path(__file__).resolve().parents[1])
if sys.path[:1] != [_CHECKOUT]:
    sys.path.insert(0, _CHECKOUT)
