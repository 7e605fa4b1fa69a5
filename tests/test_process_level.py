"""The sandbox without namespaces: never unless allowed, and what it then holds really is held.

In a container like Docker's: an overlay for a root, its capabilities, and a filter as its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.gallery.exhibits import FOLDER
from kernelwright.envs.sandbox import process_files
from kernelwright.envs.sandbox.process_level import CHOICE, LEVEL, NOT_HELD
from kernelwright.envs.sandbox.rootfs import Inside

ROOT = Path(__file__).parents[1]
CONTAINER = [sys.executable, str(ROOT / "tests" / "container.py")]
DOCKERS = "chown dac_override fowner fsetid kill setgid setuid setpcap net_raw sys_chroot setfcap"
RIGHTS = ["setpriv", "--bounding-set=-all,+" + DOCKERS.replace(" ", ",+")]
HONEST = FOLDER / "exploits" / "honest.cpp"
PROBLEM = FOLDER / "exploits" / "problem.py"
REQUIRE = "from kernelwright.envs.sandbox.levels import require_level; print(require_level('{}'))"

GALLERY = """
import json
from kernelwright.data.gallery.exhibits import exploits, judge_exhibits
from kernelwright.envs.judge import Judge
chosen = [
    one for one in exploits()
    if one.family in (
        "escaping", "forging", "stealing", "leaving_marks", "loading_libraries"
    ) and one.candidate.dialect == "cpp"
]
with Judge(minimum_sandbox="process") as judge:
    found = judge_exhibits(judge, chosen).findings
print(json.dumps({
    one.exhibit.name: [
        [one.evaluation.verdict, one.evaluation.reason], [one.exhibit.verdict, one.exhibit.reason]
    ]
    for one in found
}))
"""


@lru_cache
def has_overlays() -> bool:
    folder = Path("/tmp", f"kernelwright-overlay-{os.getpid()}")
    folder.mkdir()
    words = [*CONTAINER, f"root={folder}", "true"]
    works = subprocess.run(words, capture_output=True, check=False).returncode == 0
    folder.rmdir()
    return works


contained = [
    pytest.mark.sandbox,
    pytest.mark.skipif(
        os.geteuid() != 0 or not has_overlays(), reason="only root makes itself a container"
    ),
]


def run(
    tmp_path: Path, *words: str, first: str = ":", allowed: bool = True
) -> subprocess.CompletedProcess[str]:
    """Python with these words in a container of its own, once a shell there has run `first`."""
    inside = [*CONTAINER, "seccomp=namespaces", *RIGHTS, sys.executable, *words]
    others = {name: one for name, one in os.environ.items() if name != CHOICE}
    script = f'{first}; exec "$@"'
    return subprocess.run(
        [*CONTAINER, f"root={tmp_path}", "sh", "-c", script, "sh", *inside],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**others, **({CHOICE: LEVEL} if allowed else {})},
        check=False,
    )


def refusal(tmp_path: Path, minimum: str, first: str = ":") -> str:
    done = run(tmp_path, "-c", REQUIRE.format(minimum), first=first, allowed=False)
    assert done.returncode == 1, done.stdout
    return done.stderr.splitlines()[-1]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    done = run(tmp_path_factory.mktemp("root"), "tests/process_level_jobs.py")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class TestContained:
    pytestmark = contained

    def test_without_namespaces_nothing_runs_until_that_is_allowed(self, tmp_path: Path) -> None:
        said = refusal(tmp_path, "namespaces")
        assert "the kernel refuses a user namespace" in said
        assert "judge.minimum_sandbox=process in a recipe" in said
        assert NOT_HELD in said
        program = "import os; print(os.path.lexists('/scratch'))"
        script = f"import subprocess, sys\n{program}\n"
        doctor = (
            f"{script}subprocess.run([sys.executable, '-m', 'kernelwright', 'doctor'])\n{program}"
        )
        done = run(tmp_path, "-c", doctor, allowed=False)
        lines = done.stdout.splitlines()
        assert (lines[0], lines[-1]) == ("False", "False")

    def test_a_recipe_that_allows_it_gets_it_and_so_do_its_workers(self, tmp_path: Path) -> None:
        program = REQUIRE.format("process") + f"; import os; print(os.environ['{CHOICE}'])"
        done = run(tmp_path, "-c", program, allowed=False)
        assert done.stdout.split() == [LEVEL, LEVEL], done.stderr

    @pytest.mark.slow
    def test_it_judges(self, tmp_path: Path) -> None:
        wrong = ROOT / f".wrong-{os.getpid()}.cpp"
        wrong.write_text(HONEST.read_text().replace("s += ", "s -= "))
        found = []
        for number, answer in enumerate((HONEST, wrong)):
            (tmp_path / str(number)).mkdir()
            words = ["-m", "kernelwright", "judge", str(PROBLEM), str(answer), "--json"]
            done = run(tmp_path / str(number), *words)
            found.append(json.loads(done.stdout))
        wrong.unlink()
        assert [one["verdict"] for one in found] == ["correct", "wrong"]
        assert {one["sandbox_level"] for one in found} == {"process"}

    @pytest.mark.slow
    def test_no_exploit_gets_more_than_in_the_other_sandboxes(self, tmp_path: Path) -> None:
        done = run(tmp_path, "-c", GALLERY, allowed=False)
        found = json.loads(done.stdout)
        other = {name: got for name, (got, due) in found.items() if got != due}
        assert (len(found) > 20, other) == (True, {})

    def test_doctor_says_what_it_does_not_hold(self, tmp_path: Path) -> None:
        done = run(tmp_path, "-m", "kernelwright", "doctor", "--json")
        (line,) = (one for one in json.loads(done.stdout) if one["name"] == "sandbox")
        assert (line["found"], line["ok"]) == (f"process: {NOT_HELD}", True)

    @pytest.mark.parametrize(
        "what",
        [
            *("read", "list", "list all", "write", "memory"),
            *("/etc/passwd", "/proc/self/environ", "/tmp", "/dev/shm"),
        ],
    )
    def test_a_job_reaches_no_file_but_its_own(self, told: dict[str, Any], what: str) -> None:
        assert told["neighbours"][what].endswith("ermission denied")
        assert told["neighbours"]["still there"] == "secret"

    @pytest.mark.parametrize("whom", ["signal", "signal the zygote", "signal the judge"])
    def test_a_job_signals_no_other(self, told: dict[str, Any], whom: str) -> None:
        assert told["neighbours"][whom].endswith("Operation not permitted")
        assert told["neighbours"]["still there"] == "secret"

    def test_a_job_that_kills_all_kills_itself(self, told: dict[str, Any]) -> None:
        assert told["neighbours"]["signal all"] == "137"
        assert told["neighbours"]["still there"] == "secret"

    def test_a_job_has_a_user_and_a_folder_of_its_own(self, told: dict[str, Any]) -> None:
        uid = told["neighbours"]["user"]
        folder = process_files.BASE / "scratch" / uid
        assert told["neighbours"]["own"].split() == ["0", "x", str(folder), uid]

    @pytest.mark.parametrize("what", ["daemon", "runaway", "deep", "closed"])
    def test_a_job_leaves_neither_processes_nor_files(
        self, told: dict[str, Any], what: str
    ) -> None:
        assert told["leavings"][what] == "False []"

    def test_what_a_job_did_to_its_folder_neither_keeps_out_nor_reaches_the_next(
        self, told: dict[str, Any]
    ) -> None:
        assert told["leavings"]["marks"].split() == ["0", "700", "x"]

    def test_a_job_with_so_many_files_that_removing_them_takes_long_is_no_loss_of_the_sandbox(
        self, told: dict[str, Any]
    ) -> None:
        assert told["leavings"]["many"] == "0 []"

    def test_nothing_is_left_of_a_sandbox_that_was_closed(self, told: dict[str, Any]) -> None:
        assert told["left"] == []

    def test_nothing_is_left_of_a_judge_that_was_killed(self, told: dict[str, Any]) -> None:
        lived, lives, has_folder = told["killed"].split()
        assert (lived, lives, has_folder) == ("True", "False", "False")

    def test_what_bubblewrap_would_hide_cannot_be_read(self, told: dict[str, Any]) -> None:
        said = told["hidden"]
        assert said["open/text"] == "0 open"
        assert said["ours/text"].endswith("Permission denied")
        assert said["link/passwd"].endswith("Permission denied")

    def test_a_path_that_is_taken_is_said(self, tmp_path: Path) -> None:
        said = refusal(tmp_path, "process", first="mkdir /include")
        assert "level 'process' needs /include, where something else is" in said

    def test_a_closed_folder_above_python_is_said(self, tmp_path: Path) -> None:
        folder = next(one for one in Path(sys.prefix).resolve().parents)
        said = refusal(tmp_path, "process", first=f"chmod 700 {folder}")
        assert f"cannot enter {folder}: `chmod o+x {folder}`" in said


def test_around_a_hidden_folder_the_others_are_named_each(tmp_path: Path) -> None:
    for name in ("packages/ours/deep", "packages/other", "bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "packages" / "link").symlink_to("/etc")
    inside = Inside(
        command=("/jail",),
        shown=((str(tmp_path), str(tmp_path)),),
        readable=(str(tmp_path),),
        hidden=(str(tmp_path / "packages" / "ours"),),
    )
    words = [one for one in process_files.rules(inside) if str(tmp_path) in one]
    assert sorted(words) == [
        f"listed={tmp_path}",
        f"readable={tmp_path}/bin",
        f"readable={tmp_path}/packages/other",
    ]
