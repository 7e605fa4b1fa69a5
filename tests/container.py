"""Starts a program as containers would: what a kernel refuses there, it refuses here.

python tests/container.py WORD… COMMAND…

users=65536          as root of a user namespace with so many users
seccomp=namespaces   under a filter that refuses new namespaces and mounts, as Docker's does
seccomp=mount        under one that refuses mounts alone
root=FOLDER          in a root of its own: all is as it was, what is written is written to FOLDER
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_MOUNTS, PRIVATE, BIND = 0x20000, 0x44000, 0x5000
NEW_USER, NEW_NAMESPACES = 0x10000000, 0x7E020080
SECCOMP, FILTER = 22, 2
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
LOAD, EQUAL, ANY, RETURN = 0x20, 0x15, 0x45, 0x06
X86 = {"clone": 56, "clone3": 435, "mount": 165, "pivot_root": 155, "unshare": 272, "setns": 308}
ARM = {"clone": 220, "clone3": 435, "mount": 40, "pivot_root": 41, "unshare": 97, "setns": 268}
NUMBERS = X86 if platform.machine() == "x86_64" else ARM


def refuse(names: list[str]) -> None:
    """A filter like Docker's: clone3 is unknown, clone may make no namespaces, the named fail."""
    code = [(LOAD, 0, 0, 0)]
    for name in names:
        code += [(EQUAL, 0, 1, NUMBERS[name]), (RETURN, 0, 0, REFUSE | errno.EPERM)]
    if "unshare" in names:
        code += [(EQUAL, 0, 1, NUMBERS["clone3"]), (RETURN, 0, 0, REFUSE | errno.ENOSYS)]
        code += [(EQUAL, 0, 3, NUMBERS["clone"]), (LOAD, 0, 0, 16), (ANY, 0, 1, NEW_NAMESPACES)]
        code += [(RETURN, 0, 0, REFUSE | errno.EPERM)]
    code += [(RETURN, 0, 0, ALLOW)]
    words = b"".join(struct.pack("=HBBI", *one) for one in code)
    kept = ctypes.create_string_buffer(words)
    program = struct.pack("@HP", len(code), ctypes.addressof(kept))
    if LIBC.prctl(SECCOMP, FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def enter_users(count: int) -> None:
    """This process becomes root of a namespace whose users are ours from 300,000 on, but root."""
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child:
        os.read(ready[0], 1)
        rest = f"1 300001 {count - 1}\n" if count > 1 else ""
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{child}/{name}").write_text(f"0 0 1\n{rest}")
        os.write(go[1], b"x")
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if LIBC.unshare(NEW_USER):
        raise OSError(ctypes.get_errno(), "unshare")
    os.write(ready[1], b"x")
    os.read(go[0], 1)


def enter_root(folder: str) -> None:
    """An overlay of all that is here, in which everybody may enter root's home."""
    here = Path(folder)
    if LIBC.unshare(NEW_MOUNTS) or LIBC.mount(None, b"/", None, PRIVATE, None):
        raise OSError(ctypes.get_errno(), "unshare")
    mount("tmpfs", here, "tmpfs", 0, "mode=0755")
    for name in ("upper", "work", "all"):
        (here / name).mkdir()
    layers = f"lowerdir=/,upperdir={here}/upper,workdir={here}/work"
    mount("overlay", here / "all", "overlay", 0, layers)
    for name in ("proc", "sys", "dev"):
        mount(f"/{name}", here / "all" / name, "", BIND, "")
    cwd = Path.cwd()
    os.chroot(here / "all")
    os.chdir(cwd)
    Path("/root").chmod(0o755)


def mount(source: str, target: Path, kind: str, flags: int, options: str) -> None:
    words = [one.encode() for one in (source, str(target), kind, options)]
    if LIBC.mount(words[0], words[1], words[2], flags, words[3]):
        raise OSError(ctypes.get_errno(), f"mount {target}")


def main(words: list[str]) -> None:
    while words[0].partition("=")[0] in ("users", "seccomp", "root"):
        name, _, value = words.pop(0).partition("=")
        if name == "users":
            enter_users(int(value))
        elif name == "root":
            enter_root(value)
        elif value == "mount":
            refuse(["mount", "pivot_root"])
        else:
            refuse(["unshare", "setns", "mount", "pivot_root"])
    os.execvp(words[0], words)


if __name__ == "__main__":
    main(sys.argv[1:])
