"""One extension that an answer passes to `load_inline`: which arguments are allowed, and its
compiler commands.

It is built against headers of our own (native/include), which have a tensor's memory, its shape and
its views, in about a second; PyTorch's take a minute, and bring all of PyTorch along. One with CUDA
in it gets a runtime that needs no device and writes down what is launched (native/recording.cpp).
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from kernelwright.envs.dialects import nvcc
from kernelwright.envs.dialects.base import LIBRARY
from kernelwright.envs.sandbox.precompiled import precompiled
from kernelwright.envs.sandbox.toolchain import compiler_path, native_flags, nvcc_path

COMPILED = ("-O3", "-std=c++20", "-fPIC", "-w", "-fno-gnu-unique")
LINKED = ("-shared", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-Wl,--as-needed", "-lgomp")
"""-Bsymbolic, -fno-gnu-unique: two libraries of an answer have nothing in common."""
TRACED = ("-std=c++20", "-w", "-DKERNELWRIGHT_TRACED")
HOST = ("-fPIC", *TRACED)
"""Of C++ beside CUDA: it is traced and never timed."""
DEVICE = (
    *("-Xlinker", "-Bsymbolic", "-Xlinker", "-zdefs", "-I/include", *TRACED),
    "--expt-relaxed-constexpr",  # as torch's own load_inline has it
)
"""-zdefs: a PyTorch for CUDA would else bring what is asked of CUDA and not recorded."""
UNCHANGED, CHANGED = {"-O2", "-O3", "-march=native"}, ("-fopenmp", "-ffast-math")
"""Flags with which a header is as it is without them, or is another."""
STEM = "kernels"

HARMLESS = re.compile(
    r"-O\w*|-g\d?|-w|-W(no-)?[a-z][\w+=-]*|-pedantic|-std=[\w+]+|-m[\w.=+-]+|-pipe|-pthread"
    r"|-f(?!plugin|dump|profile|use-ld|opt|diag|file|debug|save|callgraph|stack|sanitize)[\w=-]+"
    r"|-[DU]\w+(=[\w.+-]*)?|-l(m|gomp|pthread)"
)
"""The flags that an answer may give to the C++ compiler: how to compile, not what or with what."""
FOLDERS = re.compile(r"-[IL].|-Wl,-rpath")
"""Flags that name folders: nothing of an answer's lies in any."""
PRINTABLE = re.compile(r"[!-~]+")

HALVES = re.compile(r"half|bfloat|bf16|fp16", re.IGNORECASE)
"""Words of answers with CUDA that need our headers' types of two bytes."""
TARGETS = re.compile(r"-arch|-code|-gencode|--generate-code|--gpu-(architecture|code)")
"""The flags that choose GPUs: that is the judge's to do."""


def _listed(value: Any) -> Any:
    """A list of what `load_inline` takes as one text, as several, or as the keys of a dict."""
    if isinstance(value, dict):
        return list(value)
    return [value] if isinstance(value, str) else value or []


def _words(value: Any) -> Any:
    """Flags one by one: PyTorch joins them by spaces, and an empty one is none."""
    listed = _listed(value)
    whole = isinstance(listed, list) and all(isinstance(one, str) for one in listed)
    if not whole:
        return listed
    return [word for one in listed for word in one.split() if not FOLDERS.match(word)]


def _untargeted(words: list[str]) -> list[str]:
    """Flags without those that choose GPUs, and their values."""
    kept, value_follows = [], False
    for word in words:
        name, equals, _ = word.partition("=")
        chooses = TARGETS.fullmatch(name) is not None
        if not chooses and not value_follows:
            kept.append(word)
        value_follows = chooses and not equals
    return kept


def _only(form: re.Pattern[str]) -> AfterValidator:
    def checked(text: str) -> str:
        if not form.fullmatch(text):
            raise ValueError("not allowed")
        return text

    return AfterValidator(checked)


Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z_0-9]{0,100}$")]
Key = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Flag = Annotated[str, Field(max_length=200), _only(HARMLESS)]
CudaFlag = Annotated[str, Field(max_length=200), _only(PRINTABLE)]
Texts = Annotated[list[str], BeforeValidator(_listed), Field(max_length=64)]
Names = Annotated[list[Name], BeforeValidator(_listed), Field(max_length=32)]
Flags = Annotated[list[Flag], BeforeValidator(_words), Field(max_length=64)]
CudaFlags = Annotated[
    list[CudaFlag], BeforeValidator(_words), AfterValidator(_untargeted), Field(max_length=64)
]


class Extension(BaseModel):
    """One call of `load_inline`, as the answer made it: every word of it may be hostile."""

    model_config = ConfigDict(extra="ignore")
    key: Key
    """Equal for calls that build the same (guest/load_inline.py)."""
    name: Name
    cpp_sources: Texts
    cuda_sources: Texts = Field(default_factory=list)
    functions: Names = Field(default_factory=list)
    extra_cflags: Flags = Field(default_factory=list)
    extra_ldflags: Flags = Field(default_factory=list)
    extra_cuda_cflags: CudaFlags = Field(default_factory=list)

    @property
    def bindings(self) -> str:
        """What torch's own `load_inline` appends."""
        lines = [f'm.def("{one}", &{one});' for one in self.functions]
        return f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ {' '.join(lines)} }}" if lines else ""

    @property
    def _defined(self) -> list[str]:
        return [f"-DTORCH_EXTENSION_NAME={self.name}", "-DTORCH_API_INCLUDE_EXTENSION_H"]

    def files(self) -> dict[str, str]:
        """What is compiled, the file with device code first."""
        main = "\n".join(["#include <torch/extension.h>", *self.cpp_sources, self.bindings])
        if not self.cuda_sources:
            return {"main.cpp": main}
        heads = ["#include <torch/types.h>", "#include <cuda.h>", "#include <cuda_runtime.h>"]
        kernels = "\n".join([*heads, *self.cuda_sources])
        return {f"{STEM}.cu": kernels, "main.cpp": main}

    def traced_command(self) -> list[str]:
        """What builds one with CUDA in it, with the runtime that records."""
        compiler = nvcc_path() or ""
        half = any(HALVES.search(one) for one in [*self.cuda_sources, *self.cpp_sources])
        flags = [*DEVICE, *self._defined, *(["-DKERNELWRIGHT_HALF"] if half else [])]
        sources = [f"{STEM}.cu", "main.o", nvcc.RUNTIME]
        return nvcc.command(
            compiler, [*flags, *self.extra_cuda_cflags], sources, first=self._host(compiler)
        )

    def _host(self, compiler: str) -> list[str]:
        """The words that compile C++ beside CUDA."""
        own = [one for one in self.extra_cflags if one.startswith(("-D", "-U"))]
        read = [*precompiled(HOST), "-I/include", *nvcc.headers(compiler)]
        return [compiler_path(), *HOST, *read, *self._defined, *own, "-c", "main.cpp"]

    def words(self) -> list[str]:
        """The compiler's for C++ alone. Flags of the answer come last, so that they win."""
        own = [*self.extra_cflags, *self.extra_ldflags]
        read: tuple[str, ...] = ()
        if UNCHANGED.union(CHANGED).issuperset(self.extra_cflags):
            changed = (one for one in CHANGED if one in self.extra_cflags)
            read = precompiled((*native_flags(), *COMPILED, *changed))
        flags = [*COMPILED, *LINKED, *read, "-I/include", *self._defined]
        return [*flags, *own, "-o", LIBRARY, *self.files()]
