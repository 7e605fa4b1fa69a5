"""Compilers are found where their packages put them."""

from __future__ import annotations

from pathlib import Path

import pytest

import kernelwright.envs.sandbox.toolchain
from kernelwright.envs.sandbox.toolchain import nvcc_folder


def test_nvcc_is_found_in_nvidias_wheels_the_newest_of_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = nvcc_folder.__wrapped__
    monkeypatch.setattr(
        kernelwright.envs.sandbox.toolchain, "package_folder", lambda name: tmp_path
    )
    assert found() is None
    for version in ("cu12", "cu13"):
        folder = tmp_path / version / "bin"
        folder.mkdir(parents=True)
        (folder / "nvcc").touch()
    assert found() == tmp_path / "cu13"
