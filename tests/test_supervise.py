"""What the machine did to a run is told in one line; what we did wrong keeps its traceback."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import kernelwright.supervise.machine_faults
from kernelwright.data.runs.records import RecordStore
from kernelwright.supervise.machine_faults import explained
from tests import nouns

ROOT = Path(__file__).parents[1]
FULL = Path("/dev/full")
BIG = {"weight": torch.zeros(200_000)}


def raised(work: object) -> BaseException:
    try:
        work()  # type: ignore[operator]
    except Exception as error:  # noqa: BLE001  which one it is differs from library to library
        return error
    raise AssertionError("nothing was raised")


def line_of(error: BaseException, folder: Path) -> str:
    line = explained(error, folder)
    assert line is not None, repr(error)
    assert "\n" not in line
    return line


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
def test_a_full_disk_below_the_records_is_named(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").symlink_to(FULL)
    error = raised(lambda: RecordStore(tmp_path).append([nouns.record()]))
    assert line_of(error, tmp_path).startswith(f"the disk below {tmp_path} is full (")


@pytest.mark.parametrize("save", [torch.save, save_file])
def test_what_libraries_say_about_a_full_disk_is_understood(
    save: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that may grow no further stands for the disk; the libraries do not tell them apart."""
    program = (
        "import resource, signal, sys, torch; from safetensors.torch import save_file\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        f"({'torch.save' if save is torch.save else 'save_file'})"
        "({'weight': torch.zeros(200_000)}, sys.argv[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "file")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    said = RuntimeError(done.stderr.splitlines()[-1])
    assert explained(said, tmp_path) is None
    monkeypatch.setattr(kernelwright.supervise.machine_faults, "free_disk_bytes", lambda _: 0)
    assert "is full (0.0 MB free)" in line_of(said, tmp_path)


def test_how_much_a_stage_needs_is_said_once_there_is_a_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints" / "sft" / "checkpoint-1"
    folder.mkdir(parents=True)
    (folder / "optimizer.pt").write_bytes(b"x" * 1_500_000)
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "file")
    assert "two checkpoints" not in line_of(full, tmp_path)
    (folder / "trainer_state.json").write_text("{}")
    assert "a stage keeps two checkpoints of 1.5 MB" in line_of(full, tmp_path)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "not enough memory ("),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "not enough mem"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to"), "not enough memory"),
        (PermissionError(errno.EACCES, "Permission denied", "a/b"), "a/b: Permission denied"),
        (RuntimeError("Could not determine home directory."), "HOME is not set"),
    ],
)
def test_each_mishap_is_one_line(error: Exception, words: str, tmp_path: Path) -> None:
    assert words in line_of(error, tmp_path)


@pytest.mark.parametrize("error", [RuntimeError("shapes differ"), KeyError("a"), ValueError("b")])
def test_our_own_mistakes_are_not_explained_away(error: Exception, tmp_path: Path) -> None:
    assert explained(error, tmp_path) is None
