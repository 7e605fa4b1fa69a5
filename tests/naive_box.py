"""The box around the naive harness: what succeeds against the harness stays in here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernelwright.data.gallery.exhibits import FOLDER
from kernelwright.envs.sandbox.cgroup import Cgroup
from kernelwright.envs.sandbox.rights import FIRST_UID
from kernelwright.envs.sandbox.toolchain import NATIVE, bwrap_path, device_header, nvcc_path
from kernelwright.envs.system.architectures import EMULATED, properties

DEVICE = "/device.h"
"""Where tests/naive.py looks for the numbers of the device that there is not."""
GALLERY, HARNESS = FOLDER, Path(__file__).with_name("naive.py")
SECRET_FILE = "root:planted-secret-5f1e:19000:0:99999:7:::\n"
SCRATCH_BYTES = 256 << 20
WALL_S = 1800


def controls(jobs: Sequence[tuple[Path, Path, Path | None]]) -> dict[Path, Mapping[str, object]]:
    """For each (candidate, problem, honest kernel of it) what the naive harness came to.

    `seen` are the outcomes; `printed` is the end of what the harness said.
    """
    lines = "".join(f"{one}\t{problem}\t{fair or ''}\n" for one, problem, fair in jobs)
    cgroup = Cgroup()
    with tempfile.TemporaryFile("w+") as secret:
        secret.write(SECRET_FILE)
        secret.flush()
        os.lseek(secret.fileno(), 0, os.SEEK_SET)
        with subprocess.Popen(
            [bwrap_path(), *_walls(secret.fileno()), sys.executable, "-I", str(HARNESS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[secret.fileno()],
            text=True,
        ) as box:
            try:
                cgroup.take(box.pid)
                output, _ = box.communicate(lines, timeout=WALL_S)
            finally:
                box.kill()
    cgroup.close()
    rows = [json.loads(line) for line in output.splitlines()]
    return {Path(row["candidate"]): row for row in rows}


def _walls(secret: int) -> list[str]:
    root = os.geteuid() == 0
    unshare = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    rights = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    links = [
        word
        for name in ("bin", "lib", "lib64")
        if Path("/", name).is_symlink()
        for word in ("--symlink", f"usr/{name}", f"/{name}")
    ]
    return [
        *([*unshare, *rights] if root else ["--unshare-user", "--unshare-all"]),
        *("--as-pid-1", "--die-with-parent", "--new-session", "--clearenv"),
        *("--setenv", "PATH", _path(), "--setenv", "HOME", "/tmp"),
        *("--setenv", "TORCH_EXTENSIONS_DIR", "/tmp/extensions"),
        *("--setenv", "TRITON_INTERPRET", "1"),
        *("--setenv", "BOX_UID", str(FIRST_UID + threading.get_native_id())),
        *("--ro-bind", "/usr", "/usr", *links, "--proc", "/proc", "--dev", "/dev"),
        *("--perms", "0755", "--dir", "/etc"),
        *("--ro-bind-try", "/etc/alternatives", "/etc/alternatives"),
        *("--perms", "0644", "--file", str(secret), "/etc/shadow"),
        *("--perms", "1777", "--size", str(SCRATCH_BYTES), "--tmpfs", "/tmp"),
        *("--perms", "1777", "--dir", "/harness"),
        *("--ro-bind", str(device_header(properties(EMULATED))), DEVICE),
        *(word for folder in _folders() for word in _visible(folder)),
        "--",
    ]


def _path() -> str:
    compiler = nvcc_path()
    return ":".join(["/usr/bin", "/bin", *([str(Path(compiler).parent)] if compiler else [])])


def _folders() -> list[Path]:
    """What the harness reads: Python with its packages, the cases, and a CUDA runtime's source."""
    wanted = [Path(sys.base_prefix), Path(sys.prefix), GALLERY, HARNESS.parent, NATIVE.resolve()]
    return [one for one in dict.fromkeys(wanted) if not one.is_relative_to("/usr")]


def _visible(folder: Path) -> list[str]:
    """Bound at its own path, below folders that everybody may pass through."""
    above = [one for one in reversed(folder.parents) if one != Path("/")]
    made = [word for one in above for word in ("--perms", "0755", "--dir", str(one))]
    return [*made, "--ro-bind", str(folder), str(folder)]
