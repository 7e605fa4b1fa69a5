"""The root file system of the sandbox, almost empty, and the program that starts jobs in it.

Every folder is read-only. A job's own /scratch is mounted later, by the jail (native/harden.h).

Holds: no home, nothing of this project but what runs inside, nothing of /etc but the loader's,
nothing of /proc but the processor's description, no devices but bubblewrap's own few; nothing of
the host is writable. Does not hold: what is shown can be read, so nothing secret may lie in the
folders of the interpreter, torch and the compilers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kernelwright.envs.sandbox.precompiled import THERE, precompiled_folder
from kernelwright.envs.sandbox.rights import Namespaces, namespaces
from kernelwright.envs.sandbox.toolchain import (
    HEADERS,
    NATIVE,
    jail_path,
    nvcc_folder,
    operators_path,
    pyjail_path,
    runtime_files,
    runtime_folders,
    sources_in,
    triton_tools,
)
from kernelwright.envs.system.cores import ONE_THREAD
from kernelwright.envs.system.memfd import KEPT_HEAP
from kernelwright.envs.system.paths import PACKAGE, SEARCHED, python_path
from kernelwright.envs.types import content_hash

OPERATORS = "/operators.so"
"""Where native/torch/operators.cpp is shown."""
GUEST = Path(__file__).parents[1] / "guest"
_START = "import sys; sys.path[:0] = {searched}; from kernelwright.envs.guest.main import main; "
_START += "main(sys.argv[1], int(sys.argv[2]))"
TUNING = ("TORCHINDUCTOR_MAX_AUTOTUNE", "TORCHINDUCTOR_COORDINATE_DESCENT_TUNING")
"""Set to 1, torch.compile is in its mode `max-autotune-no-cudagraphs`."""
FROM_OUTSIDE = ("CXX", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", *TUNING)
"""Of this process's environment, what decides how fast a problem's module is."""
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
"""Of it the C library reads two files as a process starts: without them heaps have small pages
(`KEPT_HEAP`). Answers do not get them: one that takes all memory it may would need seconds."""
RIGHTS = ("SYS_ADMIN", "SETUID", "SETGID", "SETPCAP")
"""The zygote's capabilities; its jobs have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """A root for one kind of job: `shown` are (path here, path there), `readable` the paths that a
    job may open besides the system's folders."""

    command: tuple[str, ...]
    shown: tuple[tuple[str, str], ...]
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """Folders of what is shown that are empty in there."""
    with_system: bool = True
    """Whether the system's folders are shown: /usr, and what belongs to it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    stamp: str = ""
    """Names the versions of what is shown."""

    @property
    def identity(self) -> str:
        """Equal for two in which the same job gives the same."""
        return content_hash(*self.command, repr(sorted(self.environment.items())), self.stamp)

    def arguments(self) -> list[str]:
        """Bubblewrap's, up to and with the command."""
        words = [*_unshare(), "--cap-drop", "ALL"]
        for right in RIGHTS:
            words += ["--cap-add", f"CAP_{right}"]
        words += ["--die-with-parent", "--new-session", "--clearenv"]
        # Without them PWD and the host's name are those of whoever started us.
        words += ["--chdir", "/", "--hostname", "sandbox"]
        for name, value in {"PATH": "/usr/bin:/bin", "TMPDIR": "/scratch"}.items():
            words += ["--setenv", name, value]
        for name, value in self.environment.items():
            words += ["--setenv", name, value]
        links, bound = _system() if self.with_system else ((), [])
        words += [*bound, "--dev", "/dev", "--tmpfs", "/scratch"]
        for here, there in self.shown:
            words += [*_parents(there, links), "--ro-bind", here, there]
        for folder in self.hidden:
            words += ["--tmpfs", folder, "--remount-ro", folder]
        # What is written there would outlive a job; /scratch is for the zygote while it starts.
        words += ["--remount-ro", "/dev", "--remount-ro", "/"]
        return [*words, "--", *self.command]


@lru_cache
def alone() -> Inside:
    """For answers that are a shared library, on the values that count: there is nothing but the
    runtimes that they are linked with. With all of the system's folders they would have what else
    is installed there to compute with: a BLAS, or PyTorch beside a Python in /usr/local."""
    files = runtime_files()
    return Inside(
        command=("/jail", "play"),
        shown=((str(jail_path()), "/jail"), *((file, file) for file in files)),
        readable=files,
        with_system=False,
        environment={**KEPT_HEAP, "LD_LIBRARY_PATH": runtime_folders()},
    )


@lru_cache
def native() -> Inside:
    """For compilers, with the headers they may need, and for host code of CUDA that is traced."""
    tools = triton_tools()
    cuda = nvcc_folder()
    found = [str(folder) for folder in (tools, cuda) if folder]
    shown = [(folder, folder) for folder in found]
    ours = [(jail_path(), "/jail"), (HEADERS, "/include"), (precompiled_folder(), THERE)]
    return Inside(
        command=("/jail",),
        shown=(*((str(here), there) for here, there in ours), *shown),
        readable=("/include", THERE, *found),
        hidden=_hidden(found),
        environment=KEPT_HEAP,
        stamp=content_hash(jail_path().name, _triton_version(), *sources_in(HEADERS, "*.*")),
    )


@lru_cache
def python() -> Inside:
    """For answers that are a Python module: this interpreter, with torch imported once."""
    folders = _interpreter() | _installed()
    shown = [(folder, folder) for folder in sorted(folders)]
    start = _START.format(searched=["/judge", *_beside()])
    environment = {
        "OMP_NUM_THREADS": "1",
        "OMP_THREAD_LIMIT": "1",
        "MKL_NUM_THREADS": "1",
        "HOME": "/scratch",
        "USER": "answer",  # torch 2.11 asks whose its cache is, where an answer registers operators
    }
    guest = (str(GUEST), "/judge/kernelwright/envs/guest")
    environment["TRITON_CACHE_DIR"] = "/scratch/triton"
    return Inside(
        command=(sys.executable, "-I", "-B", "-c", start, "/pyjail.so"),
        shown=(*shown, guest, (str(pyjail_path()), "/pyjail.so")),
        readable=("/judge", *sorted(folders)),
        hidden=_hidden(folders),
        environment=environment,
        stamp=content_hash(version("torch"), _triton_version(), *sources_in(GUEST, "*.py")),
    )


@lru_cache
def beside_torch() -> Inside:
    """The same as `native`, with PyTorch's own operators loaded once: for answers that may use
    them (native/torch/operators.cpp)."""
    folders, plain = sorted(_interpreter() | _installed()), native()
    return replace(
        plain,
        shown=(
            *plain.shown,
            *((folder, folder) for folder in folders),
            (str(operators_path()), OPERATORS),
        ),
        readable=(*plain.readable, *folders),
        hidden=_hidden(folders),
        environment={**_from_outside(), **plain.environment, "LD_PRELOAD": OPERATORS},
        stamp=content_hash(plain.stamp, version("torch"), *sources_in(NATIVE / "torch", "*.cpp")),
    )


@lru_cache
def reference() -> Inside:
    """For problems' own modules: this interpreter, the compilers (torch.compile) and our `envs`.

    A problem may come from anywhere. What it says is right, it says about itself; but it can reach
    nothing else.
    """
    folders = sorted(_interpreter() | _packages() | _installed())
    pages = [str(HUGE_PAGES / name) for name in ("enabled", "hpage_pmd_size")]
    environment = {
        **_from_outside(),
        **KEPT_HEAP,
        "PYTHONPATH": os.pathsep.join(["/judge", *_beside()]),
        "HOME": "/scratch",
        "USER": "judge",
        "KERNELWRIGHT_CACHE": "/scratch",
        "CUDA_VISIBLE_DEVICES": "",
    }
    return Inside(
        command=("/jail",),
        shown=(
            *((folder, folder) for folder in folders),
            *((file, file) for file in pages if Path(file).exists()),
            (str(PACKAGE / "envs"), "/judge/kernelwright/envs"),
            (str(jail_path()), "/jail"),
        ),
        readable=("/judge", str(HUGE_PAGES), *folders),
        hidden=_hidden(folders),
        environment=environment,
    )


def _from_outside() -> dict[str, str]:
    return ONE_THREAD | {name: one for name, one in os.environ.items() if name in FROM_OUTSIDE}


def _hidden(folders: Iterable[str]) -> tuple[str, ...]:
    """This package, and another version of it, where one of these or the system has them: in them
    are kernels that answer their own problems, and an installed one would be imported for ours."""
    places = (PACKAGE.name, f"lib*/python3*/*-packages/{PACKAGE.name}")
    hidden = set()
    for folder in map(Path, (*folders, "/usr", "/usr/local")):
        shown = folder.resolve()
        found = [one for place in places for one in folder.glob(place)]
        for real in (one.resolve() for one in (*found, PACKAGE)):
            if real.is_dir() and real.is_relative_to(shown):  # in there other links lead nowhere
                hidden.add(str(folder / real.relative_to(shown)))
    return tuple(sorted(hidden))


def _interpreter() -> set[str]:
    return {sys.prefix, sys.base_prefix, sysconfig.get_path("purelib")}


def _packages() -> set[str]:
    """Folders that .pth files of this interpreter lead to; our own checkout is not shown.

    Asked of a fresh interpreter: this one's `sys.path` also has the folder of the program that was
    started, which may be anybody's home.
    """
    program = "import sys; print(*sys.path, sep='\\0', end='')"
    said = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, check=True)
    found = map(Path, said.stdout.decode().split("\0"))
    return {str(one) for one in found if one.is_dir() and one != SEARCHED}


def _installed() -> set[str]:
    """Folders besides the interpreter's own that packages are installed in (`*.dist-info`): an
    environment laid over another by a .pth file, or a folder that PYTHONPATH names. A folder of
    sources, which may be anybody's home, is none."""
    return {one for one in (*_packages(), *_beside()) if _has_packages(one)}


def _beside() -> list[str]:
    """Those that PYTHONPATH names, which Python in here does not read. We may be installed in one
    ourselves, beside all that we need."""
    named = [] if str(SEARCHED) in _interpreter() else [str(SEARCHED)]
    return [one for one in map(os.path.abspath, (*named, *python_path())) if _has_packages(one)]


def _has_packages(folder: str) -> bool:
    """Also what was unpacked there by hand, without what an installer leaves."""
    own = (Path(folder, name, "__init__.py") for name in ("torch", "triton"))
    return any(Path(folder).glob("*.dist-info")) or any(one.is_file() for one in own)


def _triton_version() -> str:
    try:
        return version("triton")
    except PackageNotFoundError:
        return ""


def _unshare() -> list[str]:
    of_root = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    match namespaces():
        case Namespaces.ROOT:
            return of_root
        case Namespaces.MAPPED:  # not --disable-userns: in a second one the jobs' user is missing
            return ["--unshare-user", *of_root]
        case Namespaces.USER:
            return ["--unshare-user", "--unshare-all", "--disable-userns"]


def _system() -> tuple[tuple[str, ...], list[str]]:
    """(folders that are there then, and need not be made; words)."""
    words = ["--ro-bind", "/usr", "/usr"]
    links = ["/usr"]
    for name in ("bin", "lib", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            words += ["--symlink", f"usr/{name}", str(path)]
        elif path.exists():
            words += ["--ro-bind", str(path), str(path)]
        links.append(str(path))
    for name in ("/etc/ld.so.cache", "/etc/alternatives", "/proc/cpuinfo"):
        words += [*_parents(name, links), "--ro-bind-try", name, name]
    return tuple(links), words


def _parents(path: str, there: Iterable[str]) -> list[str]:
    """Folders on the way, which any user may pass; bubblewrap's own would be closed."""
    words: list[str] = []
    for parent in reversed(Path(path).parents):
        if str(parent) not in ("/", *there):
            words += ["--perms", "0755", "--dir", str(parent)]
    return words
