"""Finds a method's module by its name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from kernelwright.rl.methods.base import Method, MethodOptions, RunView

NOT_METHODS = ("__init__", "base", "find", "gathered", "turns")


def method_names() -> list[str]:
    """Every method that comes with this project."""
    files = Path(__file__).parent.glob("*.py")
    return sorted(file.stem for file in files if file.stem not in NOT_METHODS)


def method_module(name: str) -> ModuleType:
    """The module with a method's `Options` and `Method`. Raises ValueError where there is none."""
    if "." not in name and name not in method_names():
        raise ValueError(
            f"no method {name!r}; there are: {', '.join(method_names())}, "
            "or the dotted name of a module of your own"
        )
    try:
        module = import_module(name if "." in name else f"kernelwright.rl.methods.{name}")
    except ModuleNotFoundError as error:
        raise ValueError(f"method {name!r}: {error}") from None
    if not (hasattr(module, "Options") and hasattr(module, "Method")):
        raise ValueError(f"method {name!r}: the module has no `Options` and `Method`")
    return module


def method_options(given: Any) -> MethodOptions:
    """Options from a recipe's `name` or `{name: …, …}`, checked by the method's own schema."""
    keys = {"name": given} if isinstance(given, str) else given
    if isinstance(keys, MethodOptions):
        return keys
    if not isinstance(keys, dict) or not isinstance(keys.get("name"), str):
        raise ValueError("give a method's name, or a section with a name and its options")
    options: MethodOptions = method_module(keys["name"]).Options.model_validate(keys)
    return options


def gives_advantages(options: MethodOptions) -> bool:
    """Whether the method computes advantages itself, so that TRL's are not used."""
    return bool(method_module(options.name).Method.advantages is not Method.advantages)


def start_method(options: MethodOptions, run: RunView) -> Method:
    """The method, ready for a run."""
    method: Method = method_module(options.name).Method(options, run)
    return method
