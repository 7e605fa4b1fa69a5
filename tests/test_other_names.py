"""A module's parameters reach an answer under the names that the answer has for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.guest.rounds import paired
from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Candidate

FOLDER = Path(__file__).parents[1] / "data" / "answers" / "dialects"
INLINE = (FOLDER / "inline.py").read_text()
LAYER = "self.linear = nn.Linear(width, 32)"
OWN = """import torch
        self.weight = nn.Parameter(torch.empty(32, width))
        self.bias = nn.Parameter(torch.zeros(32))"""


def spec(*shape: int, dtype: str = "float32", fill: float | None = None) -> dict[str, object]:
    return {"shape": list(shape), "dtype": dtype, "fill": fill}


def test_a_state_goes_to_its_own_name_else_to_the_first_left_of_its_kind() -> None:
    mine = {
        "gain": torch.ones(4),
        "bias": torch.zeros(4),
        "w": torch.ones(4, 2),
        "half": torch.ones(4, 2).half(),
        "extra": torch.ones(4, 2),
    }
    theirs = {
        "fc.weight": spec(4, 2),
        "bias": spec(4),
        "norm.weight": spec(4),
        "steps": spec(dtype="int64"),
    }
    assert paired(mine, theirs) == ["w", "bias", "gain", None]


def test_no_two_states_go_to_one_name() -> None:
    mine = {"a": torch.ones(3), "b": torch.ones(3)}
    assert paired(mine, {"x": spec(3), "a": spec(3), "y": spec(3)}) == ["b", "a", None]


def test_what_is_made_full_of_one_value_goes_to_what_is_too() -> None:
    mine = {"beta": torch.zeros(4), "gamma": torch.ones(4), "table": torch.arange(4.0)}
    theirs = {"weight": spec(4, fill=1.0), "scale": spec(4), "bias": spec(4, fill=0.0)}
    assert paired(mine, theirs) == ["gamma", "table", "beta"]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(workers=1) as judge:
        yield judge


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("made", "weight", "bias", "reason"),
    [
        (OWN, "self.weight", "self.bias", "ok"),
        (OWN, "self.weight", "self.weight", "forward_raised"),
        (
            f"{LAYER}; self.register_buffer('two', nn.Linear(1, 32).bias.detach())",
            "self.linear.weight",
            "self.linear.bias",
            "ok",
        ),
        (
            f"{LAYER}; self.other = nn.Linear(width, 32)",
            "self.other.weight",
            "self.linear.bias",
            "mismatch",
        ),
        (
            "self.linear = nn.Linear(width, 32, bias=False)",
            "self.linear.weight",
            "self.linear.weight[:, 0].contiguous()",
            "other_parameters",
        ),
    ],
)
@pytest.mark.slow
def test_an_answer_is_judged_on_the_modules_weights_by_whatever_name(
    judge: Judge, made: str, weight: str, bias: str, reason: str
) -> None:
    problem = load_problem(FOLDER / "problem.py")
    source = INLINE.replace(LAYER, made).replace(
        "self.linear.weight, self.linear.bias", f"{weight}, {bias}"
    )
    source = source.replace("TORCH_CHECK(", 'TORCH_CHECK(b.dim() == 1, "a row"); TORCH_CHECK(')
    candidate = Candidate(problem_key=problem.key, dialect="inline", source=source)
    found = judge.evaluate(problem, candidate, timed=False)
    assert found.reason == reason, found.log
