"""Files of jobs at level `process`: links and copies at the paths that bubblewrap would bind, and
Landlock rules against all others.

Holds: what bubblewrap would hide cannot be opened, what a link leads to only where that may be
opened itself, and nothing can be written. Does not hold: names in folders with something hidden
can be listed; one version of this package at a time has the links.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kernelwright.envs.sandbox.precompiled import THERE
from kernelwright.envs.sandbox.rootfs import Inside
from kernelwright.envs.sandbox.toolchain import SandboxUnavailableError, code_version
from kernelwright.envs.system.paths import PACKAGE
from kernelwright.envs.types import content_hash

BASE = Path("/var/lib/kernelwright")
SCRATCH = Path("/scratch")
OWN_FOLDER = "/proc/self/cwd"
"""Where /scratch leads: a job begins in its folder."""


def prepare(inside: Inside) -> None:
    """Makes the links and copies that `inside` needs.

    Raises SandboxUnavailableError where something else is there, or the root cannot be written.
    """
    for here, there in _copied(inside):
        _link(Path(there), here)
    _link(SCRATCH, Path(OWN_FOLDER))


def rules(inside: Inside) -> list[str]:
    """What a job may open, for the jail: all of what bubblewrap would show, but what is hidden.

    Landlock knows no exceptions from a folder, so around one the others are named each. Of those
    on the way names can be read, as Python has to when it imports.
    """
    hidden = {Path(one).resolve() for one in (*inside.hidden, str(PACKAGE))}
    below = [there for here, there in inside.shown if here != there]
    roots = [one for name in ("bin", "lib", "lib64") if (one := Path("/", name)).is_dir()]
    roots = [Path("/usr"), *(one for one in roots if not one.is_symlink())]
    if not inside.with_system:
        roots = []
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
    own_folder(BASE / "shown", 0o755)
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


def closed_folder(inside: Inside) -> Path | None:
    """A folder that another user cannot enter, of those that are shown where they are and of those
    on the way."""
    shown = (Path(here).resolve() for here, there in inside.shown if here == there)
    passed = (folder for path in shown for folder in (path, *path.parents) if folder.is_dir())
    return next((folder for folder in passed if not _may_enter(folder)), None)


def own_folder(path: Path, mode: int) -> None:
    """A folder that root alone may write to."""
    path.mkdir(parents=True, exist_ok=True)
    for one in (BASE, path):
        if one.stat().st_uid != 0 or one.is_symlink():
            raise SandboxUnavailableError(f"{one} is not root's")
        one.chmod(mode if one == path else 0o755)
