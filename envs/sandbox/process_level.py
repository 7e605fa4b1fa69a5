"""The weakest sandbox, for machines that allow no namespaces: processes of a user of their own.

A job is a process of a user that nobody else is, under Landlock, seccomp, rlimits and without any
capability. What bubblewrap would show at paths such as /include is copied, and linked there.

Holds: files outside the folders that are shown, other jobs' files, signals to others, sockets,
shared memory; all processes of a job end together (native/process_level.h). Does not hold: that
other processes exist can be seen, and names, sizes and times of files; a job's folder lies on a
disk that it may fill; without a control group memory is bounded for each process alone. It takes
root with the capabilities that Docker gives, and folders that other users may enter.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kernelwright.envs.sandbox import rights
from kernelwright.envs.sandbox.process_files import (
    BASE,
    SCRATCH,
    closed_folder,
    own_folder,
    prepare,
)
from kernelwright.envs.sandbox.rootfs import HUGE_PAGES, Inside, python, reference
from kernelwright.envs.sandbox.toolchain import (
    SandboxUnavailableError,
    jail_path,
    landlock_version,
)

NOT_HELD = (
    "answers see which processes run and the names of files; they may fill the disk; "
    "nothing bounds the memory of all their processes together"
)
CHOICE, LEVEL = "KERNELWRIGHT_SANDBOX", "process"
"""The environment variable by which this level is allowed, here and to all that is started."""
FIRST_USER, USERS_OF_A_PROCESS = 1 << 24, 64
"""A process's sandboxes have two users each: one for jobs, one that ends them."""
END_LIMIT_S = 20.0


def is_chosen() -> bool:
    """Whether sandboxes of this process are of this level."""
    return os.environ.get(CHOICE) == LEVEL


def choose() -> None:
    """From now on they are, here and in all processes that are started."""
    os.environ[CHOICE] = LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A sandbox's own users and folder."""

    uid: int
    folder: Path

    def words(self) -> list[str]:
        """For the jail (native/zygote.h)."""
        return [f"uid={self.uid}", f"folder={self.folder}", f"killer={self.uid + 1}"]

    def end(self) -> None:
        """Ends all of its processes and waits until they are gone; the folder is then empty."""
        words = [str(jail_path()), "end", str(self.uid), str(self.uid + 1), str(self.folder)]
        deadline = time.monotonic() + END_LIMIT_S
        subprocess.run(words, check=False)
        while _lives(self.uid) and time.monotonic() < deadline:
            time.sleep(0.01)
            subprocess.run(words, check=False)

    def remove(self) -> None:
        """Gives its users back, for another sandbox of this process."""
        self.end()
        with suppress(OSError):
            self.folder.rmdir()


def take_place() -> Place:
    """One that no other sandbox has: who makes its folder has it."""
    own_folder(BASE / "scratch", 0o711)
    first = FIRST_USER + os.getpid() * USERS_OF_A_PROCESS
    for uid in range(first, first + USERS_OF_A_PROCESS, 2):
        folder = BASE / "scratch" / str(uid)
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        os.chown(folder, uid, uid)
        return Place(uid=uid, folder=folder)
    raise SandboxUnavailableError(f"this process has {USERS_OF_A_PROCESS // 2} sandboxes already")


def remove_places_of(process_id: int) -> None:
    """Ends and removes what a process that was killed could not."""
    for folder in (BASE / "scratch").glob("[0-9]*"):
        if (int(folder.name) - FIRST_USER) // USERS_OF_A_PROCESS == process_id:
            Place(uid=int(folder.name), folder=folder).remove()


def sweep() -> None:
    """Removes what processes left that are gone."""
    for folder in (BASE / "scratch").glob("[0-9]*"):
        owner = (int(folder.name) - FIRST_USER) // USERS_OF_A_PROCESS
        if not Path("/proc", str(owner)).exists():
            remove_places_of(owner)


def start(inside: Inside, place: Place, control: int) -> subprocess.Popen[bytes]:
    """The zygote itself, as root: what it starts is hardened before it runs anything of an answer.

    Raises SandboxUnavailableError where this machine lacks something for that.
    """
    if lack := unavailable():
        raise SandboxUnavailableError(lack)
    prepare(inside)
    return subprocess.Popen(
        [*inside.command, str(control)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[control],
        cwd=place.folder,
        start_new_session=True,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(SCRATCH), **_environment(inside)},
    )


def _environment(inside: Inside) -> dict[str, str]:
    """That of a sandbox with namespaces. There what is not shown the files about huge pages has a
    heap of small ones, whatever it is told; here all zygotes see them."""
    shows_pages = any(Path(there).is_relative_to(HUGE_PAGES) for _, there in inside.shown)
    kept = dict(inside.environment)
    if "GLIBC_TUNABLES" in kept and not shows_pages:
        kept["GLIBC_TUNABLES"] = kept["GLIBC_TUNABLES"].replace("hugetlb=1", "hugetlb=0")
    return kept


def unavailable() -> str | None:
    """Why this level is not to be had here, as far as nothing has to be made for that."""
    missing = sorted({*rights.OF_ROOT, "CHOWN", "DAC_OVERRIDE"} - rights.capabilities())
    if os.geteuid() != 0:
        return "level 'process' needs root, to run answers as other users"
    if missing:
        return f"level 'process' needs {', '.join(f'CAP_{one}' for one in missing)}"
    if not rights.exists(FIRST_USER + (os.getpid() + 1) * USERS_OF_A_PROCESS):
        return "level 'process' needs more users than exist here"
    if landlock_version() < 1:
        return "level 'process' needs Landlock, which this kernel does not give"
    for inside in (python(), reference()):
        if folder := closed_folder(inside):
            return (
                f"answers run as another user, who cannot enter {folder}: `chmod o+x {folder}`, "
                "or install Python and its packages elsewhere"
            )
    return None


def _lives(uid: int) -> bool:
    """Whether a process of this user has not ended."""
    for path in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            text = path.read_text()
            if f"\nUid:\t{uid}\t" in text and "\nState:\tZ" not in text:
                return True
    return False
