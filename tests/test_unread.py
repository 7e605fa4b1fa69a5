"""Arguments that are the same in every draw are redrawn as a module bears it, or named."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernelwright.envs.reference.admission import check_problem
from kernelwright.envs.reference.bearable_redraws import find_redraws
from kernelwright.envs.reference.distributions import AS_MADE, judged_cases
from kernelwright.envs.reference.module import ProblemError, load_reference
from kernelwright.envs.reference.prepare import Ready, prepare
from kernelwright.envs.types import Case, Problem, Role

HEAD = "import torch\nfrom torch import nn\nN = 32\nB = 8\nT = 16\n"
BAG = "return nn.functional.embedding_bag(i, w, o, mode='sum')"
MEAN = "return (x * (torch.arange(T) < n[:, None])[..., None]).sum(1) / n[:, None]"
SPLIT = "return torch.stack([one.sum(0) for one in x.split(n.tolist())])"
COPIED = "return torch.zeros_like(x).index_copy(0, i, x)"
SAFE_MEAN = MEAN.replace("/ n[:, None]", "/ n[:, None].clamp(min=1)")
LAST = "return x[torch.arange(B), n - 1]"
KEYS = "return (q @ q.mT).masked_fill(m[:, None], -torch.inf).softmax(-1) @ q"


def problem(names: str, body: str, inputs: str, made: str = "", distribution: str = "given") -> Any:
    code = f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    code += f"        {made}\n" if made else ""
    code += f"    def forward(self, {names}):\n        {body}\n"
    code += f"def get_inputs():\n    return [{inputs}]\n"
    small = Case(name="small", sizes=(), distribution=distribution)
    return Problem(name="p", code=code, cases=(small, Case(name="time", sizes=(), role=Role.TIME)))


FLAGGED = "torch.randn(B, N), True, 4"


def ready(*words: str, **more: str) -> dict[str, Ready]:
    one = problem(*words, **more)
    cases = judged_cases(one, numbers=(4,))
    return {case.name: prepare(one, case, first=case is cases[0]) for case in cases}


@pytest.mark.parametrize(
    ("names", "body", "inputs", "redraw"),
    [
        ("x, p", "return x * p.cos()[:, None]", "torch.rand(T, N), torch.arange(T)", "shuffled"),
        ("x, p", "return x[:, p]", "torch.randn(B, N), torch.arange(N).flip(0)", "shuffled"),
        ("x, m", "return (x * m).cumsum(1)", "torch.rand(N, N), torch.ones(N, N).tril()", "flags"),
        ("q, m", KEYS, "torch.randn(B, T, N), torch.zeros(B, T, dtype=torch.bool)", "flags"),
        ("x, n", MEAN, "torch.randn(B, T, N), torch.full((B,), T)", "smaller"),
        ("x, n", SAFE_MEAN, "torch.randn(B, T, N), torch.full((B,), T)", "lengths"),
        ("x, n", LAST, "torch.randn(B, T, N), torch.full((B,), T)", "smaller"),
        ("x, n", SPLIT, "torch.randn(B * 4, N), torch.full((B,), 4)", "counts, some none"),
        ("x, i", COPIED, "torch.randn(T, N), torch.arange(T)", "shuffled"),
        (
            "i, o, w",
            BAG,
            "torch.randint(N, (B * 8,)), torch.arange(0, B * 8, 8), torch.randn(N, 4)",
            "starts, some empty",
        ),
    ],
)
def test_an_argument_is_redrawn_in_every_case(
    names: str, body: str, inputs: str, redraw: str
) -> None:
    number = 1
    for one in ready(names, body, inputs).values():
        assert one.reference.redrawn.tensors == ((number, redraw),)
        draws = [one.reference.draw(seed)[2][number] for seed in (1, 2, 1)]
        assert torch.equal(draws[0], draws[2])
        assert not torch.equal(draws[0], draws[1])
    assert not [
        one for one in check_problem(problem(names, body, inputs)).accepted if "unread" in one
    ]


def test_a_redraw_that_the_module_does_not_bear_gives_way_to_a_gentler_one() -> None:
    body = "return x * (p / (p == p.sort().values).all())[:, None]"
    found = ready("x, p", body, "torch.rand(T, N), torch.arange(0, 3 * T, 3)")["time"]
    assert found.reference.redrawn.tensors == ((1, "sorted"),)
    most = "assert n.max() == T; " + MEAN
    found = ready("x, n", most, "torch.randn(B, T, N), torch.full((B,), T)")["time"]
    assert found.reference.redrawn.tensors == ((1, "smaller, one as given"),)


def test_arguments_that_do_not_go_together_are_redrawn_alone() -> None:
    body = "assert (i == torch.arange(T)).all() or (j == torch.arange(T)).all(); return x[i] + x[j]"
    found = ready("x, i, j", body, "torch.rand(T, N), torch.arange(T), torch.arange(T)")["time"]
    assert found.reference.redrawn.tensors == ((1, "shuffled"),)


def test_numbers_are_others_in_untimed_cases_and_the_candidate_is_told() -> None:
    found = ready("x, k", "return torch.roll(x, k, 1)", "torch.randn(B, N), 5")
    told = {name: one.spec.scalars for name, one in found.items()}
    assert told["time"] == told["time, other values"] == (("k", 5),)
    for name in ("small", "time, other numbers"):
        assert told[name] != (("k", 5),)
        assert found[name].reference.draw(1)[2][1] == told[name][0][1]


def test_a_small_number_is_each_way_that_a_module_knows_and_a_dimension_has_both_signs() -> None:
    ways = "return [x.exp(), x.sin(), x.tanh(), x.abs()][k]"
    dims = "return x.cumsum(k)"
    for body, given, wanted in ((ways, 0, {1, 2, 3}), (dims, 1, {0, -1, -2})):
        one = problem("x, k", body, f"torch.randn(B, N), {given}")
        reference = load_reference(one, one.cases[0])
        found = [find_redraws(reference, numbers=True, turn=turn).numbers for turn in range(3)]
        assert {value for ((_, value),) in found} == wanted


def test_a_number_that_the_module_does_not_bear_or_that_sizes_the_output_stays() -> None:
    words = ("x, k", "return x.topk(k).values", "torch.randn(B, N), 5")
    assert all(one.spec.scalars == (("k", 5),) for one in ready(*words).values())
    found = check_problem(problem(*words))
    assert (found.fixed, found.accepted) == (("k",), ())
    words = ("x, k", "assert k == 5; return x.exp() * k", "torch.randn(B, N), 5")
    found = check_problem(problem(*words))
    assert (found.fixed, found.admitted) == ((), False)
    assert "unread:k" in found.accepted


def test_what_cannot_be_changed_is_named_and_what_is_not_read_is_not() -> None:
    body = "assert (p == torch.arange(T)).all(); return x * p[:, None]"
    found = check_problem(problem("x, p", body, "torch.rand(T, N), torch.arange(T)"))
    assert "unread:p" in found.accepted
    mask = "self.register_buffer('mask', torch.ones(N, N).tril())"
    found = check_problem(
        problem("x", "return (x * self.mask).cumsum(1)", "torch.rand(N, N)", mask)
    )
    assert "unread:mask" in found.accepted
    norm = "self.norm = nn.BatchNorm1d(N)"  # num_batches_tracked is no matter here
    assert check_problem(problem("x", "return self.norm(x)", "torch.randn(B, N)", norm)).admitted


def test_one_that_is_right_where_a_flag_is_not_set_is_no_trivial_answer() -> None:
    inputs = "torch.randn(B, N), torch.tensor(True)"
    assert check_problem(problem("x, f", "return torch.where(f, x.tanh(), x)", inputs)).admitted


def test_by_the_rule_of_others_nothing_is_redrawn() -> None:
    one = problem("x, p, k", "return x[:, p] * k", "torch.randn(B, N), torch.arange(N), 3")
    as_made = Problem(
        name="p", code=one.code, cases=(Case(name="time", sizes=(), distribution=AS_MADE),)
    )
    (case,) = judged_cases(as_made, numbers=(4,))
    assert not prepare(as_made, case).reference.redrawn


@pytest.mark.parametrize("made", ["self.h = torch.randn(N)", "self.h = [torch.randn(N)]"])
def test_a_tensor_that_is_drawn_in_a_plain_attribute_is_named(made: str) -> None:
    listed = "[0]" if "[" in made else ""
    what = "self.h, which" if not listed else "which is neither a parameter nor a buffer"
    with pytest.raises(ProblemError, match=what):
        ready("x", f"return x + self.h{listed}", "torch.randn(B, N)", made)
    ready("x", f"return x + self.h{listed}", "torch.randn(B, N)", made.replace("randn", "ones"))


def test_numbers_behind_a_flag_change_while_it_is_on() -> None:
    """Where all change at once the flag is off, and the window need not be read."""
    one = problem("x, causal, window", "return x.roll(window, 1) if causal else x * 2", FLAGGED)
    cases = {case.name: case for case in judged_cases(one, numbers=(True, 4))}
    found = {name: prepare(one, case, first=False).spec.scalars for name, case in cases.items()}
    assert found["time"] == (("causal", True), ("window", 4))
    (but_flags,) = (spec for name, spec in found.items() if name.endswith("but flags"))
    assert dict(but_flags)["causal"] is True
    assert dict(but_flags)["window"] != 4
    assert dict(found["time, other numbers"])["causal"] is False
