"""`inline`: KernelBench's answer, a `ModelNew` that gives C++ or CUDA kernels to `load_inline`.

The answer runs once to learn what it wants built; the sources are then built like any other, apart
from running, and the judged run finds the libraries ready. Nearly all answers need only a tensor's
memory and shape: they are built against a light header (native/include), in about a second instead
of a minute. One that needs more falls back to torch's own headers, and the facts say so.
"""

from __future__ import annotations

import json
import re
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

from envs.abi import CaseSpec
from envs.compile import Compiled, compile_once
from envs.dialects.base import Built, failed, import_failed, too_large
from envs.inside import torch_folder
from envs.sandboxes import Runtime, Sandboxes
from envs.screen import refused
from envs.symbols import foreign
from envs.toolchain import compiler_path, nvcc_path
from envs.types import Evaluation, Verdict
from envs.zygote import PYTHON_LIMITS, Limits, Starts

RECORD_LIMIT_S = 20.0
RECORD_LIMITS = replace(PYTHON_LIMITS, file_bytes=1 << 20, starts=Starts.NOTHING)
EXTENSIONS_AT_MOST = 8
BUILD_LIMIT_S = 100.0
"""For all extensions together: a judge that waits too long has no verdict."""
LIGHT_LIMIT_S = 60.0
LOG_AT_MOST = 4096
LIMITS = Limits(
    memory_bytes=4 << 30,
    file_bytes=256 << 20,
    processes=64,
    cpu_seconds=240,
    starts=Starts.PROCESSES,
)
FLAGS = ("-O3", "-march=native", "-std=c++20", "-shared", "-fPIC", "-w", "-Wl,-Bsymbolic")
"""-Bsymbolic: a function of the answer's own cannot turn out to be PyTorch's of the same name."""
CUDA_FLAGS = ("-O3", "-std=c++20", "-shared", "-Xcompiler", "-fPIC", "-w", "-arch=sm_90")

HARMLESS = re.compile(
    r"-O\w*|-g\d?|-w|-W(no-)?[a-z][\w+=-]*|-pedantic|-std=[\w+]+|-m[\w.=+-]+|-pipe|-pthread"
    r"|-f(?!plugin|dump|profile|use-ld|opt|diag|file|debug|save|callgraph|stack|sanitize)[\w=-]+"
    r"|-[DU]\w+(=[\w.+-]*)?|-l(m|gomp|pthread)"
)
"""The flags that an answer may give to the C++ compiler: how to compile, not what or with what."""
PRINTABLE = re.compile(r"[!-~]+")

_SCRIPT = '"$@" && cat extension.so >&3'


def _listed(value: Any) -> Any:
    """A list of what `load_inline` takes as one text, as several, or as the keys of a dict."""
    if isinstance(value, dict):
        return list(value)
    return [value] if isinstance(value, str) else value or []


def _words(value: Any) -> Any:
    """Flags one by one: PyTorch joins them by spaces, and an empty one is none."""
    listed = _listed(value)
    whole = isinstance(listed, list) and all(isinstance(one, str) for one in listed)
    return [word for one in listed for word in one.split()] if whole else listed


def _only(form: re.Pattern[str]) -> AfterValidator:
    def checked(text: str) -> str:
        if not form.fullmatch(text):
            raise ValueError("not allowed")
        return text

    return AfterValidator(checked)


Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z_0-9]{0,100}$")]
Flag = Annotated[str, Field(max_length=200), _only(HARMLESS)]
CudaFlag = Annotated[str, Field(max_length=200), _only(PRINTABLE)]
Texts = Annotated[list[str], BeforeValidator(_listed), Field(max_length=64)]
Names = Annotated[list[Name], BeforeValidator(_listed), Field(max_length=32)]
Flags = Annotated[list[Flag], BeforeValidator(_words), Field(max_length=64)]
CudaFlags = Annotated[list[CudaFlag], BeforeValidator(_words), Field(max_length=64)]


class Extension(BaseModel):
    """One call of `load_inline`, as the answer made it: every word of it may be hostile."""

    model_config = ConfigDict(extra="ignore")
    name: Name
    cpp_sources: Texts
    cuda_sources: Texts = Field(default_factory=list)
    functions: Names = Field(default_factory=list)
    extra_cflags: Flags = Field(default_factory=list)
    extra_ldflags: Flags = Field(default_factory=list)
    extra_cuda_cflags: CudaFlags = Field(default_factory=list)

    @property
    def defines_module(self) -> bool:
        """Whether the sources say themselves what Python sees."""
        return any("PYBIND11_MODULE" in one for one in self.cpp_sources)

    @property
    def exports(self) -> str:
        return "\n".join(f"KERNELWRIGHT_EXPORT({name})" for name in self.functions)

    @property
    def bindings(self) -> str:
        """What torch's own `load_inline` appends."""
        lines = [
            f'm.def("{one}", torch::wrap_pybind_function({one}), "");' for one in self.functions
        ]
        return f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ {' '.join(lines)} }}" if lines else ""

    def files(self, tail: str) -> dict[str, str]:
        """main.cpp, and kernels.cu where there is CUDA."""
        parts = ["#include <torch/extension.h>", *self.cpp_sources, tail]
        found = {"main.cpp": "\n".join(parts)}
        if self.cuda_sources:
            heads = ["#include <torch/types.h>", "#include <cuda.h>", "#include <cuda_runtime.h>"]
            found["kernels.cu"] = "\n".join([*heads, *self.cuda_sources])
        return found


_Calls = TypeAdapter(Annotated[list[Extension], Field(max_length=EXTENSIONS_AT_MOST)])


class Inline:
    task = "Rewrite this PyTorch module as `ModelNew`, computing with `load_inline`."
    fences: tuple[str, ...] = ("python", "py", "")

    def form(self, spec: CaseSpec) -> str:
        return (
            "`ModelNew` keeps the names and shapes of the parameters. All computing happens in "
            "kernels of its own, given to torch.utils.cpp_extension.load_inline at import."
        )

    def build(
        self, source: str, specs: Sequence[CaseSpec], sandboxes: Sandboxes
    ) -> Built | Evaluation:
        if rejected := too_large(source):
            return rejected
        if why := refused(source):
            return failed("forbidden_code", why, Verdict.CHEATED)
        recorded = record(source, specs[0], sandboxes)
        if isinstance(recorded, Evaluation):
            return recorded
        if not recorded:
            return failed("no_custom_kernel", "load_inline was never called", Verdict.CHEATED)
        libraries: dict[str, Any] = {}
        files = [("candidate.py", source.encode("utf-8", "replace"))]
        facts = [("extensions", float(len(recorded)))]
        end = time.monotonic() + BUILD_LIMIT_S
        for number, extension in enumerate(recorded):
            light, made = build_extension(extension, sandboxes, max(0.0, end - time.monotonic()))
            if made.failure:
                return failed(made.failure, made.log)
            if not extension.cuda_sources and (name := foreign(made.artefact, light=light)):
                return failed("foreign_code", f"the library asks for {name}", Verdict.CHEATED)
            path = f"extension{number}.so"
            files.append((path, made.artefact))
            libraries[extension.name] = {
                "path": f"/scratch/{path}",
                "light": light,
                "functions": extension.functions,
            }
            facts += [(f"{extension.name}.light_header", float(light))]
        cuda = any(one.cuda_sources for one in recorded)
        light_only = all(one["light"] for one in libraries.values())
        return Built(
            files=tuple(files),
            runtime=None if cuda else Runtime.PYTHON,
            words=(json.dumps(libraries),),
            facts=tuple(facts),
            starts=Starts.THREADS if light_only else Starts.NOTHING,
        )


def record(source: str, spec: CaseSpec, sandboxes: Sandboxes) -> list[Extension] | Evaluation:
    """What the answer gives to `load_inline` when it is imported and made."""
    made = compile_once(
        sandboxes.of(Runtime.PYTHON),
        [spec.init],
        {"candidate.py": source},
        mode="record",
        limits=RECORD_LIMITS,
        limit_s=RECORD_LIMIT_S,
    )
    if made.failure:
        return import_failed(made)
    try:
        return _Calls.validate_json(made.artefact)
    except ValidationError as error:
        return failed("load_inline_misused", str(error)[:LOG_AT_MOST])


def build_extension(
    extension: Extension, sandboxes: Sandboxes, limit_s: float = BUILD_LIMIT_S
) -> tuple[bool, Compiled]:
    """(whether the light header was enough, the library), as cheaply as it can be had."""
    zygote = sandboxes.of(Runtime.NATIVE)
    started = time.monotonic()
    if extension.functions or extension.defines_module:
        made = compile_once(
            zygote,
            ["/bin/sh", "-c", _SCRIPT, "sh", *_command(extension, light=True)],
            extension.files(extension.exports),
            limits=LIMITS,
            limit_s=min(LIGHT_LIMIT_S, limit_s),
        )
        if made.failure != "compile_error" or "undefined reference" in made.log:
            return True, made
    made = compile_once(
        zygote,
        ["/bin/sh", "-c", _SCRIPT, "sh", *_command(extension, light=False)],
        extension.files(extension.bindings),
        limits=LIMITS,
        limit_s=max(0.0, limit_s - (time.monotonic() - started)),
    )
    return False, made


def _command(extension: Extension, *, light: bool) -> list[str]:
    """The compiler's line. Flags of the answer come last, so that they win."""
    torch = torch_folder()
    folders = ["/include"]
    libraries = ["torch_cpu"]
    if not light:
        api = torch / "include" / "torch" / "csrc" / "api" / "include"
        folders = [str(torch / "include"), str(api), sysconfig.get_path("include")]
        libraries = ["c10", "torch_cpu", "torch", "torch_python"]
    if extension.cuda_sources:
        command = [nvcc_path() or "nvcc", *CUDA_FLAGS, *extension.extra_cuda_cflags]
    else:
        command = [compiler_path(), *FLAGS, *extension.extra_cflags, *extension.extra_ldflags]
    command += [f"-I{folder}" for folder in folders]
    command += [f"-DTORCH_EXTENSION_NAME={extension.name}", "-DTORCH_API_INCLUDE_EXTENSION_H"]
    command += ["-o", "extension.so", *extension.files("")]
    defined = ["-Wl,-z,defs"] if light and not extension.cuda_sources else []
    return [*command, f"-L{torch / 'lib'}", *(f"-l{name}" for name in libraries), *defined]


INLINE = Inline()
