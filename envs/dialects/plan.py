"""What an answer launches, written down in a process without a GPU: enough to launch it again.

Whoever wrote it down shared a process with the answer: a plan is evidence, never a verdict.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from envs.dialects.device import ARCHITECTURES, static_facts


class Launch(BaseModel):
    """One launch of a kernel. An argument that points into a tensor is {"tensor", "offset"}: the
    tensor's name and a number of bytes. `new0` and so on are what the answer allocated.
    """

    kernel: str
    code: str = ""
    """Content hash of the kernel's binary, where it is compiled when it is launched."""
    grid: tuple[int, int, int]
    block: tuple[int, int, int] | None = None
    shared_bytes: int | None = None
    arguments: list[Any]


class Kernel(BaseModel):
    """Device code for one target, and what its assembler says about it."""

    name: str
    code: str = ""
    target: str
    ptx: str
    info: str


class Plan(BaseModel):
    """All launches of one call, in order, and the code they need."""

    launches: list[Launch]
    kernels: list[Kernel]
    forms: list[str] = []
    """Of the launches for all cases: function, constants and kinds of arguments, which code depends
    on (player/interpreted.py)."""

    def facts(self) -> tuple[tuple[str, float], ...]:
        """Static facts of all kernels together, by architecture."""
        found = []
        for name in ARCHITECTURES:
            ours = [one for one in self.kernels if one.target.startswith(f"sm_{name}")]
            code, said = "\n".join(one.ptx for one in ours), "\n".join(one.info for one in ours)
            found += [(f"sm_{name}.{fact}", value) for fact, value in static_facts(code, said)]
        return tuple(found)
