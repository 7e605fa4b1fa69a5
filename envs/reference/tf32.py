"""What TF32 may make of a problem's output: its own module, with the operands of products rounded.

Matrix products and convolutions of float32 are those that a GPU can do in TF32, by 10 bits of
mantissa and with float32 sums. A kernel's instructions may cut the other bits off, or round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.envs.referee.tolerance import (
    BASE,
    HEADROOM,
    Array,
    derive_tolerances,
    overflowed,
    widest_of,
)
from kernelwright.envs.reference.derive_tolerance import MOST_DRAWS, SMALL_INPUTS, terms
from kernelwright.envs.reference.distributions import is_float
from kernelwright.envs.reference.module import array_of, copies, flatten, forward, forward_float64
from kernelwright.envs.reference.prepare import Ready
from kernelwright.envs.reference.products import OPERANDS
from kernelwright.envs.types import Problem, Tolerance

LEFT_OUT_BITS = 13
"""Of float32's 23 bits of mantissa."""

MARGIN = 2.0
"""Allowed error as a multiple of what rounded operands were seen to do. Other draws do as much and
a little more; bfloat16's operands, eight times as coarse, mostly more than twice as much."""


def with_tf32(problem: Problem, ready: Ready) -> Ready:
    """The same case with what TF32 does to it allowed too; a problem's own tolerance stays."""
    if problem.tolerance is not None:
        return ready
    small = sum(math.prod(one.shape) for one in ready.spec.inputs) <= SMALL_INPUTS
    found = [_derived(ready, 1 + number) for number in range(MOST_DRAWS if small else 1)]
    of_each = zip(ready.tolerances, *found, strict=True)
    return replace(ready, tolerances=[widest_of(*of_one) for of_one in of_each])


def _derived(ready: Ready, seed: int) -> list[Tolerance]:
    """For each output the tolerance under which what TF32 makes of a draw passes."""
    drawn = ready.reference.draw(seed)
    own = flatten(forward(*drawn))
    wide = [array_of(one) for one in flatten(forward_float64(*drawn))]
    exact = [
        overflowed(one, array_of(mine).dtype) if is_float(mine) else one
        for one, mine in zip(wide, own, strict=True)
    ]
    dtypes = [str(one.dtype).removeprefix("torch.") for one in own]
    seen = [list(map(_for_this_margin, dtypes, exact, one)) for one in tf32_outputs(*drawn)]
    return derive_tolerances(dtypes, exact, seen, ready.spreads, terms(*drawn[1:], exact))


def _for_this_margin(dtype: str, exact: Array, output: Array) -> Array:
    """The output with errors of which `HEADROOM` is as much as `MARGIN` of its own: beyond what any
    output of this type is allowed."""
    if dtype not in BASE:
        return output
    wide: Any = output.astype(np.float64)
    error: Any = wide - exact
    allowed: Any = BASE[dtype] * np.abs(exact)
    usual: Any = np.clip(error, -allowed, allowed)
    found: Array = exact + usual + MARGIN / HEADROOM * (error - usual)
    return found


def tf32_outputs(model: Any, state: dict[str, Any], arguments: list[Any]) -> list[list[Array]]:
    """The outputs with operands cut, and those with operands rounded to the nearest."""
    found = []
    for nearest in (False, True):
        outputs = flatten(_forward(model, state, arguments, nearest=nearest))
        found.append([array_of(one.detach()).copy() for one in outputs])  # it may keep its own
    return found


def rounded(tensor: torch.Tensor, *, nearest: bool) -> torch.Tensor:
    """Its values in TF32: cut towards zero, or to the nearest. Only float32 has bits to lose."""
    if tensor.dtype is not torch.float32:
        return tensor
    bits = tensor.contiguous().view(torch.int32) + ((1 << (LEFT_OUT_BITS - 1)) if nearest else 0)
    kept = (bits & -(1 << LEFT_OUT_BITS)).view(torch.float32)
    return torch.where(tensor.isfinite(), kept, tensor)


class _Rounding(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Rounds the operands of every product while it is active."""

    def __init__(self, *, nearest: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.nearest = nearest

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: it would import torch's compiler, which takes longer than all the rest."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        places = OPERANDS.get(func._schema.name.removeprefix("aten::").removesuffix("_"), ())
        given = [
            rounded(one, nearest=self.nearest) if place in places else one
            for place, one in enumerate(args)
        ]
        return func(*given, **(kwargs or {}))


def _forward(model: Any, state: dict[str, Any], arguments: list[Any], *, nearest: bool) -> Any:
    """The module's output; what would be one operator by itself is done by products."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    state, arguments = copies(state, arguments)
    with ExitStack() as ended:
        ended.callback(
            torch.backends.mha.set_fastpath_enabled, torch.backends.mha.get_fastpath_enabled()
        )
        torch.backends.mha.set_fastpath_enabled(False)
        ended.callback(torch._C._set_mkldnn_enabled, torch._C._get_mkldnn_enabled())
        torch._C._set_mkldnn_enabled(False)
        ended.enter_context(torch.no_grad())  # in inference mode products stay within operators
        ended.enter_context(sdpa_kernel(SDPBackend.MATH))
        ended.enter_context(_Rounding(nearest=nearest))
        return torch.func.functional_call(model, state, tuple(arguments), tie_weights=False)
