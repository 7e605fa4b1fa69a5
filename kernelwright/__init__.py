"""Trains language models that write fast, correct kernels.

The folders of the repository are packages of this one, by links that lie beside this file: `rl/` is
`kernelwright.rl`. Whatever else is called `data` or `rl` is neither ours nor in our way.
"""

from __future__ import annotations

from typing import Any

__all__ = ["KernelChat", "KernelEnv", "Kernels"]
"""What `verifiers` looks for in the module of an environment's id: it is imported on demand."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kernelwright.environments import for_verifiers

    return getattr(for_verifiers, name)
