"""A problem's code runs as a module does that Python imports."""

from __future__ import annotations

import sys

import pytest
import torch

from kernelwright.envs.reference.module import (
    forward,
    forward_float64,
    load_reference,
    shapes_of,
    time_ns,
)
from kernelwright.envs.types import Case, Problem, Role

CONFIGURED = """
from dataclasses import dataclass, field
import torch

@dataclass
class Config:
    width: int = 8
    names: list[str] = field(default_factory=list)

class Model(torch.nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.config = config

    def forward(self, x):
        return x * self.config.width

def get_inputs():
    return [torch.randn(4, Config().width)]

def get_init_inputs():
    return [Config()]
"""

GRADIENT = """
import torch
import torch.nn.functional as F

class Model(torch.nn.Module):
    def forward(self, x, grad):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = F.silu(x)
            (dx,) = torch.autograd.grad(y, x, grad)
        return dx

def get_inputs():
    return [torch.randn(4, 8), torch.randn(4, 8)]
"""


def problem(code: str) -> Problem:
    return Problem(name="p", code=code, cases=(Case(name="c", sizes=(), role=Role.TIME),))


@pytest.mark.parametrize("first", ["", "from __future__ import annotations\n"])
def test_a_problem_may_have_dataclasses_with_its_own_future_imports(first: str) -> None:
    one = problem(first + CONFIGURED)
    model, state, (x,) = load_reference(one, one.cases[0]).draw(0)
    assert torch.equal(forward(model, state, [x]), x * 8)
    assert "problem" not in sys.modules


def test_annotations_of_a_problem_are_values_where_it_does_not_say_otherwise() -> None:
    code = CONFIGURED + "\nassert Model.__init__.__annotations__['config'] is Config\n"
    assert load_reference(problem(code), problem(code).cases[0])


def test_a_module_may_return_gradients_that_it_computes_itself() -> None:
    one = problem(GRADIENT)
    model, state, (x, grad) = load_reference(one, one.cases[0]).draw(0)
    s = x.double().sigmoid()
    right = grad.double() * s * (1 + x.double() * (1 - s))
    assert torch.allclose(forward_float64(model, state, [x, grad]), right)
    assert not forward(model, state, [x, grad]).requires_grad
    assert time_ns(model, (state, [x, grad]), None, in_place=False) > 0
    assert shapes_of(one).spec.outputs[0].shape == (4, 8)
