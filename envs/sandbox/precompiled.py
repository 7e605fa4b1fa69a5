"""Precompiles our tensor header for `inline` answers: parsing its C++ library headers takes a
second, longer than the answer itself.

g++ takes such a header only with the flags that it was made with, and reads the plain one
otherwise; so there is one for each way to compile, made when it is first needed. It holds nothing
of any answer, and is shown to all.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from kernelwright.envs.sandbox.toolchain import (
    HEADERS,
    NATIVE,
    compiler_path,
    sources_in,
    toolchain_fingerprint,
)
from kernelwright.envs.system.paths import cache_folder, prune
from kernelwright.envs.types import content_hash

HEADER = "kernelwright/torch.h"
THERE = "/precompiled"
MOST_KEPT_BYTES = 512 << 20


def precompiled_folder() -> Path:
    """Where they are kept, one of about 60 MB in a folder; jobs see it at `THERE`."""
    folder = cache_folder() / "precompiled"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@lru_cache
def precompiled(flags: tuple[str, ...]) -> tuple[str, ...]:
    """What tells g++ to read the header first, made with these flags, for a job that uses them."""
    name = content_hash(toolchain_fingerprint(), *flags, *sources_in(HEADERS, "*.h"))
    path = precompiled_folder() / name / f"{HEADER}.gch"
    with suppress(OSError, subprocess.CalledProcessError):  # a full disk: it is read plainly
        if not path.exists():
            prune(precompiled_folder(), MOST_KEPT_BYTES)
            _make(path, flags)
        os.utime(path)  # used now: what was used longest ago is removed first
    return (f"-I{THERE}/{name}", "-include", HEADER)


def _make(path: Path, flags: Sequence[str]) -> None:
    """The header at its place, whole at once, for jobs to read, whatever the umask."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for folder in (precompiled_folder(), path.parents[1], path.parent):
        folder.chmod(0o755)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        made = Path(scratch, path.name)
        words = [compiler_path(), "-x", "c++-header", *flags, "-Iinclude", f"include/{HEADER}"]
        subprocess.run(
            [*words, "-o", str(made.absolute())], check=True, cwd=NATIVE, capture_output=True
        )
        made.chmod(0o644)
        made.rename(path)
