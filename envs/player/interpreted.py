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

from envs.player.watch import NOT_COMPILED, leave

OUTSIDE = "Cannot call @triton.jit'd outside of the scope of a kernel"
"""What Triton says without its interpreter."""

ADDED = ("interpreter_semantic", "_InterpreterComparison")
"""What a kernel that the interpreter has rewritten asks for."""

_depth = 0
"""How many kernels this process is in."""


def form_of(kernel: Any, given: tuple[Any, ...], named: dict[str, Any]) -> str:
    """What of a launch decides its code: functions, constants, and the kinds of the rest."""
    taken = inspect.signature(kernel.fn)
    bound = taken.bind(
        *given, **{name: one for name, one in named.items() if name in taken.parameters}
    )
    bound.apply_defaults()
    words = list(_names(kernel.fn, set()))
    for name, value in bound.arguments.items():
        constant = "constexpr" in str(taken.parameters[name].annotation)
        words.append(f"{name}: {_constant(value) if constant else _kind(value)}")
    return ", ".join(words)


def _names(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    """The function's name, and the constants and functions of its module that it names."""
    seen.add(function)
    yield f"{function.__qualname__} in line {function.__code__.co_firstlineno}"
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, tl.constexpr):
            yield f"{name} = {value.value!r}"
        inner = getattr(value, "fn", None)
        if isinstance(inner, FunctionType) and inner.__module__ == function.__module__:
            yield f"{name} is {inner.__code__.co_firstlineno}"
            if inner not in seen:
                yield from _names(inner, seen)


def _constant(value: Any) -> str:
    value = value.value if isinstance(value, tl.constexpr) else value
    inner = getattr(value, "fn", value)
    if isinstance(inner, FunctionType):
        return f"{inner.__qualname__} in line {inner.__code__.co_firstlineno}"
    return repr(value)


def _kind(value: Any) -> str:
    """Of an argument that is no constant; but a whole number that is one is made one."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype)
    if isinstance(value, tuple):
        return f"({', '.join(map(_kind, value))})"
    if value is None or (type(value) is int and value == 1):
        return repr(value)
    return type(value).__name__


def write_down_forms() -> list[str]:
    """The forms of all launches from here on, each once, where kernels are compiled."""
    found: list[str] = []
    run = jit.JITFunction.run

    def written_down(kernel: Any, *given: Any, **named: Any) -> Any:
        made = run(kernel, *given, **named)
        form = form_of(kernel, given, named)
        if form not in found:
            found.append(form)
        return made

    jit.JITFunction.run = written_down
    return found


def interpret_only(compiled: frozenset[str]) -> None:
    """From here on a launch in a form that was not compiled ends the process."""
    interpreter.InterpretedFunction.run = _guarded(interpreter.InterpretedFunction.run, compiled)
    interpreter.InterpretedFunction.__call__ = _call_within
    interpreter.FunctionRewriter._compile_and_exec = _rewritten


def _guarded(run: Callable[..., Any], compiled: frozenset[str]) -> Callable[..., Any]:
    def guarded(kernel: Any, *given: Any, **named: Any) -> Any:
        global _depth
        form = form_of(kernel, given, named)
        if form not in compiled:
            leave(NOT_COMPILED, f"launched, but never when kernels were compiled: {form}")
        _depth += 1
        try:
            return run(kernel, *given, **named)
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
    except Exception as error:
        raise interpreter.InterpreterError(repr(error)) from error
    finally:
        scope.restore()


class Names(dict[str, Any]):
    """The names of a kernel's module, and the few that the interpreter adds, which stay here."""

    def __init__(self, module: dict[str, Any]) -> None:
        super().__init__({name: getattr(interpreter, name) for name in ADDED})
        self.module = module

    def __missing__(self, name: str) -> Any:
        return self.module[name]

    def items(self) -> Any:
        return self.module.items()


def _rewritten(rewriter: Any, tree: Any) -> Any:
    """The function that a rewritten kernel's tree defines."""
    code = builtins.compile(tree, filename=rewriter.filename, mode="exec")
    found: dict[str, Any] = {**rewriter.kwargs}
    exec(code, Names(rewriter.fn.__globals__), found)
    return found[rewriter.fn.__name__]
