"""PTX of our own, translated, built and called in this process: nobody else's code runs here."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.dialects.planned import FLAGS, headers
from kernelwright.envs.plan.plan import Kernel, Plan
from kernelwright.envs.plan.steps import Launch, Place
from kernelwright.envs.ptx.program import program
from kernelwright.envs.sandbox.toolchain import NATIVE, compiler_path, native_flags

HEAD = ".version 8.7\n.target sm_80\n.address_size 64\n"
Array = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]


def spec_of(inputs: Sequence[str], outputs: Mapping[str, int], count: int) -> CaseSpec:
    """Tensors of 64-bit numbers."""
    return CaseSpec(
        inputs=tuple(TensorSpec(name=one, dtype="int64", shape=(count,)) for one in inputs),
        outputs=tuple(
            TensorSpec(name=one, dtype="int64", shape=(size,)) for one, size in outputs.items()
        ),
        scalars=(),
    )


def plan_of(ptx: str, launches: Sequence[Launch]) -> Plan:
    kernel = Kernel(name="own", target="sm_80", ptx=ptx, info="")
    return Plan(steps=list(launches), buffers={}, kernels=[kernel])


def launch(
    kernel: str,
    tensors: Sequence[str],
    *,
    threads: int = 32,
    blocks: int = 1,
    shared_bytes: int = 0,
) -> Launch:
    return Launch(
        kernel=kernel,
        grid=(blocks, 1, 1),
        block=(threads, 1, 1),
        shared_bytes=shared_bytes,
        arguments=[Place(tensor=one, offset=0) for one in tensors],
    )


def library(source: str, folder: Path, *flags: str) -> Path:
    for name, text in {"program.cpp": source, **headers()}.items():
        (folder / name).write_text(text)
    path = folder / "kernel.so"
    own = [*FLAGS, f"-I{NATIVE / 'include'}", *flags]
    words = [compiler_path(), *native_flags(), *own, "-o", str(path), "program.cpp"]
    subprocess.run(words, cwd=folder, check=True)
    return path


def outputs_of(spec: CaseSpec, plan: Plan, inputs: Sequence[Array]) -> list[Array]:
    """What the plan leaves in its outputs."""
    found = played(spec, plan, [one.tobytes() for one in inputs])
    pairs = zip(found, spec.outputs, strict=True)
    return [np.frombuffer(one, np.uint64).reshape(out.shape) for one, out in pairs]


def played(spec: CaseSpec, plan: Plan, inputs: Sequence[bytes]) -> list[bytes]:
    """The same of tensors of any type."""
    with tempfile.TemporaryDirectory() as scratch:
        return called(library(program([(spec, plan)])[0], Path(scratch)), spec, inputs)


def called(path: Path, spec: CaseSpec, inputs: Sequence[bytes]) -> list[bytes]:
    """What a library's plan for the case leaves in its outputs."""
    opened = ctypes.CDLL(str(path))
    found = [_room(one.size_bytes) for one in spec.outputs]
    every = [*(_room(len(one)) for one in inputs), *found]
    for room, data in zip(every, inputs, strict=False):
        ctypes.memmove(room, data, len(data))
    pointers = (ctypes.c_void_p * len(every))(*map(ctypes.addressof, every))
    sizes = (ctypes.c_int64 * len(spec.sizes))(*spec.sizes)
    opened.kernelwright_call(pointers, sizes, (ctypes.c_double * 1)())
    return [bytes(one) for one in found]


def _room(size_bytes: int) -> ctypes.Array[ctypes.c_char]:
    """Zeros at an address as even as the judge's tensors have."""
    raw = (ctypes.c_char * (size_bytes + 64))()
    return (ctypes.c_char * size_bytes).from_buffer(raw, -ctypes.addressof(raw) % 64)


MAIN = """
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
int main(int, char** words) {
  void* opened = dlopen(words[1], RTLD_NOW);
  using Call = void (*)(void* const*, const long*, const double*);
  auto call = (Call)dlsym(opened, "kernelwright_call");
  void* tensors[16];
  long sizes[16];
  int count = 0;
  for (; words[count + 2]; ++count) {
    sizes[count] = atol(words[count + 2]);
    tensors[count] = aligned_alloc(64, (sizes[count] * 8 + 63) / 64 * 64);
    for (long i = 0; i < sizes[count]; ++i) ((long*)tensors[count])[i] = i;
  }
  call(tensors, sizes, nullptr);
  return ((long*)tensors[count - 1])[0] == -1 ? 1 : 0;
}
"""


def run_main(path: Path, spec: CaseSpec, folder: Path, *flags: str) -> tuple[int, str]:
    """(exit status, log) of a process that calls the library on counting numbers."""
    program = folder / "main"
    if not program.exists():
        (folder / "main.cpp").write_text(MAIN)
        command = [compiler_path(), "-o", "main", "main.cpp", "-ldl", "-w", *flags]
        subprocess.run(command, cwd=folder, check=True)
    words = [str(program), str(path), *map(str, spec.sizes)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stderr
