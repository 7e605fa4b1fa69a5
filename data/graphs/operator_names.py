"""The one name of an operator, whatever PyTorch's functions, methods and layers call it."""

from __future__ import annotations

import re

SAME = {
    "mm": "matmul",
    "bmm": "matmul",
    "mv": "matmul",
    "matmult": "matmul",
    "amax": "max",
    "amin": "min",
    "multiply": "mul",
    "true_divide": "div",
    "subtract": "sub",
    "swish": "silu",
    "absolute": "abs",
    "vectornorm": "norm",
    "t": "transpose",
    "clampmin": "clamp",
    "square": "pow",
    "normalize": "l2norm",
}
NO_OPERATORS = {"size", "dim", "float", "numel", "contiguous", "len", "to", "item", "detach"}
NO_OPERATORS |= {"dropout", "identity", "requiresgrad", "enablegrad", "inferencemode", "clone"}
Operators = tuple[str, ...]


def called(name: str) -> str:
    """An operator's one name.

    >>> called("LeakyReLU"), called("leaky_relu"), called("MaxPool2d"), called("max_pool2d")
    ('leakyrelu', 'leakyrelu', 'maxpool', 'maxpool')
    """
    plain = re.sub(r"\dd$", "", name).replace("_", "").lower()
    return SAME.get(plain, plain)


def known(name: str) -> Operators:
    """The operator of this name; none where it computes nothing."""
    found = called(name)
    return () if name in NO_OPERATORS or found in NO_OPERATORS else (found,)
