"""What untrusted code sees of this machine: packages, and no folder of whoever started us."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.sandbox import rootfs
from kernelwright.envs.sandbox.levels import sandbox_level
from kernelwright.envs.sandbox.toolchain import bwrap_path
from kernelwright.envs.system.paths import SEARCHED
from kernelwright.envs.types import Case, Problem

pytestmark = pytest.mark.sandbox

PROGRAM = """
from kernelwright.envs.sandbox import rootfs
print(*(here for here, _ in rootfs.reference().shown), sep="\\n")
"""


@pytest.mark.parametrize("started_as", ["a file", "words"])
def test_a_problem_sees_no_folder_of_the_program_that_was_started(
    tmp_path: Path, started_as: str
) -> None:
    (tmp_path / "mine.py").write_text(PROGRAM)
    words = ["mine.py"] if started_as == "a file" else ["-c", PROGRAM]
    shown = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(SEARCHED)},
    ).stdout.splitlines()
    assert sys.prefix in shown
    assert not {"", ".", str(tmp_path), str(SEARCHED)} & set(shown)


def test_a_link_to_what_is_not_shown_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a checkout's `src/kernelwright` is, which an editable install leads to."""
    (tmp_path / "own").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "kernelwright").symlink_to(tmp_path / "own")
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path / "src"))
    inside = replace(rootfs.python.__wrapped__(), command=("/bin/true",))
    subprocess.run([bwrap_path(), *inside.arguments()], check=True)


@pytest.mark.parametrize("made", [rootfs.python, rootfs.reference, rootfs.beside_torch])
@pytest.mark.parametrize("where", ["", "lib/python3.11/site-packages"])
def test_another_version_that_is_installed_is_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Any, where: str
) -> None:
    """In this environment or in the interpreter's own: it holds kernels that answer our problems,
    and would be imported instead of ours."""
    packages = tmp_path / where
    installed = packages / "kernelwright"
    installed.mkdir(parents=True)
    (installed / "__init__.py").touch()
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    inside = replace(made.__wrapped__(), command=("/bin/ls", "-A", str(packages), str(installed)))
    words = [bwrap_path(), *inside.arguments()]
    seen = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert seen.split() == [f"{packages}:", "kernelwright", f"{installed}:"]


@pytest.mark.parametrize(
    "made", [rootfs.native, rootfs.python, rootfs.reference, rootfs.beside_torch]
)
def test_neither_the_folder_nor_the_name_of_who_started_us_is_seen(
    monkeypatch: pytest.MonkeyPatch, made: Any
) -> None:
    monkeypatch.chdir("/usr/lib")  # a folder that is there inside, too
    monkeypatch.setenv("SECRET", "/usr/lib")
    inside = replace(made(), command=("/bin/sh", "-c", "env; pwd -P; uname -n"))
    words = [bwrap_path(), *inside.arguments()]
    seen = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert "PWD=/" in seen
    assert not [one for one in seen if "/usr/lib" in one]
    assert seen[-2:] == ["/", "sandbox"]


def test_where_the_host_allows_no_core_files_at_all_there_is_a_sandbox_all_the_same() -> None:
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        "from kernelwright.envs.sandbox.levels import sandbox_level; print(sandbox_level())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == sandbox_level() != "none"


def test_a_reference_has_one_thread_whatever_its_user_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's BLAS would take all cores, as no setting of PyTorch's reaches it."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    code = "import os, torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
    code += "        return torch.zeros(int(os.environ.get('OMP_NUM_THREADS', 2))) + x\n"
    code += "def get_inputs():\n    return [torch.zeros(1)]\n"
    rootfs.reference.cache_clear()
    reference = ReferenceProcess()
    shapes = reference.shapes(Problem(name="p", code=code, cases=(Case(name="c", sizes=()),)))
    reference.close()
    assert shapes.spec.outputs[0].shape == (1,)
