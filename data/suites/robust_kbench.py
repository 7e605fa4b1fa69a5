"""Tasks in robust-kbench's layout: a folder with `func_forward.py` and `config_forward.json`.

A task's `Model`, `get_inputs` and the file of settings become a problem: each pair of settings is a
case. Of `func_backward.py` the problem is the gradient of the module.

Source: https://github.com/SakanaAI/robust-kbench
"""

from __future__ import annotations

import ast
import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kernelwright.data.suites import input_groups
from kernelwright.envs.reference.module import ProblemError
from kernelwright.envs.reference.settings import INPUT_GROUP
from kernelwright.envs.types import Problem

FORWARD, BACKWARD = "func_forward.py", "func_backward.py"
SETTINGS = {
    FORWARD: ("config_forward.json",),
    BACKWARD: ("config_backward.json", "config_forward.json"),
}
"""Where a file's settings lie: the first of these that is there."""
PARTS = ("init", "input", "shared")
Pair = tuple[dict[str, Any], dict[str, Any]]
"""The arguments of a module, and those of the function that makes its inputs."""

CONFIGURED = f"""

{INPUT_GROUP} = 1
CONFIGURATIONS = {{configurations}}
inputs_of_task, task_module = get_inputs, Model
def get_init_inputs():
    import inspect
    chosen = CONFIGURATIONS[({INPUT_GROUP} - 1) % len(CONFIGURATIONS)]
    bound = inspect.signature(task_module).bind(**chosen[0])
    bound.apply_defaults()
    return list(bound.args)
def get_inputs():
    chosen = CONFIGURATIONS[({INPUT_GROUP} - 1) % len(CONFIGURATIONS)]
    return list(inputs_of_task(**chosen[1]))
"""
"""After a task's text."""
GRADIENT = """
import torch
inputs_of_module = get_inputs
def Configured(*given):
    global Model
    gradient, Model = Model, task_module
    try:
        return task_module(*given)
    finally:
        Model = gradient
class Model(torch.nn.Module):
    # The gradients of the module above: of its inputs, then of its parameters.
    def __init__(self, *given):
        super().__init__()
        self.module = Configured(*given)

    def forward(self, grad_output, {names}):
        given = [one.detach().requires_grad_(one.is_floating_point()) for one in [{names}]]
        named = self.module.named_parameters()
        weights = {{name: one.detach().requires_grad_() for name, one in named}}
        with torch.enable_grad():
            output = torch.func.functional_call(self.module, weights, tuple(given))
        leaves = [*(one for one in given if one.requires_grad), *weights.values()]
        return torch.autograd.grad(output, leaves, grad_output, materialize_grads=True)
def get_inputs():
    given = inputs_of_module()
    with torch.no_grad():
        output = Configured(*get_init_inputs())(*given)
    return [torch.randn_like(output), *given]
"""
"""After that of a backward task. While a task's module is made, `Model` is its own class, which its
text may name (`super(Model, self)`). Prompts leave out `Configured` (envs/prompt.py)."""
MOST_TRIED = 1024
"""Combinations of settings that are looked at."""


def is_task(path: Path) -> bool:
    """Whether a file is a task: it has that name, and its settings lie beside it."""
    return settings_file(path) is not None


def settings_file(path: Path) -> Path | None:
    beside = (path.parent / name for name in SETTINGS.get(path.name, ()))
    return next((one for one in beside if input_groups.is_own_file(one)), None)


def task_of(code: str, path: Path) -> Problem:
    """The problem of a task whose text was read. Nothing of it is run.

    Raises ProblemError with one line that begins with a path, OSError.
    """
    settings = settings_file(path)
    if settings is None:
        raise ProblemError(f"{path}: no settings beside it: expects {SETTINGS[path.name][0]}")
    try:
        written = json.loads(settings.read_text(encoding="utf-8"), parse_constant=_refused)
        pairs = configurations(written, _defaults(_arguments(code, "__init__")))
    except (ValueError, RecursionError) as error:
        raise ProblemError(f"{settings}: {error}") from None
    text = code.rstrip() + CONFIGURED.format(configurations=repr(pairs))
    if path.name == BACKWARD:
        given = [name for name, default in _arguments(code, "forward").items() if default is None]
        text += GRADIENT.format(names=", ".join(given))
    return Problem(name=str(path), code=text, cases=input_groups.cases())


def configurations(settings: Any, defaults: Mapping[str, Any]) -> list[Pair]:
    """Of each case: the single settings first, which are timed, then combinations of the others.

    Left out are those that change an argument of the module alone, as an epsilon: kernels are given
    tensors and their sizes. `defaults` are the module's. Raises ValueError.
    """
    if not isinstance(settings, dict):
        raise ValueError("is no object")
    every = itertools.chain(_combined(settings, "single"), _combined(settings, "multi"))
    first = next(every)
    found, usual = [first], {**defaults, **first[0]}
    for init, given in itertools.islice(every, MOST_TRIED):
        called = {**defaults, **init}
        names = usual.keys() | called.keys()
        changed = {name for name in names if usual.get(name) != called.get(name)}
        if changed <= given.keys() and (init, given) not in found:
            found.append((init, given))
    return found


def _combined(settings: dict[str, Any], kind: str) -> Iterator[Pair]:
    """Every combination; what both share goes to both, and comes last."""
    parts = [_listed(settings, f"{kind}_{part}_configs") for part in PARTS]
    for init, given, both in itertools.product(*parts):
        yield init | both, given | both


def _listed(settings: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Some settings; one that sets nothing where there are none."""
    found = settings.get(name) or [{}]
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ValueError(f"{name} is no list of objects")
    return found


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _arguments(code: str, name: str) -> dict[str, ast.expr | None]:
    """Argument → default of a method of `Model`, without `self`; nothing where it has none."""
    classes = (one for one in ast.parse(code).body if isinstance(one, ast.ClassDef))
    bodies = [one.body for one in classes if one.name == "Model"]
    methods = (one for body in bodies for one in body if isinstance(one, ast.FunctionDef))
    method = next((one for one in methods if one.name == name), None)
    if method is None:
        return {}
    names = [one.arg for one in (*method.args.posonlyargs, *method.args.args)]
    missing = [None] * (len(names) - len(method.args.defaults))
    return dict(list(zip(names, (*missing, *method.args.defaults), strict=True))[1:])


def _defaults(arguments: Mapping[str, ast.expr | None]) -> dict[str, Any]:
    """Those that are constants."""
    plain = {name: one for name, one in arguments.items() if isinstance(one, ast.Constant)}
    return {name: one.value for name, one in plain.items()}
