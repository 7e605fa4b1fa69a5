"""The operators that graphs are drawn from."""

from __future__ import annotations

from kernelwright.data.graphs.operator import Operator
from kernelwright.data.graphs.operators import (
    attention,
    backward,
    convolutions,
    embedding,
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
    *embedding.OPERATORS,
    *attention.OPERATORS,
    *backward.OPERATORS,
    *losses.OPERATORS,
    *products.OPERATORS,
)
SHARES = {
    "activation": 4,
    "arithmetic": 2,
    "binary": 2,
    "elementwise": 4,
    "reduction": 3,
    "scan": 1,
    "normalisation": 4,
    "softmax": 2,
    "pooling": 2,
    "convolution": 4,
    "layout": 2,
    "matmul": 4,
    "attention": 1,
}
"""How often a category is drawn for the first of several statements."""
ALONE = {
    "activation": 9,
    "arithmetic": 8,
    "binary": 11,
    "elementwise": 18,
    "reduction": 10,
    "scan": 12,
    "normalisation": 11,
    "softmax": 4,
    "pooling": 12,
    "convolution": 12,
    "layout": 12,
    "loss": 11,
    "matmul": 10,
    "attention": 2,
    "backward": 12,
}
"""How often a category is drawn for one operator alone: about as many as differ."""
CATEGORIES = tuple(dict.fromkeys((*SHARES, *ALONE)))
"""Those that graphs are drawn of."""
