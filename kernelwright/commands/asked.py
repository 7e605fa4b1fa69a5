"""What options of `kernelwright eval` may say."""

from __future__ import annotations

from enum import StrEnum

from envs.types import Dialect


class AskedDialect(StrEnum):
    """A dialect, or `auto`: what a model writes by default, and for stored answers each file's."""

    AUTO = "auto"
    CPP = "cpp"
    CUDA = "cuda"
    TRITON = "triton"
    INLINE = "inline"

    @property
    def dialect(self) -> Dialect | None:
        return None if self is AskedDialect.AUTO else Dialect(self.value)


class Rule(StrEnum):
    """Whose rule gives a second opinion."""

    KERNELBENCH = "kernelbench"
