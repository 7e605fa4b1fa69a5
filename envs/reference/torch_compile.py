"""Compiles a module with torch.compile in the reference process, as the second baseline.

All compiling is done here, before a timed round. A round that would need more of it (a branch that
no draw took) runs that part as eager PyTorch does.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import torch

from kernelwright.envs.reference.module import ProblemError, flatten, forward
from kernelwright.envs.system.paths import cache_folder

DRAWS = 3
"""Draws that are run while compiling: a module may take another branch for other values."""

GROSS = 0.01
"""A mean difference that rounding does not explain, as a share of the output's mean size."""


def compile_module(
    model: Any, drawn: Callable[[int], tuple[Any, dict[str, Any], list[Any]]]
) -> None:
    """Compiles in place, in inductor's default mode, on this core and with no process left behind.

    `drawn` gives what `Reference.draw` gives, on the device of the module. Raises what
    torch.compile raises, and ProblemError where the result computes something else.
    """
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(cache_folder() / "inductor")
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    # A process compiles one problem: headers compiled ahead for the next would take longer.
    torch._inductor.config.cpp_cache_precompile_headers = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # A module that was compiled before has left the other stance behind.
        torch.compiler.set_stance("default")
        model.compile()
        for seed in range(DRAWS):
            eager, state, arguments = drawn(seed)
            wanted = flatten(forward(eager, state, arguments))
            found = flatten(forward(model, state, arguments))
            if not all(_alike(*pair) for pair in zip(found, wanted, strict=True)):
                raise ProblemError("compiled, the module computes something else")
    torch.compiler.set_stance("eager_on_recompile")


def _alike(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Whether two outputs differ by no more than rounding may make of them."""
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return False
    gaps = torch.where(found == wanted, 0.0, (found.double() - wanted.double()).abs())
    gaps = gaps[~(found.isnan() & wanted.isnan())]
    size = wanted.double().abs().nan_to_num(0.0, 0.0, 0.0).mean()
    return not gaps.numel() or bool(gaps.mean() <= GROSS * size + torch.finfo(torch.float32).tiny)
