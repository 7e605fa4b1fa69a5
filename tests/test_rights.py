"""What root may do in a container decides how a sandbox is made, not that it is called root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.data.gallery.exhibits import FOLDER

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up what root has"),
]

ROOT = Path(__file__).parents[1]
CONTAINER = [sys.executable, str(ROOT / "tests" / "container.py")]
WITHOUT_ADMIN = ["setpriv", "--bounding-set=-sys_admin"]
LEVEL = "from kernelwright.envs.sandbox.levels import sandbox_level; print(sandbox_level())"
PROBLEM = FOLDER / "exploits" / "problem.py"
HONEST = FOLDER / "exploits" / "honest.cpp"
USERS = """
import sys, tempfile
from kernelwright.envs.sandbox.limits import BUILD_LIMITS
from kernelwright.envs.sandbox.rights import job_uid
from kernelwright.envs.sandbox.rootfs import native
from kernelwright.envs.sandbox.zygote import Zygote
zygote = Zygote(native())
with tempfile.TemporaryFile() as log:
    words = ["/bin/sh", "-c", sys.argv[1]]
    job = zygote.start("exec", BUILD_LIMITS, log=log.fileno(), channel=log.fileno(), command=words)
    status = job.wait(20)
    log.seek(0)
    print(status, job_uid(), log.read().decode())
zygote.close()
"""


def run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.strip()


def verdict(around: list[str], answer: Path) -> dict[str, str]:
    judge = [sys.executable, "-m", "kernelwright", "judge", str(PROBLEM), str(answer), "--json"]
    told: dict[str, str] = json.loads(run(*around, *judge))
    return told


@pytest.mark.slow
def test_root_without_sys_admin_judges(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.cpp"
    wrong.write_text(HONEST.read_text().replace("s += ", "s -= "))
    assert wrong.read_text() != HONEST.read_text()
    right, other = (verdict(WITHOUT_ADMIN, one) for one in (HONEST, wrong))
    assert (right["verdict"], other["verdict"]) == ("correct", "wrong")
    assert right["sandbox_level"] in ("namespaces", "landlock", "cgroup")


@pytest.mark.parametrize("around", [[], WITHOUT_ADMIN], ids=["root", "without sys_admin"])
def test_roots_jobs_run_as_a_user_of_their_own(around: list[str]) -> None:
    status, uid, seen = run(*around, sys.executable, "-c", USERS, "id -u; id -g; id -G").split(" ")
    assert (status, int(uid) > 0, seen.split()) == ("0", True, [uid] * 3)


def test_roots_jobs_are_counted_without_sys_admin_too() -> None:
    """The kernel counts no process of the machine's root: as root a job could start any number."""
    program = "for i in $(seq 200); do sleep 5 & done; echo all"
    said = run(*WITHOUT_ADMIN, sys.executable, "-c", USERS, program)
    assert "all" not in said.split()


def test_root_that_may_become_no_other_user_starts_no_job() -> None:
    for around in (["setpriv", "--bounding-set=-all"], [*CONTAINER, "users=1"]):
        assert run(*around, sys.executable, "-c", LEVEL) == "none"


def test_root_of_a_container_with_few_users_takes_one_of_these() -> None:
    words = [*CONTAINER, "users=65536", sys.executable, "-c", USERS, "id -u"]
    status, uid, seen = run(*words).split(" ")
    assert (status, seen) == ("0", uid)
    assert 32_768 <= int(uid) < 65_536
