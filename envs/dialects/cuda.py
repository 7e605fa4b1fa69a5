"""`cuda`: one CUDA C++ source with the native ABI, built by nvcc for three generations of GPUs.

Without a GPU the build is all that can be judged; it comes with what the assembler says about each
kernel: registers, spills, shared memory, and which instructions the code consists of.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from envs.abi import CaseSpec, glue, signature
from envs.compile import compile_once
from envs.dialects.base import Built, failed, too_large
from envs.dialects.device import ARCHITECTURES, static_facts
from envs.sandboxes import Runtime, Sandboxes
from envs.toolchain import nvcc_path
from envs.types import Dialect, Evaluation, Verdict
from envs.zygote import Limits

FLAGS = ("-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-cudart", "shared")
LIMITS = Limits(
    memory_bytes=4 << 30, file_bytes=64 << 20, processes=64, cpu_seconds=60, may_fork=True
)
LIMIT_S = 60.0

_SCRIPT = """
set -e; mkdir keep; "$@"; cd keep
for name in {names}; do
  {ptxas} -v -arch=sm_$name glue.compute_$name.ptx -o /dev/null 2> $name.info
done
tar -cf - -C /scratch kernel.so -C /scratch/keep *.ptx *.info >&3
"""


class Cuda:
    task = "Write a CUDA C++ kernel and its launch for this PyTorch module."
    fences: tuple[str, ...] = ("cuda", "cpp", "cu", "c++", "")

    def form(self, spec: CaseSpec) -> str:
        return f"```cpp\n{signature(spec, Dialect.CUDA)}\n```"

    def build(self, source: str, spec: CaseSpec, sandboxes: Sandboxes) -> Built | Evaluation:
        if refused := too_large(source):
            return refused
        compiler = nvcc_path()
        if compiler is None:
            return failed("no_nvcc", "nvcc is not on the PATH", Verdict.UNJUDGED)
        made = compile_once(
            sandboxes.of(Runtime.NATIVE),
            ["/bin/sh", "-c", _script(compiler), "sh", *nvcc_command(compiler)],
            {"candidate.cu": source, "glue.cu": glue(spec, Dialect.CUDA)},
            limits=LIMITS,
            limit_s=LIMIT_S,
        )
        if made.failure:
            missing = "undefined reference to `kernel'" in made.log
            return failed("no_kernel_function" if missing else made.failure, made.log)
        files = members(made.artefact)
        facts = [("library_bytes", float(len(files["kernel.so"])))]
        for name in ARCHITECTURES:
            ptx, info = files[f"glue.compute_{name}.ptx"], files[f"{name}.info"]
            facts += [
                (f"sm_{name}.{fact}", value)
                for fact, value in static_facts(ptx.decode(), info.decode())
            ]
        library = (("kernel.so", files["kernel.so"]),)
        return Built(files=library, runtime=None, log=made.log, facts=tuple(facts), timed=False)


def nvcc_command(compiler: str) -> list[str]:
    """The line that builds glue.cu, and leaves what it made on the way in `keep`."""
    targets = [
        word
        for name in ARCHITECTURES
        for word in ("-gencode", f"arch=compute_{name},code=sm_{name}")
    ]
    kept = ["--keep", "--keep-dir", "keep"]
    return [compiler, *FLAGS, *targets, *kept, "-o", "kernel.so", "glue.cu"]


def members(archive: bytes) -> dict[str, bytes]:
    """Base name → content of the plain files in a tar archive; links and the like are left out."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        found = {}
        for member in tar:
            file = tar.extractfile(member) if member.isreg() else None
            if file is not None:
                found[member.name.rpartition("/")[2]] = file.read()
        return found


def _script(compiler: str) -> str:
    ptxas = Path(compiler).resolve().with_name("ptxas")
    return _SCRIPT.format(names=" ".join(map(str, ARCHITECTURES)), ptxas=ptxas)


CUDA = Cuda()
