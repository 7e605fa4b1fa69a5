"""Paths of the package and its cache, and writes of files that a kill leaves whole."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

PACKAGE = Path(__file__).absolute().parents[2]
"""The package `kernelwright`. Not resolved: its folders may be links to those of a repository."""
SEARCHED = PACKAGE.parent
"""What goes on PYTHONPATH, so that processes of ours find us first wherever they start."""


def own_environment(**changes: str) -> dict[str, str]:
    """This process's environment with these changes, for a Python process of ours.

    Its PYTHONPATH names us first and keeps what it named before: packages may lie only there.
    """
    path = os.pathsep.join([str(SEARCHED), *python_path()])
    return {**os.environ, **changes, "PYTHONPATH": path}


def python_path() -> list[str]:
    """The folders that PYTHONPATH names besides our own. An empty entry would be the folder that
    a process starts in, and is left out."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [one for one in named if one and one != str(SEARCHED)]


def cache_folder() -> Path:
    """Where built helpers and converted models are kept; `KERNELWRIGHT_CACHE` moves it."""
    root = os.environ.get("KERNELWRIGHT_CACHE") or Path.home() / ".cache" / "kernelwright"
    return Path(root)


def in_utf8(text: str) -> str:
    r"""A text as files have it, and as a kernel is built: lone surrogates as question marks.

    >>> in_utf8("// \ud800")
    '// ?'
    """
    return text.encode(errors="replace").decode()


def write_whole(path: Path, content: bytes | str) -> None:
    """Writes a file whole or not at all, whoever reads or writes it meanwhile; makes its folder.

    Text is written as UTF-8, lone surrogates as question marks. After a failure (a full disk) the
    file is what it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open("xb") as file:
            file.write(content.encode(errors="replace") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def no_pipe(path: Path) -> Path:
    """The path of a file that is read. Raises OSError for a pipe: one would wait for its writer."""
    if path.is_fifo():
        raise OSError(errno.EINVAL, "a pipe, expects a file", str(path))
    return path


def append_whole(path: Path, lines: str) -> None:
    """Adds whole lines with one system call, and has them on disk before it returns: several
    processes may write, and a kill loses at most a line."""
    data = lines.encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def cut_unfinished(path: Path) -> int:
    """Removes what a kill left of a last line, before others append to it; gives its bytes.

    One process only.
    """
    if not path.exists():
        return 0
    with path.open("rb+") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)
    return len(content) - whole


def prune(folder: Path, most_bytes: int) -> None:
    """Removes the least recently used entries of a folder until at most `most_bytes` are left."""
    known = []
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # another judge prunes, too
            found = path.stat()
            if stat.S_ISREG(found.st_mode):
                known.append((found.st_mtime_ns, found.st_size, path))
    total = sum(size for _, size, _ in known)
    for _, size, path in sorted(known):
        if total <= most_bytes:
            break
        path.unlink(missing_ok=True)
        total -= size
