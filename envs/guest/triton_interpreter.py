"""Triton's interpreter as the judge uses it: it runs what compiles, and lends Python nothing.

By itself it would run a kernel as the Python that it is written in, also where no compiler would
take it, and leave its own modules among the names of the answer's.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import torch
import triton.language as tl
from triton.runtime import interpreter, jit

from kernelwright.envs.guest.compute_guard import FORBIDDEN_CODE, NOT_COMPILED, leave
from kernelwright.envs.guest.kernel_source import fix, foreign, named_by, names_of, read
from kernelwright.envs.guest.rounds import ours

OUTSIDE = "Cannot call @triton.jit'd outside of the scope of a kernel"
"""What Triton says without its interpreter."""

ADDED = ("interpreter_semantic", "_InterpreterComparison")
"""What a kernel that the interpreter has rewritten asks for."""

PLAIN = frozenset((bool, int, float, str, type(None), tl.dtype, torch.dtype))
"""Types of constants."""

_depth = 0
"""How many kernels this process is in."""


def bound(kernel: Any, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a launch by name; what is no parameter is for the compiler."""
    taken = inspect.signature(kernel.fn)
    mine = {name: one for name, one in named.items() if name in taken.parameters}
    found = taken.bind(*given, **mine)
    found.apply_defaults()
    return found.arguments


def form_of(kernel: Any, arguments: dict[str, Any]) -> str:
    """What of a launch decides its code: functions, constants, and the kinds of the rest."""
    parameters = inspect.signature(kernel.fn).parameters
    words = list(_names(kernel.fn, set()))
    for name, value in arguments.items():
        constant = "constexpr" in str(parameters[name].annotation)
        words.append(f"{name}: {_constant(value) if constant else _kind(value)}")
    return ", ".join(words)


def _names(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    """The function's name, and the constants and functions of its module that it names."""
    seen.add(function)
    yield f"{function.__qualname__} in line {function.__code__.co_firstlineno}"
    outer = names_of(function)
    for name in named_by(function):
        value = outer.get(name)
        if isinstance(value, tl.constexpr):
            yield f"{name} = {_constant(value)}"
        inner = getattr(value, "fn", None)
        if isinstance(inner, FunctionType) and inner.__module__ == function.__module__:
            yield f"{name} is {inner.__code__.co_firstlineno}"
            if inner not in seen:
                yield from _names(inner, seen)


def _constant(value: Any) -> str:
    """A constant's value. One that is Python code would be run by the interpreter."""
    value = value.value if isinstance(value, tl.constexpr) else value
    if isinstance(value, jit.JITFunction | interpreter.InterpretedFunction):
        return " with ".join(_names(value.fn, set()))
    if type(value) is tuple:
        return f"({', '.join(map(_constant, value))})"
    if type(value) not in PLAIN:
        leave(FORBIDDEN_CODE, f"a constant of a kernel is a {type(value).__name__}")
    return repr(value)


def _kind(value: Any) -> str:
    """Of an argument that is no constant; but a whole number that is one is made one."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype)
    if type(value) is tuple:
        return f"({', '.join(map(_kind, value))})"
    if isinstance(value, tuple):
        leave(FORBIDDEN_CODE, f"an argument of a kernel is a {type(value).__name__}")
    if value is None or (type(value) is int and value == 1):
        return repr(value)
    return type(value).__name__


def write_down_forms() -> list[str]:
    """The forms of all launches from here on, each once, where kernels are compiled.

    A kernel of the answer's that asks what it must not ends the process.
    """
    found: list[str] = []
    run, make = jit.JITFunction.run, jit.JITFunction.__init__

    def made(kernel: Any, function: Any, *given: Any, **named: Any) -> None:
        make(kernel, function, *given, **named)
        if function.__code__.co_filename.startswith("/scratch/"):
            read(kernel)

    def written_down(kernel: Any, *given: Any, **named: Any) -> Any:
        arguments = bound(kernel, given, named)
        form = form_of(kernel, arguments)
        if form in found:
            return run(kernel, *given, **named)
        passed = [one for one in arguments.values() if isinstance(one, jit.JITFunction)]
        for why in (why for one in (kernel, *passed) for why in foreign(one.fn, set())):
            raise NameError(why)
        launched = run(kernel, *given, **named)
        found.append(form)
        return launched

    jit.JITFunction.run, jit.JITFunction.__init__ = written_down, made
    fix(jit.JITFunction)
    return found


def interpret_only(compiled: frozenset[str]) -> None:
    """From here on a launch in a form that was not compiled ends the process."""
    interpreter.InterpretedFunction.run = _guarded(interpreter.InterpretedFunction.run, compiled)
    interpreter.InterpretedFunction.__call__ = _call_within
    interpreter.FunctionRewriter._compile_and_exec = _rewritten
    for kind in (interpreter.InterpretedFunction, interpreter.FunctionRewriter):
        fix(kind)


def _guarded(run: Callable[..., Any], compiled: frozenset[str]) -> Callable[..., Any]:
    def guarded(kernel: Any, *given: Any, grid: Any, **named: Any) -> Any:
        global _depth
        arguments = bound(kernel, given, named)
        form = form_of(kernel, arguments)
        if form not in compiled:
            leave(NOT_COMPILED, f"launched, but never when kernels were compiled: {form}")
        grid = grid(arguments) if callable(grid) else grid  # where the language does not work yet
        _depth += 1
        try:
            with ours():  # it looks where tensors really are
                return run(kernel, *given, grid=grid, **named)
        finally:
            _depth -= 1

    return guarded


def _call_within(function: Any, *given: Any, **named: Any) -> Any:
    """A call of one kernel's function by another; elsewhere it is refused, as it is compiled."""
    if not _depth:
        raise RuntimeError(OUTSIDE)
    scope = interpreter._patch_lang(function.fn)
    try:
        return function.rewrite()(*given, **named)
    finally:
        scope.restore()


class Names(dict[str, Any]):
    """The names of a kernel's module, and the few that the interpreter adds, which stay here."""

    def __init__(self, module: dict[str, Any]) -> None:
        super().__init__({name: getattr(interpreter, name) for name in ADDED})
        self.module = module

    # Python asks this for globals too, where they are no plain dict.
    def __missing__(self, name: str) -> Any:
        return self.module[name]

    # Triton's `_patch_lang` looks through a function's globals for `triton.language`.
    def items(self) -> Any:
        return self.module.items()


def _rewritten(rewriter: Any, tree: Any) -> Any:
    """The function that a rewritten kernel's tree defines."""
    code = builtins.compile(tree, filename=rewriter.filename, mode="exec")
    found: dict[str, Any] = {**rewriter.kwargs}
    exec(code, Names(rewriter.fn.__globals__), found)
    return found[rewriter.fn.__name__]
