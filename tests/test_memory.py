"""How much memory is said to be free, and what is given back."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch

import kernelwright.envs.system.hardware
from kernelwright.envs.system.hardware import available_bytes
from kernelwright.rl.models.free_memory import give_back

GB = 10**9


@pytest.mark.parametrize(
    ("limit", "used", "cached"),
    [
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ],
)
def test_a_container_leaves_its_limit_less_what_is_used_and_cannot_be_dropped(
    limit: str, used: str, cached: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / limit).write_text(f"{GB}\n")
    (tmp_path / used).write_text(f"{GB // 2}\n")
    (tmp_path / "memory.stat").write_text(f"anon 7\n{cached} {GB // 10}\n")
    monkeypatch.setattr(kernelwright.envs.system.hardware, "own_cgroups", lambda: [tmp_path])
    assert available_bytes() == GB // 2 + GB // 10


def test_without_a_limit_it_is_what_the_machine_has_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory.max").write_text("max\n")
    monkeypatch.setattr(kernelwright.envs.system.hardware, "own_cgroups", lambda: [tmp_path])
    assert GB // 10 < available_bytes() <= kernelwright.envs.system.hardware.physical_bytes()


def test_a_gpu_has_done_its_work_before_its_free_memory_is_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    for name in ("synchronize", "empty_cache"):
        monkeypatch.setattr(torch.cuda, name, partial(asked.append, name))
    give_back()
    assert asked == ["synchronize", "empty_cache"]
