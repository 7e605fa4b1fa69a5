"""All families of composition of the starter suite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from kernelwright.data.factory.blueprint import Blueprint
from kernelwright.data.factory.elementwise import broadcast, elementwise
from kernelwright.data.factory.loops import Category
from kernelwright.data.factory.operators import UNARY, Unary
from kernelwright.data.factory.outputs import outputs
from kernelwright.data.factory.products import matmul
from kernelwright.data.factory.reductions import argmax, column_reduction, row_reduction
from kernelwright.data.factory.rows import normalisation, scan_and_pool
from kernelwright.data.factory.scalars import scalars
from kernelwright.data.factory.split import is_kept
from kernelwright.data.factory.weights import weights

CATEGORIES: tuple[tuple[Category, float], ...] = (
    (elementwise, 0.24),
    (broadcast, 0.34),
    (row_reduction, 0.4),
    (column_reduction, 0.7),
    (normalisation, 0.55),
    (matmul, 0.5),
    (scan_and_pool, 0.7),
    (argmax, 0.5),
    (weights, 0.75),
    (scalars, 0.6),
    (outputs, 0.42),
)
"""Generators of all compositions, and the share of them that is kept."""


def families(unary: Sequence[Unary] = UNARY) -> Iterator[Blueprint]:
    """Every family, in a fixed order. Which there are with some operators depends on no others."""
    for category, share in CATEGORIES:
        yield from (one for one in category(unary) if is_kept(one, share))


@lru_cache
def blueprints() -> tuple[Blueprint, ...]:
    """Every family of the suite as it is."""
    return tuple(families())
