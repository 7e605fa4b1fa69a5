"""Whether two expressions have the same values, by trying many: what is equal for reasons that
nobody wrote down, such as a sign behind which comes an even function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kernelwright.data.graphs.expr import Expr
from kernelwright.data.graphs.mutants.ranges import ANY, Range

Values = NDArray[np.float64]
RELATIVE, ABSOLUTE = 3e-8, 1e-12
"""Half a unit in the last place of float32, and what float64 loses near zero."""
FUNCTIONS: dict[str, Callable[..., Values]] = {
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "max": np.fmax,
    "min": np.fmin,
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    ">": np.greater,
    "<": np.less,
    "where": np.where,
}
_SIZES = np.concatenate([np.logspace(-6, 4, 201), np.linspace(0.0, 12.0, 193)])
POINTS: Values = np.unique(np.concatenate([-_SIZES, _SIZES]))
"""Values of `v`: both signs, six sizes below 1 and four above, and all multiples of 1/16 up to
12."""


def same_values(
    right: Expr, wrong: Expr, known: Mapping[str, Range], then: Sequence[Expr] = ()
) -> bool:
    """Whether both are equal to float32 wherever the names have values within their bounds; after
    these steps on `v`, if any follow. False where an operator is unknown here."""
    low, high = known.get("v", ANY)
    at = POINTS[(low <= POINTS) & (high >= POINTS)]
    if at.size < 2:
        return False
    try:
        one, other = (
            _after(_value(expr, {"v": at}, known), then, known) for expr in (right, wrong)
        )
    except KeyError:
        return False
    return bool(np.allclose(one, other, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True))


def _after(v: Values, steps: Sequence[Expr], known: Mapping[str, Range]) -> Values:
    for step in steps:
        v = _value(step, {"v": v}, known)
    return v


def _value(expr: Expr, given: Mapping[str, Values], known: Mapping[str, Range]) -> Values:
    """Raises KeyError for an operator that is not known."""
    with np.errstate(all="ignore"):
        if expr.op == "number":
            return np.full_like(given["v"], float(str(expr.args[0])))
        if expr.op == "name" and expr.args[0] in given:
            return given[str(expr.args[0])]
        if expr.op in ("name", "at"):
            return _drawn(repr(expr), given["v"].shape, known.get(str(expr.args[0]), ANY))
        parts = [_value(one, given, known) for one in expr.args if isinstance(one, Expr)]
        return np.asarray(FUNCTIONS[expr.op](*parts), dtype=np.float64)


def _drawn(name: str, shape: tuple[int, ...], bounds: Range) -> Values:
    """Numbers for what is read besides `v`: the same for the same name, within bounds."""
    drawn = np.random.default_rng(list(name.encode())).normal(size=shape) * 4
    low, high = bounds
    return np.clip(np.abs(drawn) if low >= 0 else drawn, low, high)
