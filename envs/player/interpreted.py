"""Triton's interpreter as the judge uses it: it runs what compiles, and lends Python nothing.

By itself it would run a kernel as the Python that it is written in, also where no compiler would
take it, and leave its own modules among the names of the answer's.
"""

from __future__ import annotations

import builtins
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import torch
import triton.language as tl
from triton.runtime import interpreter, jit

from envs.player.questions import foreign_names, questions
from envs.player.rounds import ours
from envs.player.watch import FORBIDDEN_CODE, NOT_COMPILED, leave

OUTSIDE = "Cannot call @triton.jit'd outside of the scope of a kernel"
"""What Triton says without its interpreter."""

DEFINITION = re.compile(r"\s*def\s")
FIXED = frozenset(("fn", "rewriter", "raw_src", "_src", "src", "kwargs", "arg_names", "params"))
"""Of a kernel, what says which code it is."""

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
    for name in (*function.__code__.co_names, *function.__code__.co_freevars):
        value = outer.get(name)
        if isinstance(value, tl.constexpr):
            yield f"{name} = {_constant(value)}"
        inner = getattr(value, "fn", None)
        if isinstance(inner, FunctionType) and inner.__module__ == function.__module__:
            yield f"{name} is {inner.__code__.co_firstlineno}"
            if inner not in seen:
                yield from _names(inner, seen)


def names_of(function: FunctionType) -> dict[str, Any]:
    """The names that a function finds outside of itself."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    return {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}


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
            _read(kernel)

    def written_down(kernel: Any, *given: Any, **named: Any) -> Any:
        for why in foreign(kernel.fn, set()):
            raise NameError(why)
        form = form_of(kernel, bound(kernel, given, named))
        launched = run(kernel, *given, **named)
        if form not in found:
            found.append(form)
        return launched

    jit.JITFunction.run, jit.JITFunction.__init__ = written_down, made
    _fix(jit.JITFunction)
    return found


def _read(kernel: Any) -> None:
    """Refuses what would be compiled from another text than is interpreted, or asks."""
    lines = [one for one in kernel.raw_src if DEFINITION.match(one)]
    if len(lines) != 1 or not lines[0].lstrip().startswith("def "):
        leave(FORBIDDEN_CODE, "the source of a kernel has more than one line that begins with def")
    for why in questions(kernel.src):
        leave(FORBIDDEN_CODE, why)


def foreign(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    """What a kernel, or one that it calls, may not name: nor could it be compiled."""
    seen.add(function)
    outer, (lines, _) = names_of(function), inspect.getsourcelines(function)
    for name in foreign_names(textwrap.dedent("".join(lines)), outer):
        yield f"a kernel may not use {name}: it is no constant, no kernel, and not Triton's"
    for name in function.__code__.co_names:
        inner = getattr(outer.get(name), "fn", None)
        if isinstance(inner, FunctionType) and inner not in seen:
            yield from foreign(inner, seen)


def _fix(kind: Any) -> None:
    """From here on what says which code a kernel is cannot be set twice."""
    set_anew = kind.__setattr__

    def set_once(kernel: Any, name: str, value: Any) -> None:
        if name in FIXED and vars(kernel).get(name, value) is not value:
            leave(FORBIDDEN_CODE, f"sets .{name} of a kernel")
        set_anew(kernel, name, value)

    kind.__setattr__ = set_once


def interpret_only(compiled: frozenset[str]) -> None:
    """From here on a launch in a form that was not compiled ends the process."""
    interpreter.InterpretedFunction.run = _guarded(interpreter.InterpretedFunction.run, compiled)
    interpreter.InterpretedFunction.__call__ = _call_within
    interpreter.FunctionRewriter._compile_and_exec = _rewritten
    for kind in (interpreter.InterpretedFunction, interpreter.FunctionRewriter):
        _fix(kind)


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
