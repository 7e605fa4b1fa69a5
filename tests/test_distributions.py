"""On which values a kernel is checked: what it may not leave out shows on some of them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from kernelwright.envs.reference.derive_tolerance import NoiseError
from kernelwright.envs.reference.distributions import (
    DISTRIBUTIONS,
    OTHERS,
    SAMPLE,
    SPECIAL,
    drawn_states,
    is_mask,
)
from kernelwright.envs.reference.module import forward_float64, load_reference
from kernelwright.envs.reference.prepare import prepare
from kernelwright.envs.types import Case, Problem

HEAD = "import torch\nfrom torch import nn\nN = 64\n"


def problem(body: str, inputs: str, distribution: str = "given", made: str = "") -> Problem:
    code = f"{HEAD}class Model(nn.Module):\n"
    code += f"    def __init__(self):\n        super().__init__()\n{made}"
    code += f"    def forward(self, x):\n        {body}\ndef get_inputs():\n    return [{inputs}]\n"
    return Problem(
        name="p", code=code, cases=(Case(name="a", sizes=(), distribution=distribution),)
    )


def ready(*words: str, **more: str) -> Any:
    one = problem(*words, **more)
    return prepare(one, one.cases[0])


def test_parameters_that_were_made_as_constants_are_drawn() -> None:
    norm = "        self.norm = nn.BatchNorm1d(8)\n"
    reference = ready("return self.norm(x)", "torch.randn(N, 8)", made=norm).reference
    state = reference.draw(1)[1]
    for name in ("norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"):
        assert state[name].std() > 0.01, name
    assert (state["norm.running_var"] > 0).all()
    assert state["norm.num_batches_tracked"] == 0
    again = reference.draw(1)[1]
    assert all(torch.equal(one, again[name]) for name, one in state.items())


def test_an_identity_and_a_small_gate_are_moved_and_a_mask_is_not() -> None:
    mask = torch.ones(4, 4).tril()
    state = {"eye": torch.eye(4), "gate": torch.full((4,), 1e-6), "mask": mask}
    drawn = drawn_states(state, ["eye", "gate"])
    assert (drawn["eye"] - state["eye"]).abs().max() > 0.01
    assert drawn["gate"].min() > 0.1
    assert torch.equal(drawn["mask"], mask)


def test_masks_and_infinities_are_not_scaled() -> None:
    mask = torch.tensor([0.0, 1.0, 1.0])
    hidden = torch.tensor([0.0, -math.inf])
    for one in DISTRIBUTIONS.values():
        assert one.changed(mask) is mask
        assert one.changed(hidden) is hidden
    assert not is_mask(torch.tensor([0.0, 1.0, 2.0]))


@pytest.mark.parametrize("count", [SAMPLE, 2 * SAMPLE + 1, 9 * SAMPLE])
def test_a_mask_is_one_as_a_whole(count: int) -> None:
    mask = torch.zeros(count)
    assert is_mask(mask)
    mask[count // 2 :] = 1
    assert is_mask(mask)
    mask[-1] = 2
    assert not is_mask(mask)
    assert not is_mask(torch.arange(count))


def test_special_values_hold_rows_and_columns_of_zeros_and_edges() -> None:
    torch.manual_seed(0)
    value = DISTRIBUTIONS["special"].changed(torch.randn(40, 30))
    assert (value == 0).all(dim=0).any()
    assert (value == 0).all(dim=1).any()
    assert {float(one) for one in SPECIAL} <= set(value.reshape(-1).tolist())


@pytest.mark.parametrize("shape", [(100, 1000), (7,), (3, 1), (1,), (2, 3, 5)])
def test_a_few_other_values_are_found_by_reading_all_and_hardly_by_a_sample(
    shape: tuple[int, ...],
) -> None:
    torch.manual_seed(0)
    given = torch.rand(shape)
    kept = given.clone()
    found = DISTRIBUTIONS[OTHERS].changed(given)
    assert torch.equal(given, kept)
    assert int((found != given).sum()) <= max(4, given.numel() // 10_000)


def test_now_many_are_others_and_now_a_single_one_and_no_row_has_one_for_sure() -> None:
    torch.manual_seed(0)
    given = torch.rand(100, 1000)
    drawn = [DISTRIBUTIONS[OTHERS].changed(given) != given for _ in range(60)]
    counts = [int(one.sum()) for one in drawn]
    assert min(counts) <= 1
    assert max(counts) >= 7
    rows = torch.stack(drawn).any(dim=2).float().mean(dim=0)
    assert rows.max() < 0.3


def test_what_a_module_cannot_bear_it_is_not_asked_for() -> None:
    bears = ready("return x.relu()", "torch.randn(N, 8)", "special")
    assert bears.reference.case.distribution == "special"
    divides = ready("return x / x.norm(dim=1, keepdim=True)", "torch.randn(N, 8)", "special")
    assert divides.reference.case.distribution == "given"
    roots = ready("return x.sqrt()", "torch.rand(N) + 0.1", "shifted")
    assert roots.reference.case.distribution == "given"


def test_where_ties_decide_an_index_none_are_made() -> None:
    found = ready("return x.topk(3)[1]", "torch.randn(N, 8)", "special")
    assert found.reference.case.distribution == "given"


def test_an_output_that_is_rounding_noise_is_refused() -> None:
    with pytest.raises(NoiseError, match="rounding noise"):
        ready("return (x + 1e9) - 1e9 - x", "torch.randn(N)")


def test_a_recurrent_module_runs_in_float64_though_it_makes_its_state_in_float32() -> None:
    made = "        self.cell = nn.GRU(4, 5)\n"
    one = problem("return self.cell(x, torch.zeros(1, 3, 5))[0]", "torch.randn(6, 3, 4)", made=made)
    drawn = load_reference(one, one.cases[0]).draw(1)
    assert forward_float64(*drawn).dtype == torch.float64


def test_a_module_that_insists_on_float32_is_judged_in_its_own_type() -> None:
    made = "        self.cell = nn.GRU(4, 5)\n"
    state = "torch.zeros(1, 3, 5, dtype=torch.float32)"
    one = problem(f"return self.cell(x, {state})[0]", "torch.randn(6, 3, 4)", made=made)
    drawn = load_reference(one, one.cases[0]).draw(1)
    assert forward_float64(*drawn).dtype == torch.float32
    assert torch.get_default_dtype() == torch.float32
    assert prepare(one, one.cases[0]).tolerance.relative > 0


def test_sizes_that_a_module_does_not_survive_are_those_of_the_timed_case() -> None:
    one = problem("return x.view(N // 8, 8)", "torch.randn(N)")
    timed = Case(name="t", sizes=(("N", 64),))
    odd = Case(name="odd", sizes=(("N", 61),), distribution="scaled")
    two = Problem(name="p", code=one.code, cases=(timed, odd))
    assert prepare(two, odd).spec.inputs[0].shape == (64,)
