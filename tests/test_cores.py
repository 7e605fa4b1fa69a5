"""The cores that may be used are those of the affinity, as many as the container's quota."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from kernelwright.envs.system import cores as module
from kernelwright.envs.system.cores import cpu_name, usable_cores


@pytest.mark.parametrize(
    ("own", "files", "most"),
    [
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "max 100000\n"}, 64),
        ("0::/\n", {"cpu.max": "50000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "250000 100000\n"}, 3),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}, 3),
        (
            "4:cpu,cpuacct:/a\n3:memory:/a\n0::/\n",
            {
                "cpu,cpuacct/a/cpu.cfs_quota_us": "400000\n",
                "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
            },
            4,
        ),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 64),
        ("", {}, 64),
    ],
)
def test_a_containers_quota_bounds_the_cores(
    own: str, files: dict[str, str], most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "own").write_text(own)
    monkeypatch.setattr(module, "GROUPS", tmp_path)
    monkeypatch.setattr(module, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    assert usable_cores() == list(range(most))


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("model name\t: AMD EPYC\nflags\t\t: fpu avx2 fma\n", "AMD EPYC, AVX2"),
        ("model name : X @ 2.7GHz\nflags : avx2 avx512f avx512_bf16\n", "X @ 2.7GHz, AVX512-BF16"),
        ("model name : Old one\nflags : sse2\n", "Old one"),
        ("", platform.machine()),
    ],
)
def test_a_processor_is_named_with_its_widest_vectors(told: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(told)
    assert cpu_name(tmp_path / "cpuinfo") == name
