"""Modules in half precision, as KernelBench's `precision` asks for: weights and inputs are cast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernelwright.envs.types import Problem

PRECISIONS = {"fp16": "float16", "bf16": "bfloat16"}
"""KernelBench's name → PyTorch's."""

CAST = """

import torch
Float32 = Model
class Model(Float32):
    # The module above, its weights and inputs in {dtype}.
    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.to(torch.{dtype})
inputs_in_float32 = get_inputs
def get_inputs():
    def in_half(one):
        if isinstance(one, torch.Tensor):
            return one.to(torch.{dtype}) if one.is_floating_point() else one
        if isinstance(one, dict):
            return {{name: in_half(item) for name, item in one.items()}}
        return type(one)(map(in_half, one)) if isinstance(one, (list, tuple)) else one
    return in_half(list(inputs_in_float32()))
"""


def cast(problems: Sequence[Problem], precision: str) -> tuple[Problem, ...]:
    """The problems with weights and inputs of this precision. Raises ValueError."""
    if precision == "fp32":
        return tuple(problems)
    if precision not in PRECISIONS:
        raise ValueError(f"precision={precision} is none of fp32, {', '.join(PRECISIONS)}")
    dtype = PRECISIONS[precision]
    text = CAST.format(dtype=dtype)
    return tuple(replace(one, code=one.code.rstrip() + text, dtype=dtype) for one in problems)
