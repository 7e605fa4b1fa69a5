"""Mutants of a module: each leaves one thing out, and a problem's cases have to show it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.reference.module import flatten, forward_float64, load_reference
from kernelwright.envs.reference.mutants import MOST, Mutant, mutants_of
from kernelwright.envs.types import Case, Problem, Role

CODE = """import torch
import torch.nn as nn
import torch.nn.functional as F

N = 32
C = 48


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {layer}

    def forward(self, {names}):
        {body}


def get_inputs():
    return [{inputs}]
"""


def problem(
    body: str, layer: str = "pass", names: str = "x", inputs: str = "torch.randn(N, C)"
) -> Problem:
    case = Case(name="time", sizes=(("N", 32),), role=Role.TIME)
    code = CODE.format(body=body, layer=layer, names=names, inputs=inputs)
    return Problem(name="small", code=code, cases=(case,))


def mutants(one: Problem) -> list[Mutant]:
    return mutants_of(one, load_reference(one, one.timed_case()))


def kinds(one: Problem) -> set[str]:
    return {mutant.kind for mutant in mutants(one)}


def output(one: Problem, mutant: Mutant, seed: int = 2) -> list[torch.Tensor]:
    reference = load_reference(one, one.timed_case())
    return mutant.way(reference, reference.draw(1), reference.draw(seed))


def own(one: Problem, seed: int = 2) -> list[torch.Tensor]:
    return flatten(forward_float64(*load_reference(one, one.timed_case()).draw(seed)))


LAYERS = {
    "return F.layer_norm(x, (C,))": {"dropped_epsilon", "dropped_block", "low_precision"},
    "return x / (x.norm(dim=1, keepdim=True) + 1e-6)": {"dropped_epsilon", "dropped_operand"},
    "return F.pairwise_distance(x, x.flip(0))": {"dropped_epsilon"},
    "return F.normalize(x, dim=1)": {"dropped_epsilon", "dropped_block"},
    "return x.mean(dim=1)": {"dropped_tail", "dropped_block", "low_precision"},
    "return torch.cumsum(x, 1)": {"dropped_step"},
    "return torch.where(x > 0, x, x.exp())": {"dropped_branch"},
    "return x.clamp(-1, 1)": {"dropped_branch"},
    "return torch.softmax(x, 1)": {"dropped_block", "dropped_tail"},
    "return x @ x.t()": {"dropped_block", "low_precision"},
    "return torch.cat([x, x * 2], 1)": {"dropped_operand"},
    "return F.scaled_dot_product_attention(x, x, x, is_causal=True)": {"dropped_branch"},
    "x = x.clone()\n        x[x < 0] = 0\n        return x": {"dropped_branch"},
}


@pytest.mark.parametrize("body", LAYERS)
def test_what_a_function_can_lose_is_lost_in_a_mutant(body: str) -> None:
    assert {"constant_argument", "batch_of_one", *LAYERS[body]} <= kinds(problem(body))


MODULES = {
    "nn.LayerNorm(C)": {"dropped_epsilon", "no_affine", "dropped_block"},
    "nn.GroupNorm(4, C)": {"dropped_epsilon", "no_affine", "dropped_block"},
    "nn.BatchNorm1d(C)": {"dropped_epsilon", "no_affine", "constant_state"},
    "nn.Linear(C, 8)": {"dropped_operand", "dropped_block", "dropped_tail", "low_precision"},
    "nn.Sequential(nn.Linear(C, 8), nn.ReLU(), nn.Linear(8, C))": {"dropped_branch"},
    "nn.Softplus()": {"dropped_branch"},
}


@pytest.mark.parametrize("layer", MODULES)
def test_what_a_layer_can_lose_is_lost_in_a_mutant(layer: str) -> None:
    one = problem("return self.layer(x)", f"self.layer = {layer}")
    assert MODULES[layer] <= kinds(one)


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("batch_first", [True, False])
def test_a_recurrent_layer_has_mutants_that_forget_its_beginning(
    layer: str, batch_first: bool
) -> None:
    made = f"self.layer = nn.{layer}(6, 5, batch_first={batch_first})"
    one = problem("return self.layer(x)[0]", made, inputs="torch.randn(16, 16, 6)")
    (half, *_) = [mutant for mutant in mutants(one) if mutant.kind == "dropped_step"]
    exact, found = own(one)[0], output(one, half)[0]
    time = 1 if batch_first else 0
    assert torch.equal(exact.narrow(time, 0, 8), found.narrow(time, 0, 8))
    assert not torch.allclose(exact.narrow(time, 8, 8), found.narrow(time, 8, 8))


RECURRENCE = """h = torch.zeros_like(x[:, 0])
        for t in range(x.shape[1]):
            h = 0.5 * h + x[:, t]
        return h"""


def test_a_loop_that_carries_something_has_mutants_that_forget_it() -> None:
    one = problem(RECURRENCE)
    steps = [mutant for mutant in mutants(one) if mutant.kind == "dropped_step"]
    places = {mutant.place for mutant in steps}
    assert places == {"loop line 16 #1", "loop line 16 #2"}
    x = load_reference(one, one.timed_case()).draw(2)[2][0].double()
    expected = sum(0.5 ** (47 - t) * x[:, t] for t in range(24, 48))
    assert torch.allclose(output(one, steps[0])[0], torch.as_tensor(expected))


def test_a_loop_has_a_mutant_that_takes_half_of_its_turns() -> None:
    one = problem("for _ in range(6):\n            x = x + 1\n        return x")
    (half,) = [mutant for mutant in mutants(one) if mutant.kind == "half_iterations"]
    assert torch.equal(output(one, half)[0], own(one)[0] - 3)


def test_a_function_is_its_own_again_after_a_mutant() -> None:
    one = problem(RECURRENCE)
    reference = load_reference(one, one.timed_case())
    drawn = reference.draw(2)
    before = flatten(forward_float64(*drawn))[0]
    for mutant in mutants_of(one, reference):
        mutant.way(reference, reference.draw(1), drawn)
        assert torch.equal(flatten(forward_float64(*drawn))[0], before)


@given(st.integers(0, 3), st.sampled_from(["relu", "abs", "tanh", "exp"]))
def test_a_mutant_changes_one_call_of_several_alike(turn: int, function: str) -> None:
    body = ["x = x.clamp(-2, 2)"] * 4 + [f"return torch.{function}(x)"]
    one = problem("\n        ".join(body))
    found = [one for one in mutants(one) if one.place.startswith("clamp line")]
    assert len({mutant.place for mutant in found}) == len(found) == 12
    assert f"line {15 + turn}" in found[3 * turn].place


def test_layers_that_run_the_same_line_are_mutated_one_by_one() -> None:
    layer = "self.layer = nn.Sequential(*[nn.Linear(C, C) for _ in range(3)])"
    one = problem("return self.layer(x)", layer)
    biases = [mutant for mutant in mutants(one) if mutant.kind == "dropped_operand"]
    assert len(biases) == 3
    different = {float(output(one, mutant)[0].sum()) for mutant in biases}
    assert len(different) == 3


def test_a_deep_module_has_no_more_mutants_than_can_be_tried() -> None:
    layer = "self.layer = nn.Sequential(*[nn.Linear(C, C) for _ in range(40)])"
    deep = problem("return self.layer(x)", layer)
    assert len(mutants(deep)) == MOST
    assert kinds(deep) == kinds(problem("return self.layer(x)", layer.replace("40", "1")))


def test_what_works_in_place_has_mutants_that_do() -> None:
    one = problem("y = x.clone()\n        y.add_(x * x)\n        return y.relu_()")
    alone = [mutant for mutant in mutants(one) if mutant.place.startswith("add line 16")]
    x = load_reference(one, one.timed_case()).draw(2)[2][0].double()
    found = [output(one, mutant)[0] for mutant in alone]
    assert torch.equal(found[0], x.relu())
    assert torch.equal(found[1], x * x)


def test_a_layer_that_works_in_place_has_mutants_that_differ() -> None:
    one = problem("return self.layer(x * 1.5)", "self.layer = nn.ReLU(inplace=True)")
    (branch,) = [mutant for mutant in mutants(one) if mutant.kind == "dropped_branch"]
    x = load_reference(one, one.timed_case()).draw(2)[2][0].double()
    assert torch.equal(output(one, branch)[0], x * 1.5)


def test_a_sum_at_places_has_a_mutant_with_lost_updates() -> None:
    body = "return torch.zeros(4, dtype=x.dtype).index_add(0, i, x[:, 0])"
    inputs = "torch.randn(N, C), torch.arange(N) % 4"
    one = problem(body, names="x, i", inputs=inputs)
    (lost,) = [mutant for mutant in mutants(one) if mutant.place.startswith("index_add")]
    x = load_reference(one, one.timed_case()).draw(2)[2][0].double()
    assert torch.equal(output(one, lost)[0], x[-4:, 0])
