"""Decodes the reference process's replies about a problem: specs, levels, acceptable values."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.referee.bulk import BulkLimit, Level
from kernelwright.envs.referee.layout import NUMPY_TYPES
from kernelwright.envs.referee.tolerance import Array, Expected
from kernelwright.envs.types import Tolerance


def level_from(plain: dict[str, float] | None) -> Level | None:
    return None if plain is None else Level(**plain)


def limit_of(dtype: str, plain: Level | None, own: Level | None) -> BulkLimit | None:
    """Both have to be known: a level that is not finite is not, and is null in JSON."""
    return BulkLimit.of(dtype, plain, own) if plain and own else None


def mapped(descriptor: int) -> mmap.mmap:
    """A reply's file, to be read; its descriptor is closed."""
    flat = mmap.mmap(descriptor, 0, mmap.MAP_PRIVATE, mmap.PROT_READ)
    os.close(descriptor)
    return flat


def losses_from(descriptor: int, spec: CaseSpec) -> list[Array]:
    """What plain loops lose of each element of each output."""
    flat, at, found = mapped(descriptor), 0, list[Array]()
    for tensor in spec.outputs:
        count = int(np.prod(tensor.shape, dtype=np.int64))
        found.append(np.frombuffer(flat, np.float32, count, at).reshape(tensor.shape))
        at += found[-1].nbytes
    return found


def expected_from(
    descriptor: int,
    answer: Mapping[str, Any],
    spec: CaseSpec,
    tolerances: Sequence[Tolerance],
    spreads: Sequence[float],
    levels: Sequence[Level | None],
) -> list[Expected]:
    """What a draw's outputs are held against; `levels` are those of plain loops in its case."""
    choices = choices_from(mapped(descriptor), spec, answer["choices"])
    known = zip(spec.outputs, levels, answer["levels"], strict=True)
    limits = [limit_of(one.dtype, plain, level_from(own)) for one, plain, own in known]
    return [Expected.of(*one) for one in zip(choices, tolerances, spreads, limits, strict=True)]


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
