"""Stage `setup`: puts what was brought into this interpreter, and builds the judge's helpers.

Into the interpreter and not beside it: the jail that traces answers sees no other packages. Only
the standard library until the wheels are installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from scripts.on_gpu_stages.context import StageContext

ROOT = Path(__file__).resolve().parents[2]
BARE = "on_gpu_image.txt"
"""A file of this name in `sys.prefix` marks an environment that a rehearsal may install into."""
METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
Requires-Python: {python}
{extras}
{requires}
"""
COMMAND = """\
#!{python}
from kernelwright.cli import main
main()
"""
TORCH = "import torch; print(torch.__version__)"
HELPERS = {
    "jail": "from kernelwright.envs.sandbox.toolchain import jail_path as f; f()",
    "pyjail": "from kernelwright.envs.sandbox.toolchain import pyjail_path as f; f()",
    "operators": "from kernelwright.envs.sandbox.toolchain import operators_path as f; f()",
    "header, host": (
        "from kernelwright.envs.dialects.inline_extension import HOST, precompiled; "
        "precompiled(HOST)"
    ),
    "header, C++": (
        "from kernelwright.envs.dialects.inline_extension import COMPILED, native_flags, "
        "precompiled; precompiled((*native_flags(), *COMPILED))"
    ),
}


def run(context: StageContext) -> None:
    with ThreadPoolExecutor() as pool:
        torch = pool.submit(timed, lambda: python(TORCH))
        if context.rehearsal and not Path(sys.prefix, BARE).exists():
            context.row("install", left_out="this environment is not a rehearsal's own")
        else:
            context.row("install", seconds=timed(lambda: install(context))[0])
        context.row("import torch", seconds=imported(torch))
        built = {name: pool.submit(timed, _program(code)) for name, code in HELPERS.items()}
        failed = [name for name, job in built.items() if not _told(context, name, job)]
    if failed:
        raise RuntimeError(f"not built: {', '.join(failed)}")


def imported(torch: Future[tuple[float, str]]) -> float:
    """Seconds of PyTorch's first import. It is tried once more where it failed: what it imports may
    have been replaced meanwhile."""
    try:
        return torch.result()[0]
    except subprocess.CalledProcessError:
        return timed(lambda: python(TORCH))[0]


def _program(code: str) -> Callable[[], str]:
    return lambda: python(code)


def _told(context: StageContext, name: str, job: Future[tuple[float, str]]) -> bool:
    """Writes how long one helper took, or why there is none."""
    try:
        context.row(name, seconds=job.result()[0])
    except subprocess.CalledProcessError as error:
        print(error.stdout, error.stderr)
        context.row(name, error=(error.stderr.strip().splitlines() or ["?"])[-1][:200])
        return False
    return True


def timed(work: Callable[[], str]) -> tuple[float, str]:
    """(seconds, what it returned)."""
    started = time.monotonic()
    found = work()
    return round(time.monotonic() - started, 2), found


def python(code: str) -> str:
    """What a new process of this interpreter prints. Raises CalledProcessError."""
    return command([sys.executable, "-c", code])


def command(words: Sequence[str]) -> str:
    # Some systems mark their own Python as not to be installed into; this machine is ours.
    environment = {**os.environ, "PIP_BREAK_SYSTEM_PACKAGES": "1"}
    done = subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def install(context: StageContext) -> str:
    """The wheels; a line that makes src/ importable; and the project's name, for its versions."""
    wheels = [str(one) for one in sorted((context.carried / "wheels").glob("*.whl"))]
    if not wheels:
        raise RuntimeError(f"no wheels in {context.carried}: scripts/on_gpu_pack.py fetches them")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    done = command([*pip, "--no-compile", "--root-user-action", "ignore", *wheels])
    site = Path(sysconfig.get_path("purelib"))
    (site / "kernelwright_on_gpu.pth").write_text(f"{ROOT / 'src'}\n")
    _write_metadata(site)
    program = Path(sysconfig.get_path("scripts"), "kernelwright")
    program.write_text(COMMAND.format(python=sys.executable))
    program.chmod(0o755)
    return done


def _write_metadata(site: Path) -> None:
    """What `kernelwright doctor` reads: which versions are wanted."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [f"Requires-Dist: {one}" for one in project["dependencies"]]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    for extra, wanted in extras.items():
        for one in wanted:
            requirement, _, marker = one.partition(";")
            also = f"({marker.strip()}) and " if marker else ""
            lines.append(f'Requires-Dist: {requirement.strip()}; {also}extra == "{extra}"')
    folder = site / f"{project['name']}-{project['version']}.dist-info"
    folder.mkdir(exist_ok=True)
    text = METADATA.format(
        name=project["name"],
        version=project["version"],
        python=project["requires-python"],
        extras="\n".join(f"Provides-Extra: {extra}" for extra in extras),
        requires="\n".join(lines),
    )
    (folder / "METADATA").write_text(text, encoding="utf-8")
    (folder / "INSTALLER").write_text("on_gpu\n")
    (folder / "RECORD").write_text("")
