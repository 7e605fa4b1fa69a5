"""Decodes the reference process's replies about a problem: specs, levels, acceptable values."""

from __future__ import annotations

import mmap

import numpy as np

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.referee.bulk import BulkLimit, Level
from kernelwright.envs.referee.layout import NUMPY_TYPES
from kernelwright.envs.referee.tolerance import Array


def level_from(plain: dict[str, float] | None) -> Level | None:
    return None if plain is None else Level(**plain)


def limit_of(dtype: str, plain: Level | None, own: Level | None) -> BulkLimit | None:
    """Both have to be known: a level that is not finite is not, and is null in JSON."""
    return BulkLimit.of(dtype, plain, own) if plain and own else None


def choices_from(flat: mmap.mmap, spec: CaseSpec, counts: list[int]) -> list[list[Array]]:
    """The acceptable values of each output, read off the reference's file."""
    at, expected = 0, []
    for tensor, alternatives in zip(spec.outputs, counts, strict=True):
        kind = NUMPY_TYPES[tensor.dtype]
        kind = NUMPY_TYPES["float64"] if kind.kind == "f" else kind
        count = int(np.prod(tensor.shape, dtype=np.int64))
        choices: list[Array] = []
        for _ in range(alternatives):
            choices.append(np.frombuffer(flat, kind, count, at).reshape(tensor.shape))
            at += count * kind.itemsize
        expected.append(choices)
    return expected
