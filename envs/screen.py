"""Which Python an answer may contain: an allow-list, so that PyTorch cannot be made to do the work.

It is policy, not safety: the sandbox holds an answer, and the referee cannot be lied to. Without it
an answer could switch off the watch that `forward` runs under (player/watch.py), and let PyTorch
compute.
"""

from __future__ import annotations

import ast

MODULES = frozenset(
    """
    __future__ collections contextlib dataclasses functools itertools math os textwrap torch
    torch.nn torch.nn.functional torch.utils.cpp_extension triton triton.language
    triton.language.extra triton.language.extra.libdevice typing warnings
    """.split()  # noqa: SIM905
)
NAMES = frozenset(
    """
    __builtins__ __import__ __loader__ __spec__ breakpoint compile delattr dir eval exec getattr
    globals input locals memoryview open setattr vars
    """.split()  # noqa: SIM905
)
"""Builtins that reach what a name cannot be seen to reach."""

DUNDERS = frozenset("__call__ __class__ __doc__ __file__ __init__ __len__ __name__".split())  # noqa: SIM905
TORCH = frozenset(
    """
    _C _dynamo _inductor _ops backends classes compile export func fx hub jit library load
    multiprocessing ops overrides package serialization set_num_threads
    """.split()  # noqa: SIM905
)
"""Parts of torch that an answer has no use for."""
NEVER = frozenset("_C _dispatch_tls func functorch library overrides vmap".split())  # noqa: SIM905
"""What leads to PyTorch's dispatcher, by whatever name torch goes."""
OS = frozenset(("environ", "path"))


def refused(source: str) -> str | None:
    """Why this module may not be judged; None where it may.

    >>> refused("import ctypes")
    'line 1: imports ctypes'
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # building says so better
    for node in ast.walk(tree):
        why = _why(node)
        if why:
            return f"line {getattr(node, 'lineno', 1)}: {why}"
    return None


def _why(node: ast.AST) -> str | None:
    if isinstance(node, ast.Import):
        bad = [one.name for one in node.names if one.name not in MODULES]
        return f"imports {bad[0]}" if bad else None
    if isinstance(node, ast.ImportFrom):
        return _why_from(node)
    if isinstance(node, ast.Name) and node.id in NAMES:
        return f"uses {node.id}"
    if isinstance(node, ast.Attribute):
        return _why_attribute(node)
    return None


def _why_from(node: ast.ImportFrom) -> str | None:
    module = node.module or ""
    if node.level or (module not in MODULES and module != "torch.utils"):
        return f"imports from {module or '.'}"
    for one in node.names:
        if one.name.startswith("_") or (module == "os" and one.name not in OS):
            return f"imports {one.name} from {module}"
        if (module == "torch" and one.name in TORCH) or (
            module == "torch.utils" and one.name != "cpp_extension"
        ):
            return f"imports {one.name} from {module}"
    return None


def _why_attribute(node: ast.Attribute) -> str | None:
    name = node.attr
    if name.startswith("__") and name not in DUNDERS:
        return f"uses .{name}"
    if name in NEVER:
        return f"uses .{name}"
    owner = node.value.id if isinstance(node.value, ast.Name) else None
    if owner == "os" and name not in OS:
        return f"uses os.{name}"
    if owner == "torch" and name in TORCH:
        return f"uses torch.{name}"
    if name.startswith("_") and not name.startswith("__") and owner not in ("self", "cls"):
        return f"uses .{name}"
    return None
