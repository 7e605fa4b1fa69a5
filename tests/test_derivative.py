"""Derivatives of expressions, and the drawn problems that return gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernelwright.data.graphs import sample
from kernelwright.data.graphs.derivative import derivative
from kernelwright.data.graphs.expr import Expr, V, at, call, sigmoid, where
from kernelwright.data.graphs.operators.activations import ACTIVATIONS, ARITHMETIC
from kernelwright.data.graphs.operators.losses import LOSSES
from kernelwright.data.graphs.operators.registry import OPERATORS
from kernelwright.data.graphs.style import module

BACKWARD = [one for one in OPERATORS if one.category == "backward"]
POINTS = torch.linspace(-4.03, 4.01, 101, dtype=torch.float64)
OTHER = torch.linspace(3.1, -2.9, 101, dtype=torch.float64)
SIGNS: dict[str, Any] = {
    "+": torch.add,
    "-": torch.sub,
    "*": torch.mul,
    "/": torch.div,
    ">": torch.gt,
    "<": torch.lt,
    "neg": torch.neg,
    "max": torch.maximum,
    "min": torch.minimum,
}


def computed(expr: Expr, v: torch.Tensor) -> torch.Tensor:
    """An expression by PyTorch, in float64."""
    if expr.op == "name":
        return v
    if expr.op == "at":
        return OTHER
    if expr.op == "number":
        return torch.tensor(float(str(expr.args[0])), dtype=torch.float64)
    parts = [computed(one, v) for one in expr.args if isinstance(one, Expr)]
    found: torch.Tensor = (SIGNS.get(expr.op) or getattr(torch, expr.op))(*parts)
    return found


def by_autograd(expr: Expr) -> torch.Tensor:
    v = POINTS.clone().requires_grad_(True)
    (found,) = torch.autograd.grad(computed(expr, v).sum(), v)
    return found


def is_derivative(expr: Expr) -> bool:
    found = computed(derivative(expr, V), POINTS).expand_as(POINTS)
    return torch.allclose(found, by_autograd(expr), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("one", [*ACTIVATIONS, *ARITHMETIC], ids=lambda one: str(one.name))
def test_the_derivative_of_an_operator_is_what_autograd_finds(one: Any) -> None:
    assert is_derivative(one.value(**{name: its[0] for name, its in one.attributes}))


@pytest.mark.parametrize("one", LOSSES, ids=lambda one: str(one.name))
def test_the_derivative_of_a_loss_is_what_autograd_finds(one: Any) -> None:
    assert is_derivative(one.value(at("t"), **{name: its[0] for name, its in one.attributes}))


def test_a_wrong_rule_would_be_seen() -> None:
    v = POINTS
    wrong = computed(derivative(call("sin", V), V) + 0.01, v)
    assert not torch.allclose(wrong, by_autograd(call("sin", V)))


def test_derivatives_are_short() -> None:
    assert derivative(V * V, V) == 2.0 * V
    assert derivative(3.0 * V + 1.0, V) == derivative(V + V + V, V)
    assert derivative(call("exp", at("y")), V) == derivative(call("exp", V) - call("exp", V), V)
    assert derivative(where(V > 0.0, V, 0.5 * V), V) == where(V > 0.0, 1.0, 0.5)
    assert derivative(at("y") * V, at("y")) == V


def test_far_values_have_derivatives_that_are_numbers() -> None:
    """Quotients of exponentials would be none."""
    far = torch.tensor([-800.0, 800.0], dtype=torch.float64)
    for one in (sigmoid(V), V * sigmoid(V), V / (1.0 + call("exp", -V))):
        assert computed(derivative(one, V), far).isfinite().all()
    by_name = {one.name: one for one in ACTIVATIONS}
    for name in ("silu", "mish", "softplus", "gelu", "gelu_tanh", "sigmoid", "tanh"):
        assert computed(derivative(by_name[name].value(), V), far).isfinite().all(), name


def test_modules_with_gradients_are_spelled_in_all_ways_and_run_in_inference_mode() -> None:
    texts = []
    for one in BACKWARD:
        for number in range(4):
            graph = sample.alone(one, f"{one.name} {number}")
            if graph is None or len(graph.inputs[0].shape) > 2:
                continue
            code = module(graph, str(number))
            for name, size in graph.constants:
                code = code.replace(f"\n{name} = {size}\n", f"\n{name} = {min(size, 8)}\n")
            space: dict[str, Any] = {}
            exec(code, space)
            model = space["Model"](*space["get_init_inputs"]())
            with torch.inference_mode():
                assert model(*space["get_inputs"]()).isfinite().all(), code
            texts.append(code)
    every = "\n".join(texts)
    for form in ("func.vjp", "func.grad", "autograd.grad", "torch.ops.aten", "grad_output * "):
        assert form in every, form
