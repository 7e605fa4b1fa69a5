"""The command, in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def kernelwright(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kernelwright", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        check=False,
    )


def last_logged(said: str) -> str:
    """The last line of the log that a command names."""
    (path,) = re.findall(r"^progress is also in (.+)$", said, re.MULTILINE)
    return Path(path).read_text(encoding="utf-8").splitlines()[-1]
