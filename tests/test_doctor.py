"""What the machine is told to lack, and what to install for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.envs.system import tools
from kernelwright.machine import doctor, facts
from kernelwright.machine.doctor import Check, against, can_judge, vector_functions
from kernelwright.machine.facts import install_command
from tests import ptx_device
from tests.command import kernelwright
from tests.fake_tools import write_sanitizer

ROOT = Path(__file__).parents[1]
FIXTURES = Path(__file__).with_name("fixtures") / "recipes"


def test_doctor_tells_the_judge_from_the_rest() -> None:
    done = kernelwright("doctor", "--json")
    told = {one["name"]: one for one in json.loads(done.stdout)}
    assert {"g++", "sandbox", "cores", "memory", "disk", "GPU"} <= set(told)
    assert not told["sandbox"]["ok"] or told["inline, triton"]["ok"]
    broken = any(one["judging"] and one["ok"] is False for one in told.values())
    assert done.returncode == int(broken)


def test_beside_a_gpu_the_tools_that_look_on_are_found_or_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [one.name for one in doctor._gpus()] == ["GPU"], "without one they have no use"
    write_sanitizer(tmp_path)
    monkeypatch.setattr(doctor, "visible_gpus", lambda: [ptx_device.without_driver()])
    monkeypatch.setattr(tools, "TOOLKIT", tmp_path)
    monkeypatch.setattr(doctor, "nvcc_path", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    told = {one.name: one for one in doctor._gpus()}
    assert told["compute-sanitizer"].found == str(tmp_path / "compute-sanitizer")
    assert told["ncu"].found == "missing (judge --profile)"
    assert can_judge(list(told.values()))


def test_an_old_c_library_is_told_to_lack_what_examples_call() -> None:
    assert vector_functions("glibc", "2.35").ok
    assert vector_functions("glibc", "2.100").ok
    for library, release in (("glibc", "2.34"), ("", "")):
        found = vector_functions(library, release)
        assert not found.ok
        assert "2.35" in found.advice
        assert can_judge([found])


def test_versions_are_held_against_their_bounds() -> None:
    found = {one.name: one for one in against(["numpy>=1", "pydantic<1", "absent-thing>=2"])}
    assert {name: one.ok for name, one in found.items()} == {
        "numpy": True,
        "pydantic": False,
        "absent-thing": False,
    }
    assert "wanted <1" in found["pydantic"].found
    assert not can_judge(list(found.values()))


def test_a_package_of_several_extras_is_named_by_the_smallest() -> None:
    lines = ["absent-a; extra == 'dev'", "absent-b; extra == 'dev'", "absent-a; extra == 'train'"]
    found = {one.name: one for one in against(lines)}
    assert found["absent-a"].found == "not installed (extra train)"
    assert found["absent-a"].advice == f"run `{install_command('train')}`"
    assert found["absent-b"].found == "not installed (extra dev)"


def test_advice_is_for_a_checkout_in_a_checkout_and_for_a_wheel_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert install_command("train") == "pip install -e '.[train]'"
    monkeypatch.chdir(tmp_path)
    assert install_command("train") == f"pip install -e '{ROOT}[train]'"
    monkeypatch.setattr(facts, "CHECKOUT", tmp_path)
    assert install_command("train") == "pip install 'kernelwright[train]'"
    assert install_command() == "pip install kernelwright"


def test_without_torch_the_judge_says_so_and_not_that_the_sandbox_is_weak() -> None:
    program = (
        "import kernelwright.envs.sandbox.toolchain as t; old = t.package_folder; "
        "t.package_folder = lambda name: None if name == 'torch' else old(name); "
        "from kernelwright.envs.sandbox.levels import require_level; require_level('namespaces')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False
    )
    last = done.stderr.splitlines()[-1]
    assert "nothing can be judged here: PyTorch" in last
    assert "pip install torch" in last


def test_an_extra_that_is_not_installed_is_no_fault() -> None:
    (found,) = against(['absent-thing>=2; extra == "train"', 'numpy; sys_platform == "none"'])
    assert (found.ok, found.judging, found.found) == (None, False, "not installed (extra train)")


def test_only_what_the_judge_needs_stops_judging() -> None:
    assert can_judge([Check(name="trl", found="0.1", ok=False)])
    assert not can_judge([Check(name="g++", found="missing", ok=False, judging=True)])


def test_a_user_without_a_home_folder_is_told_what_to_set() -> None:
    """As in a container that runs under a number: no HOME, no line in the password file."""
    program = (
        "import os, pwd\n"
        "def getpwuid(number): raise KeyError(number)\n"
        "pwd.getpwuid = getpwuid\n"
        "del os.environ['HOME']\n"
        "from kernelwright.cli import main; main()"
    )
    recipe = str(FIXTURES / "tiny.yaml")
    for words in (("train", recipe, "--dry-run"), ("doctor",)):
        done = subprocess.run(
            [sys.executable, "-c", program, *words],
            env={name: one for name, one in os.environ.items() if name != "KERNELWRIGHT_CACHE"},
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert "set HOME to a folder that can be written" in done.stderr
