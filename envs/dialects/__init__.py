"""What answers may be written in. Each dialect is one file; this is the list of them."""

from __future__ import annotations

from envs.dialects.base import DialectSpec
from envs.dialects.cpp import CPP
from envs.dialects.cuda import CUDA
from envs.dialects.inline import INLINE
from envs.dialects.triton import TRITON
from envs.types import Dialect

DIALECTS: dict[Dialect, DialectSpec] = {
    Dialect.CPP: CPP,
    Dialect.INLINE: INLINE,
    Dialect.TRITON: TRITON,
    Dialect.CUDA: CUDA,
}
