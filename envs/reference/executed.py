"""Runs a problem's code as a module of its own.

Trusted code: it executes the problem, never a candidate.
"""

from __future__ import annotations

import re
import sys
import types
from typing import Any

MODULE = "problem"
"""The name of the module that a problem's code runs as."""

CODE = "__code__"
"""What a problem's namespace has its code as."""

TAKES_GRADIENTS = re.compile(r"\b(?:enable_grad|autograd|vjp|jvp|grad)\b")
"""What a module names that computes gradients."""


def executed(code: str, file: str) -> dict[str, Any]:
    """The names that the code defines. While it runs, `sys.modules` has its module, in which
    dataclasses look up the types of their fields. Raises what the code raises."""
    module = types.ModuleType(MODULE)
    module.__dict__[CODE] = code
    before = sys.modules.get(MODULE)
    sys.modules[MODULE] = module
    try:
        exec(compile(code, file, "exec", dont_inherit=True), module.__dict__)
    finally:
        if before is None:
            del sys.modules[MODULE]
        else:
            sys.modules[MODULE] = before
    return module.__dict__


def without_graph(model: Any) -> Any:
    """A context in which calls of the module record no graph, but for gradients that it computes
    itself; else in inference mode, which is a little faster."""
    import torch

    if TAKES_GRADIENTS.search(_code_of(model)):
        return torch.no_grad()
    return torch.inference_mode()


def _code_of(model: Any) -> str:
    """The code of the problem that the module is of."""
    names = (getattr(vars(one).get("forward"), "__globals__", {}) for one in type(model).__mro__)
    return next((one[CODE] for one in names if CODE in one), "")
