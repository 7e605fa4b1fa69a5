"""The driver's tool, asked for what the judge does not need to know."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

LIMIT_S = 30


def query(fields: Sequence[str]) -> dict[str, str]:
    """What the tool says of the first GPU, by field; without those that it does not know.

    Raises subprocess.SubprocessError or OSError where the tool fails or is not there.
    """
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    values = (one.strip() for one in done.stdout.splitlines()[0].split(","))
    return {
        name: value for name, value in zip(fields, values, strict=True) if not value.startswith("[")
    }


def used_mb() -> int | None:
    """The first GPU's memory in use; None where the tool does not say."""
    try:
        return int(query(["memory.used"])["memory.used"])
    except (KeyError, ValueError, OSError, subprocess.SubprocessError):
        return None
