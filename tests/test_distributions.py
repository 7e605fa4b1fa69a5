"""On which values a kernel is checked: what it may not leave out shows on some of them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from kernelwright.envs.reference.around_limits import AroundLimits
from kernelwright.envs.reference.derive_tolerance import NoiseError
from kernelwright.envs.reference.distributions import (
    DISTRIBUTIONS,
    LIMIT_KINDS,
    OTHERS,
    SAMPLE,
    SPECIAL,
    is_mask,
    with_extremes_at_ends,
)
from kernelwright.envs.reference.drawn_states import drawn_states
from kernelwright.envs.reference.limit_plans import Plan
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


def test_buffers_of_whole_numbers_stay_whole_and_parameters_do_not() -> None:
    limits = torch.tensor([50.0, 65.0, 80.0, 90.0])
    drawn = drawn_states({"limits": limits, "weight": limits.clone()}, ["weight"])
    assert torch.equal(drawn["limits"], drawn["limits"].round())
    assert not torch.equal(drawn["limits"], limits)
    assert not torch.equal(drawn["weight"], drawn["weight"].round())


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


@pytest.mark.parametrize("name", [one for one, kind in DISTRIBUTIONS.items() if kind.states])
def test_what_a_kernel_may_rely_on_in_its_inputs_is_there_in_others(name: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 32, 32)
    triangle, symmetric, rows = x.tril(), x + x.mT, x.sort(dim=-1).values
    plan = Plan(floats=(0, 1, 2), size=130.0, literals=(60.0,))  # a limit's kind knows a module's
    given, own = (triangle, symmetric, rows), DISTRIBUTIONS[name]
    changed = AroundLimits(dict.fromkeys(LIMIT_KINDS, plan)).changed(
        [own.changed(one) for one in given], own
    )
    assert torch.equal(changed[0], changed[0].tril())
    assert torch.equal(changed[1], changed[1].mT)
    assert torch.equal(changed[2], changed[2].sort(dim=-1).values)
    if name != "given":
        assert not any(map(torch.equal, changed, (triangle, symmetric, rows)))


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


def test_the_extremes_of_all_lie_at_the_ends_in_most_draws_and_not_in_all() -> None:
    orders = []
    for seed in range(200):
        torch.manual_seed(seed)
        value = torch.randn(5, 7)
        found = with_extremes_at_ends(value, seed % 3)
        assert torch.equal(found.flatten().sort().values, value.flatten().sort().values)
        first, last = found.flatten()[[0, -1]]
        ends = sorted((float(first), float(last)))
        if ends == [float(value.min()), float(value.max())]:
            orders.append(bool(first > last))
    assert 140 < len(orders) < 180
    assert 0.4 < sum(orders) / len(orders) < 0.6


@pytest.mark.parametrize(
    "value",
    [
        torch.arange(1.0, 40.0),
        torch.randn(8, 8).tril(),
        torch.randn(8, 8) @ torch.ones(8, 8) + torch.eye(8) * float("inf"),
        torch.tensor([1.0, 2.0, 1.0, 2.0]),
        torch.cov(torch.randn(8, 32)),
        torch.empty(0),
        torch.ones(1),
    ],
    ids=["sorted", "triangle", "infinite", "mask", "symmetric", "empty", "one"],
)
def test_what_may_rest_on_its_order_keeps_it(value: torch.Tensor) -> None:
    assert all(with_extremes_at_ends(value, number) is value for number in range(20))


def test_what_a_module_cannot_bear_it_is_not_asked_for() -> None:
    bears = ready("return x.relu()", "torch.randn(N, 8)", "special")
    assert bears.reference.case.distribution == "special"
    divides = ready("return x / x.norm(dim=1, keepdim=True)", "torch.randn(N, 8)", "special")
    assert divides.reference.case.distribution == "special, positive"
    roots = ready("return x.sqrt()", "torch.rand(N) + 0.1", "shifted")
    assert roots.reference.case.distribution == "given"


@pytest.mark.parametrize(
    ("body", "inputs", "distribution", "borne"),
    [
        ("return x.pow(2.5)", "torch.rand(64, N)", OTHERS, f"{OTHERS}, none negative"),
        ("return x.log()", "torch.rand(64, N) + 0.1", OTHERS, f"{OTHERS}, positive"),
        (
            "return x.tanh().argsort(1).argsort(1)",
            "torch.rand(64, N)",
            OTHERS,
            "a few twice as large",
        ),
        ("return x.asin()", "torch.rand(64, N)", OTHERS, "given"),
        ("return x.sqrt()", "torch.rand(64, N)", "special", "special, none negative"),
        ("return 1 / x", "torch.rand(64, N) + 0.1", "special", "special, positive"),
    ],
)
def test_a_module_that_cannot_bear_some_values_is_asked_for_the_next_gentler(
    body: str, inputs: str, distribution: str, borne: str
) -> None:
    """Whether a draw holds a value that shows it is luck: all that may be drawn are tried."""
    found = ready(body, inputs, distribution).reference
    assert found.case.distribution == borne
    assert all(forward_float64(*found.draw(seed)).isfinite().all() for seed in range(40))


@pytest.mark.parametrize("distribution", ["special", "scaled", OTHERS])
def test_a_module_that_raises_for_other_values_is_asked_for_its_own(distribution: str) -> None:
    loss = "return nn.functional.binary_cross_entropy(x, x.square())"
    found = ready(loss, "torch.rand(N)", distribution)
    assert found.reference.case.distribution == "given"


def test_arguments_that_are_one_number_over_and_over_are_drawn() -> None:
    for made in ("torch.ones(N)", "torch.zeros(N)"):
        assert ready("return x * 2", made).reference.draw(1)[2][0].std() > 0.1
    assert ready("return x * 2", "torch.ones(1)").reference.draw(1)[2][0] != 1


def test_one_parameter_that_cannot_be_drawn_does_not_hold_the_others() -> None:
    made = "        self.decay = nn.Parameter(torch.full((64,), 0.45))\n"
    made += "        self.w = nn.Parameter(torch.ones(64))\n"
    body = "return self.w * x * (0.25 - self.decay.square()).sqrt()"
    found = ready(body, "torch.randn(N)", "scaled", made=made).reference
    assert found.case.distribution == "scaled"
    assert found.held == {"decay"}
    state = found.draw(1)[1]
    assert (state["decay"] == torch.tensor(0.45)).all()
    assert state["w"].std() > 0.1


def test_ties_are_made_unless_they_decide_an_index_that_is_not_judged_by_its_value() -> None:
    found = ready("return x.argsort().argsort()", "torch.randn(N, 8)", "special")
    assert found.reference.case.distribution == "given"
    found = ready("return x.topk(3)[1]", "torch.randn(N, 8)", "special")
    assert found.reference.case.distribution == "special"


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
    assert prepare(one, one.cases[0]).tolerances[0].relative > 0


def test_sizes_that_a_module_does_not_survive_are_those_of_the_timed_case() -> None:
    one = problem("return x.view(N // 8, 8)", "torch.randn(N)")
    timed = Case(name="t", sizes=(("N", 64),))
    odd = Case(name="odd", sizes=(("N", 61),), distribution="scaled")
    two = Problem(name="p", code=one.code, cases=(timed, odd))
    assert prepare(two, odd).spec.inputs[0].shape == (64,)
