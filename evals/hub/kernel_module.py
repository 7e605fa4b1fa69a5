"""A judged kernel in, a Python file out that PyTorch programs import: `ModelNew`.

A Triton or inline answer is such a file by itself. A C++ kernel gets one around it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelwright.envs.abi import C_ABI, CaseSpec, glue
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.dialects.base import MODULE
from kernelwright.envs.dialects.cpp import FLAGS, LIBRARIES
from kernelwright.envs.reference.module import sized_code
from kernelwright.envs.reference.module_facts import timed_shapes
from kernelwright.envs.types import Dialect, Problem

RUNTIME = Path(__file__).with_name("kernel_runtime.py")
OPTIONS = ("-march=native", *FLAGS)
"""The judge's, but for what it adds for g++ 12 on processors with AVX512-FP16."""
FIRST = "# Written by kernelwright.\n#\n"
"""Two lines before any text of others: of the first two, Python reads an encoding."""


class NoModuleError(ValueError):
    """This kernel cannot be called as a module; the message says why."""


def kernel_module(problem: Problem, source: str, dialect: Dialect, about: str) -> str:
    """A Python file with `ModelNew`: the problem's module, computed by this kernel.

    `about` is what the file says of itself, in lines. Raises NoModuleError, and ProblemError where
    the module does not run.
    """
    said = FIRST + "".join(f"# {line}\n" if line else "#\n" for line in about.splitlines())
    if DIALECTS[dialect].entry == MODULE:
        return f"{said}\n{source}"
    if dialect != "cpp":
        raise NoModuleError(f"no Python file calls {dialect} kernels")
    spec = timed_shapes(problem).spec
    if spec.nest:
        raise NoModuleError("its forward takes lists, text or keywords, which no kernel does")
    code = sized_code(problem, problem.timed_case()).strip("\n")
    return "\n".join([said, code, "", "", _runtime(), _class(spec, source)])


def _runtime() -> str:
    """The text that builds and calls a kernel."""
    return RUNTIME.read_text(encoding="utf-8").partition('"""\n\n')[2]


def _class(spec: CaseSpec, source: str) -> str:
    takes, state = _arguments(spec)
    return "\n".join(
        [
            "",
            f"_SOURCE = {_quoted(source)}",
            "",
            f"_GLUE = {_quoted(glue(spec, C_ABI))}",
            "",
            "_KERNEL = _NativeKernel(",
            f'    {{"{C_ABI.file}": _SOURCE, "glue.cpp": _GLUE}},',
            f"    {list(OPTIONS)},",
            f"    {list(LIBRARIES)},",
            f"    takes=({''.join(f'{one}, ' for one in takes)}),",
            f"    state=({''.join(f'{one}, ' for one in state)}),",
            ")",
            "",
            "",
            "class ModelNew(Model):",
            '    """`Model`, its forward computed by the kernel on one thread."""',
            "",
            "    def __init__(self, *given, **named):",
            "        super().__init__(*given, **named)",
            "        self.eval()",
            "",
            "    def forward(self, *given):",
            "        return _KERNEL(self, Model.forward, given)",
            "",
        ]
    )


def _arguments(spec: CaseSpec) -> tuple[list[str], list[str]]:
    """(what `forward` takes, what the state dict holds), each as the Python of its tuple."""
    tensors = {one.name: one for one in spec.inputs}
    numbers: dict[str, Any] = dict(spec.scalars)
    takes = [
        f"({name!r}, torch.{tensors[name].dtype}, {len(tensors[name].shape)})"
        if name in tensors
        else f"({name!r}, {type(numbers[name]).__name__}, None)"
        for name in spec.arguments
    ]
    held = spec.inputs[len(spec.inputs) - len(spec.state) :]
    state = [
        f"({key!r}, torch.{one.dtype}, {len(one.shape)})"
        for key, one in zip(spec.state, held, strict=True)
    ]
    return takes, state


def _quoted(source: str) -> str:
    """The source as a Python literal, readable where nothing in it forbids that.

    >>> _quoted("int x;")
    "r'''\\nint x;\\n'''"
    """
    body = source.strip("\n")
    if "'''" in body or body.endswith(("\\", "'")) or "\r" in body or "\0" in body:
        return repr(source)
    return f"r'''\n{body}\n'''"
