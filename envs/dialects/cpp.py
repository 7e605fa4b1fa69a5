"""`cpp`: one C++ source with the native ABI, built by g++ and called directly."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.envs.abi import C_ABI, CaseSpec, glue, signature
from kernelwright.envs.dialects.base import (
    ANOTHER_KERNEL,
    LIBRARY,
    Built,
    failed,
    no_kernel_function,
    shared_library,
    too_large,
)
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.types import Candidate, Evaluation

FLAGS = (
    *("-O3", "-std=c++17", "-shared", "-fPIC", "-fopenmp-simd", "-Wl,-z,defs"),
    *("-fno-math-errno", "-fno-trapping-math", "-D__FAST_MATH__"),
    "-Wno-deprecated",  # of the glue
)
"""No -ffast-math: it would change what NaN and infinity mean behind the candidate's back.

`errno` and floating-point traps change no result, and without them g++ vectorises square roots,
calls of vector functions and choices between numbers. PyTorch builds its own kernels so
(CMakeLists.txt of pytorch/pytorch). The macro alone, without the flag of that name, has glibc's
<math.h> declare its vector functions (libmvec, at most 4 ulp), so that a loop over `std::exp` calls
them; of the compiler's rules it changes none.
"""

LIBRARIES = ("-Wl,--as-needed", "-lgomp")
"""OpenMP's functions link; its parallel regions are one thread, as a worker is one core."""


class Cpp:
    task = "Write a C++ kernel for this PyTorch module."
    fences: tuple[str, ...] = ("cpp", "c++", "c", "cc", "cxx", "")
    mark, another, entry = "cpp", ANOTHER_KERNEL, "kernel"
    suffix, lexer = ".cpp", "cpp"
    sign = None
    is_device_code = False
    runs_on_gpu = False
    has_triples = True

    def lacking(self) -> str | None:
        return None

    def form(self, spec: CaseSpec) -> str:
        return f"```cpp\n{signature(spec, C_ABI)}\n```"

    def build(
        self, candidate: Candidate, specs: Sequence[CaseSpec], sandboxes: Sandboxes
    ) -> Built | Evaluation:
        source = candidate.source
        if refused := too_large(source):
            return refused
        made = shared_library(
            [*FLAGS, "-o", LIBRARY, "glue.cpp", *LIBRARIES],
            {C_ABI.file: source, "glue.cpp": glue(specs[0], C_ABI)},
            sandboxes,
        )
        if made.failure:
            if "undefined reference to `kernel'" in made.log:
                return no_kernel_function(signature(specs[0], C_ABI), made.log)
            return failed(made.failure, made.log)
        return Built(
            files=((LIBRARY, made.artefact),),
            log=made.log,
            facts=(("library_bytes", float(len(made.artefact))),),
        )


DIALECT = Cpp()
