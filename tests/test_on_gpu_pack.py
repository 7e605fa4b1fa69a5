"""What scripts/on_gpu_pack.py sends: which wheels, how they are made smaller, how much it is."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

import pytest

from scripts import on_gpu_pack as pack


def wheel(folder: Path, files: dict[str, bytes]) -> Path:
    """A wheel of bitsandbytes with these files and a right list of them."""
    path, record = folder / "bitsandbytes-1-py3-none-any.whl", "bitsandbytes-1.dist-info/RECORD"

    def digest(content: bytes) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()

    lines = [f"{name},sha256={digest(text)},{len(text)}" for name, text in files.items()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(record, "\n".join([*lines, f"{record},,"]) + "\n")
    return path


LIBRARIES = {f"bitsandbytes/{name}": name.encode() for name in pack.KEPT_LIBRARIES}


def test_a_slim_wheel_has_the_two_libraries_and_a_right_list_of_its_files(tmp_path: Path) -> None:
    other = {"bitsandbytes/libbitsandbytes_cuda118.so": b"x" * 1000, "bitsandbytes/a.py": b"a"}
    path = wheel(tmp_path, LIBRARIES | other)
    pack.slim(path)
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
    assert names == {*LIBRARIES, "bitsandbytes/a.py", "bitsandbytes-1.dist-info/RECORD"}
    assert pack.recorded(path)


def test_a_wheel_without_the_library_for_this_cuda_is_refused(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"bitsandbytes/libbitsandbytes_cpu.so": b"x"})
    with pytest.raises(SystemExit, match=r"no libbitsandbytes_cuda130\.so"):
        pack.slim(path)


def test_a_list_with_a_file_too_many_is_noticed(tmp_path: Path) -> None:
    path = wheel(tmp_path, LIBRARIES)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("bitsandbytes/more.py", b"")
    assert not pack.recorded(path)


def test_what_the_image_has_is_not_sent_but_for_what_ours_needs_in_a_certain_version() -> None:
    versions = {"torch": "2.11.0", "typing_extensions": "4.16.0", "trl": "1.16.0", "peft": "0.21.2"}
    report = [{"metadata": {"name": name, "version": one}} for name, one in versions.items()]
    assert pack.missing(report) == ["peft==0.21.2", "trl==1.16.0", "typing-extensions==4.16.0"]


def test_requirements_are_the_projects_own_without_what_no_stage_uses() -> None:
    names = {line.partition(">")[0] for line in pack.requirements()}
    assert {"torch", "pydantic", "trl", "bitsandbytes", "datasets", "triton", "pytest"} <= names
    assert not names & {"wandb", "ray", "kernelwright[eval]", "ruff"}


def test_a_size_is_in_blocks_of_the_disk_and_of_all_files(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "one").write_bytes(b"1")
    (tmp_path / "a" / "b" / "two").write_bytes(bytes(pack.BLOCK_BYTES + 1))
    assert pack.blocks(tmp_path / "a") == 3 * pack.BLOCK_BYTES
    assert pack.upload([tmp_path / "a"])["a"] == 3 * pack.BLOCK_BYTES


def test_the_tree_that_is_sent_is_what_git_knows() -> None:
    names = {str(path.relative_to(pack.ROOT)) for path in pack.tree()}
    assert {"pyproject.toml", "scripts/on_gpu.py", "src/kernelwright"} <= names
    assert not any(name.startswith((".gpu/", ".venv/")) for name in names)


def test_call_a_carries_wheels_and_call_b_the_rest_of_the_weights(tmp_path: Path) -> None:
    for name in ("wheels", "adapter"):
        (tmp_path / name).mkdir()
    for name in ("part1", "part2"):
        (tmp_path / name).write_bytes(b"")
    names = {call: [one.name for one in paths] for call, paths in pack.carries(tmp_path).items()}
    assert names == {"a": ["wheels", "adapter", "part1"], "b": ["part2"]}
