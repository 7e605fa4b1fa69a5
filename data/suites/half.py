"""Modules in half precision, as KernelBench's `precision` asks for: weights and inputs are cast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernelwright.envs.types import Problem

PRECISIONS = {"fp16": "float16", "bf16": "bfloat16"}
"""KernelBench's name → PyTorch's."""
MARK = "\n\n# Cast to half precision.\n"

CAST = """import torch
inputs_in_float32, made_in_float32 = get_inputs, Model.__init__
def _made_in_half(self, *given, **named):
    made_in_float32(self, *given, **named)
    self.to(torch.{dtype})
Model.__init__ = _made_in_half
def get_inputs():
    def in_half(one):
        if isinstance(one, torch.Tensor):
            return one.to(torch.{dtype}) if one.is_floating_point() else one
        if isinstance(one, dict):
            return {{name: in_half(item) for name, item in one.items()}}
        if isinstance(one, tuple) and hasattr(one, "_fields"):
            return type(one)(*map(in_half, one))
        return type(one)(map(in_half, one)) if isinstance(one, (list, tuple)) else one
    return in_half(inputs_in_float32())
"""
"""The class keeps its name, because its own text may name it (`super(Model, self)`). Prompts leave
out `_made_in_half` (envs/prompt.py), and say the type."""


def cast(problems: Sequence[Problem], precision: str) -> tuple[Problem, ...]:
    """The problems with weights and inputs of this precision. Raises ValueError."""
    if precision == "fp32":
        return tuple(problems)
    if precision not in PRECISIONS:
        raise ValueError(f"precision={precision} is none of fp32, {', '.join(PRECISIONS)}")
    dtype = PRECISIONS[precision]
    text = MARK + CAST.format(dtype=dtype)
    return tuple(replace(one, code=one.code.rstrip() + text, dtype=dtype) for one in problems)


def in_any_precision(code: str) -> str:
    """A module's text without what casts it: the same module, whatever its precision."""
    return code.partition(MARK)[0].rstrip()
