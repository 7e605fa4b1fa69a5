"""The operators that graphs are drawn from."""

from __future__ import annotations

from kernelwright.data.graphs.operator import Operator
from kernelwright.data.graphs.operators import (
    attention,
    backward,
    convolutions,
    formulas,
    layout,
    losses,
    normalisations,
    pointwise,
    products,
    reductions,
    windows,
)

OPERATORS: tuple[Operator, ...] = (
    *pointwise.OPERATORS,
    *formulas.OPERATORS,
    *reductions.OPERATORS,
    *normalisations.OPERATORS,
    *windows.OPERATORS,
    *convolutions.OPERATORS,
    *layout.OPERATORS,
    *attention.OPERATORS,
    *backward.OPERATORS,
    *losses.OPERATORS,
    *products.OPERATORS,
)
SHARES = {
    "activation": 4,
    "arithmetic": 2,
    "binary": 2,
    "elementwise": 5,
    "reduction": 4,
    "scan": 1,
    "normalisation": 4,
    "pooling": 2,
    "convolution": 3,
    "layout": 3,
    "attention": 1,
    "backward": 3,
    "loss": 3,
    "matmul": 4,
}
"""How often a category is drawn for the first statement of a module."""
