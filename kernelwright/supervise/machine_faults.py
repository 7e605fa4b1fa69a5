"""Failures of the machine in one line: a full disk, too little memory, a file out of reach.

Every other exception is a mistake of ours and keeps its traceback.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from kernelwright.envs.device.memory import says_full
from kernelwright.envs.system.hardware import GpuError, memory_bytes
from kernelwright.machine.facts import free_disk_bytes

FULL = (errno.ENOSPC, errno.EDQUOT)
FULL_WORDS = ("No space left on device", "Disk quota exceeded")
MEMORY_WORDS = ("can't allocate memory", "out of memory", "Cannot allocate memory")
LOST = "another process of this launch has ended, or cannot be reached any more"
LOST_WORDS = ("by peer", "Broken pipe", "remote process exited", "remote server shutdown")
NO_HOME = (
    "there is no home folder: HOME is not set, and this user is not in the password file; "
    "set HOME to a folder that can be written"
)
LITTLE_BYTES = 64 << 10
"""torch says `iostream error` about a disk this full, and does not pass the reason on."""


def explained(error: BaseException, run_dir: Path) -> str | None:
    """The line for an error that the machine caused; None for any other."""
    chain = list(_chain(error))
    if isinstance(error, GpuError):
        return str(error)
    if lost_another(error):
        return LOST
    if any(_is_full(one, run_dir) for one in chain):
        return _full(run_dir)
    if any(says_full(one) for one in chain):
        return (
            "not enough memory on the GPU: end other programs on it, or lower "
            "sft.micro_batch_size, grpo.micro_batch_size or grpo.max_completion_length in a new "
            "run, or take a smaller model"
        )
    if any(_wants_memory(one) for one in chain):
        total = memory_bytes() / 1e9
        return (
            f"not enough memory ({total:.1f} GB for this process): free some, or lower "
            "sft.micro_batch_size and grpo.max_completion_length (on a GPU "
            "grpo.micro_batch_size) in a new run"
        )
    if isinstance(error, RuntimeError) and "home directory" in str(error):
        return NO_HOME
    if isinstance(error, OSError):
        reason = error.strerror or " ".join(str(error).split())
        return f"{error.filename}: {reason}" if error.filename else reason
    return None


def lost_another(error: BaseException) -> bool:
    """Whether the processes of a launch talked to each other, and one did not answer any more."""
    return any(
        isinstance(one, RuntimeError)
        and any(words in str(one) for words in LOST_WORDS)
        and ("gloo" in str(one) or type(one).__module__.startswith("torch"))
        for one in _chain(error)
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and its chain of causes."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _is_full(error: BaseException, run_dir: Path) -> bool:
    if isinstance(error, OSError) and error.errno in FULL:
        return True
    text = str(error)
    if any(words in text for words in FULL_WORDS):
        return True
    return free_disk_bytes(run_dir) < LITTLE_BYTES


def _full(run_dir: Path) -> str:
    """The full folder, and the space that a run of this kind needs."""
    needed = _checkpoint_bytes(run_dir)
    wants = f"; a stage keeps two checkpoints of {needed / 1e6:.1f} MB" if needed else ""
    return (
        f"the disk below {run_dir} is full ({free_disk_bytes(run_dir) / 1e6:.1f} MB free{wants}): "
        "make room; nothing that was finished is lost"
    )


def _checkpoint_bytes(run_dir: Path) -> int:
    """The size of the largest whole checkpoint there is; 0 before the first one."""
    states = run_dir.glob("checkpoints/*/checkpoint-*/trainer_state.json")
    return max((_bytes_below(state.parent) for state in states), default=0)


def _bytes_below(folder: Path) -> int:
    places = ((place, name) for place, _, names in os.walk(folder) for name in names)
    return sum(Path(place, name).stat().st_size for place, name in places)


def _wants_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, (RuntimeError, OSError)) and any(
        words in str(error) for words in MEMORY_WORDS
    )
