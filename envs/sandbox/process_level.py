"""The weakest sandbox, for machines that allow no namespaces: processes of a user of their own.

A job is a process of a user that nobody else is, under Landlock, seccomp, rlimits and without any
capability. What bubblewrap would show at paths such as /include is copied, and linked there.

Holds: files outside the folders that are shown, other jobs' files, signals to others, sockets,
shared memory; all processes of a job end together (native/process_level.h). Does not hold: that
other processes exist can be seen, and names, sizes and times of files; a job's folder lies on a
disk that it may fill; without a control group memory is bounded for each process alone. It takes
root with CAP_SETUID, CAP_SETGID and CAP_SETPCAP, and folders that other users may enter.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kernelwright.envs.paths import PACKAGE
from kernelwright.envs.sandbox import rights
from kernelwright.envs.sandbox.precompiled import THERE
from kernelwright.envs.sandbox.rootfs import HUGE_PAGES, Inside, python, reference
from kernelwright.envs.sandbox.toolchain import (
    SandboxUnavailableError,
    code_version,
    jail_path,
    landlock_version,
)
from kernelwright.envs.types import content_hash

NOT_HELD = (
    "answers see which processes run and the names of files; they may fill the disk; "
    "nothing bounds the memory of all their processes together"
)
CHOICE, LEVEL = "KERNELWRIGHT_SANDBOX", "process"
"""The environment variable by which this level is allowed, here and to all that is started."""
BASE = Path("/var/lib/kernelwright")
SCRATCH = Path("/scratch")
OWN_FOLDER = "/proc/self/cwd"
"""Where /scratch leads: a job begins in its folder."""
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
    _own_folder(BASE / "scratch", 0o711)
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
    for folder in (BASE / "scratch").glob("*"):
        if (int(folder.name) - FIRST_USER) // USERS_OF_A_PROCESS == process_id:
            Place(uid=int(folder.name), folder=folder).remove()


def sweep() -> None:
    """Removes what processes left that are gone."""
    for folder in (BASE / "scratch").glob("*"):
        owner = (int(folder.name) - FIRST_USER) // USERS_OF_A_PROCESS
        if not Path("/proc", str(owner)).exists():
            remove_places_of(owner)


def start(inside: Inside, place: Place, control: int) -> subprocess.Popen[bytes]:
    """The zygote itself, as root: what it starts is hardened before it runs anything of an answer.

    Raises SandboxUnavailableError where this machine lacks something for that.
    """
    if lack := unavailable():
        raise SandboxUnavailableError(lack)
    for here, there in _copied(inside):
        _link(Path(there), here)
    _link(SCRATCH, Path(OWN_FOLDER))
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
    missing = sorted({"SETUID", "SETGID", "SETPCAP"} - rights.capabilities())
    if os.geteuid() != 0:
        return "level 'process' needs root, to run answers as other users"
    if missing:
        return f"level 'process' needs {', '.join(f'CAP_{one}' for one in missing)}"
    if not rights.exists(FIRST_USER + (os.getpid() + 1) * USERS_OF_A_PROCESS):
        return "level 'process' needs more users than exist here"
    if landlock_version() < 1:
        return "level 'process' needs Landlock, which this kernel does not give"
    shown = (
        Path(here) for one in (python(), reference()) for here, there in one.shown if here == there
    )
    closed = (
        folder for path in shown for folder in path.resolve().parents if not _may_enter(folder)
    )
    for folder in closed:
        return (
            f"answers run as another user, who cannot enter {folder}: `chmod o+x {folder}`, "
            "or install Python and its packages elsewhere"
        )
    return None


def rules(inside: Inside) -> list[str]:
    """What a job may open, for the jail: all of what bubblewrap would show, but what is hidden.

    Landlock knows no exceptions from a folder, so around one the others are named each. Of those
    on the way names can be read, as Python has to when it imports.
    """
    hidden = {Path(one).resolve() for one in (*inside.hidden, str(PACKAGE))}
    below = [there for here, there in inside.shown if here != there]
    roots = [one for name in ("bin", "lib", "lib64") if (one := Path("/", name)).is_dir()]
    roots = [Path("/usr"), *(one for one in roots if not one.is_symlink())]
    for folder in inside.readable:
        mapped = [one for one in below if one == folder or one.startswith(f"{folder}/")]
        # What starts afresh needs the package around our modules, too.
        mapped = ["/judge" if one.endswith("/envs") else one for one in mapped]
        roots += [Path(one) for one in (mapped or [folder])]
    if not _way_is_open(Path(THERE).resolve()):
        roots = [one for one in roots if one != Path(THERE)]  # then headers are read plainly
    allowed: dict[str, None] = {}
    listed: dict[str, None] = {}
    for root in {one.resolve() for one in roots if one.exists()}:
        parts = [str(one) for one in _around(root, hidden)]
        allowed |= dict.fromkeys(parts)
        if parts != [str(root)]:
            listed[str(root)] = None
    return [f"readable={one}" for one in allowed] + [f"listed={one}" for one in listed]


def _around(folder: Path, hidden: set[Path]) -> Iterator[Path]:
    """The folder, or all in it but what is hidden; what a link leads to is not in it."""
    if folder in hidden:
        return
    if not any(one.is_relative_to(folder) for one in hidden):
        yield folder
        return
    for one in sorted(folder.iterdir()):
        if not one.is_symlink():
            yield from _around(one, hidden)


def _way_is_open(path: Path) -> bool:
    return all(map(_may_enter, path.parents))


def _may_enter(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)


def _copied(inside: Inside) -> Iterator[tuple[Path, str]]:
    """(what is to be at a path of the root, that path), for what is shown elsewhere than it is.

    This project's modules are copied whole, into a package: one that is installed besides would be
    imported instead of one without `__init__.py`.
    """
    for here, there in inside.shown:
        if here == there:
            continue
        if there.startswith("/judge/"):
            yield _copy(PACKAGE / "envs", "judge/kernelwright/envs"), "/judge"
        elif there == THERE:
            yield Path(here), there
        else:
            yield _copy(Path(here), "it"), there


def _copy(source: Path, name: str) -> Path:
    """The first folder or file of `name` in a folder that has a copy, made once for a version."""
    _own_folder(BASE / "shown", 0o755)
    version = content_hash(str(source), name, code_version())
    kept = BASE / "shown" / version
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
            made = Path(scratch, "made")
            target = made / name
            target.parent.mkdir(parents=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copyfile(source, target)
            if len(target.relative_to(made).parts) > 1:
                (target.parent / "__init__.py").touch()
            for one in (made, *made.rglob("*")):
                one.chmod(0o755)
            with suppress(OSError):  # another process was first
                made.rename(kept)
    return kept / Path(name).parts[0]


def _link(path: Path, target: Path) -> None:
    """A link of ours at this path.

    Raises SandboxUnavailableError where something else is there, or the root cannot be written.
    """
    with suppress(OSError):
        if os.readlink(path) == str(target):
            return
    if os.path.lexists(path) and not _is_ours(path):
        raise SandboxUnavailableError(f"level 'process' needs {path}, where something else is")
    try:
        made = path.with_name(f".{path.name}-{os.getpid()}")
        made.symlink_to(target)
        made.replace(path)
    except OSError as error:
        raise SandboxUnavailableError(
            f"level 'process' needs a link at {path}: {error.strerror}"
        ) from None


def _is_ours(path: Path) -> bool:
    if not path.is_symlink():
        return False
    target = Path(os.readlink(path))
    return str(target) == OWN_FOLDER or BASE in target.parents or target.name == Path(THERE).name


def _own_folder(path: Path, mode: int) -> None:
    """A folder that root alone may write to."""
    path.mkdir(parents=True, exist_ok=True)
    for one in (BASE, path):
        if one.stat().st_uid != 0 or one.is_symlink():
            raise SandboxUnavailableError(f"{one} is not root's")
        one.chmod(mode if one == path else 0o755)


def _lives(uid: int) -> bool:
    """Whether a process of this user has not ended."""
    for path in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            text = path.read_text()
            if f"\nUid:\t{uid}\t" in text and "\nState:\tZ" not in text:
                return True
    return False
