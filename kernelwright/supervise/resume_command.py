"""The command line that goes on with this run, as its user would type it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

MAKE_TARGET = "KERNELWRIGHT_MAKE"
"""Environment variable in which the Makefile names the target that started this launch."""
LAUNCHERS = ("accelerate", "accelerate-launch", "torchrun")
LAUNCHER_MODULES = ("accelerate.commands.launch", "torch.distributed.run")
RESUME = "--resume"


def resume_command(recipe: Path, words: Sequence[str]) -> str:
    """`accelerate launch recipes/x.yaml a=b --resume`, or however else this launch was typed."""
    target = os.environ.get(MAKE_TARGET)
    if target:
        return f"make {target} ARGS={shlex.quote(shlex.join(_resumed(words)))}"
    launcher = launcher_words()
    if launcher:
        return shlex.join(_resumed(launcher))
    as_program = Path(sys.argv[0]).suffix in (".yaml", ".yml")
    start = ["python", str(recipe)] if as_program else ["kernelwright", "train", str(recipe)]
    return shlex.join(_resumed([*start, *words]))


def launcher_words() -> list[str] | None:
    """The command line of the accelerate or torchrun that started this process; None without one.

    >>> launcher_words() is None
    True
    """
    given = words_of(os.getppid())
    if sys.argv[0] not in given:
        return None
    if Path(given[0]).name.startswith("python"):
        if given[1:2] == ["-m"] and given[2] in LAUNCHER_MODULES:
            return ["python", *given[1:]]
        given = given[1:]
    name = Path(given[0]).name
    if name not in LAUNCHERS:
        return None
    return [name if shutil.which(name) == given[0] else given[0], *given[1:]]


def words_of(process_id: int) -> list[str]:
    """The command line of a process; empty where that is not known."""
    try:
        text = Path(f"/proc/{process_id}/cmdline").read_text(errors="replace")
    except OSError:
        return []
    return text.removesuffix("\0").split("\0")


def _resumed(words: Sequence[str]) -> list[str]:
    return [*(word for word in words if word != RESUME), RESUME]
