"""Judging where packages lie outside the interpreter's own folder: an environment laid over another
by a .pth file, and a folder that PYTHONPATH names."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from kernelwright.envs.sandbox import rootfs
from kernelwright.envs.system.paths import PACKAGE, SEARCHED, own_environment

pytestmark = pytest.mark.sandbox

DIALECTS = Path(__file__).parents[1] / "data" / "answers" / "dialects"
JUDGED = """
import sys
from pathlib import Path
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Candidate

folder = Path(sys.argv[1])
problem = load_problem(folder / "problem.py")
source = (folder / "inline.py").read_text()
candidate = Candidate(problem_key=problem.key, dialect="inline", source=source)
with Judge(1) as judge:
    found = judge.evaluate(problem, candidate, timed=False)
print(found.verdict, found.reason)
"""


EXAMINED = "from kernelwright.machine.doctor import _python_answers; print(_python_answers())"


@pytest.mark.parametrize("how", ["pth", "PYTHONPATH"])
@pytest.mark.slow
def test_packages_may_lie_beside_the_interpreter(tmp_path: Path, how: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True
    )
    packages = sysconfig.get_path("purelib")
    path = [str(SEARCHED)]
    if how == "pth":
        own = next((tmp_path / "env" / "lib").glob("python*")) / "site-packages"
        (own / "layer.pth").write_text(f"{packages}\n")
    else:
        path.append(packages)

    def said(program: str) -> str:
        done = subprocess.run(
            [str(tmp_path / "env" / "bin" / "python"), "-c", program, str(DIALECTS)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert said(JUDGED).split() == ["correct", "ok"]
    assert "found inside', ok=True" in said(EXAMINED)


def test_a_process_of_ours_finds_us_first_and_what_was_found_before_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", str(tmp_path), str(SEARCHED), ""]))
    given = own_environment(NAME="value")
    assert given["PYTHONPATH"].split(os.pathsep) == [str(SEARCHED), str(tmp_path)]
    assert given["NAME"] == "value"


def test_an_answer_sees_folders_of_packages_and_no_folder_of_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed, sources = tmp_path / "installed", tmp_path / "sources"
    (installed / "thing-1.0.dist-info").mkdir(parents=True)
    sources.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(sources), str(installed)]))
    for made in (rootfs.python, rootfs.beside_torch, rootfs.reference):
        shown = {here for here, _ in made.__wrapped__().shown}
        assert str(installed) in shown
        assert str(sources) not in shown


def test_an_answer_sees_what_is_installed_beside_us_and_nothing_of_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `pip install --target` puts it; a checkout's folder is one of sources."""
    (tmp_path / "thing-1.0.dist-info").mkdir()
    (tmp_path / PACKAGE.name).mkdir()
    monkeypatch.setattr(rootfs, "SEARCHED", tmp_path)
    for made in (rootfs.python, rootfs.beside_torch, rootfs.reference):
        inside = made.__wrapped__()
        assert str(tmp_path) in {here for here, _ in inside.shown}
        assert str(tmp_path / PACKAGE.name) in inside.hidden
    monkeypatch.setattr(rootfs, "SEARCHED", Path(sysconfig.get_path("purelib")))
    assert rootfs._beside() == []
