"""Compilers are found where their packages put them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.envs.sandbox import toolchain
from kernelwright.envs.sandbox.toolchain import nvcc_folder


def test_nvcc_is_found_in_nvidias_wheels_the_newest_of_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = nvcc_folder.__wrapped__
    monkeypatch.setattr(toolchain, "package_folder", lambda name: tmp_path)
    assert found() is None
    for version in ("cu12", "cu13"):
        folder = tmp_path / version / "bin"
        folder.mkdir(parents=True)
        (folder / "nvcc").touch()
    assert found() == tmp_path / "cu13"


def test_a_helper_built_for_one_environment_is_not_taken_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two environments share the cache folder; where their PyTorch is, is part of what is built."""
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))
    source = tmp_path / "helper.cpp"
    source.write_text("int helper() { return 0; }")
    flags = ["-shared", "-fPIC", str(source)]
    mine, again, theirs = (
        toolchain._built("helper", [*flags, f"-Wl,-rpath,/{one}/torch/lib"])
        for one in ("mine", "mine", "theirs")
    )
    assert mine == again
    assert b"/mine/torch/lib" in mine.read_bytes()
    assert b"/theirs/torch/lib" in theirs.read_bytes()


def test_a_torch_that_was_built_for_cuda_is_known_by_its_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "package_folder", lambda name: tmp_path)
    assert not toolchain.is_torch_for_cuda()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libtorch_cuda.so").touch()
    assert toolchain.is_torch_for_cuda()
