"""A problem is made ready with each run done once: nothing comes out otherwise than by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from kernelwright.envs.reference.distributions import GIVEN, judged_cases
from kernelwright.envs.reference.module import forward_float64, load_reference
from kernelwright.envs.reference.prepare import Known, Ready, prepare
from kernelwright.envs.reference.redraws import REDRAWS, SORTED
from kernelwright.envs.reference.runs import FEW_NUMBERS, Runs
from kernelwright.envs.types import Case, Problem

CODE = """
import torch
ROWS = 8
class Model(torch.nn.Module):
    def forward(self, x, order, scale, negative):
        y = x[order] * scale
        return -y if negative else y
def get_inputs():
    return [torch.rand(ROWS, 16), torch.arange(ROWS), 3, False]
"""


def problem() -> Problem:
    cases = (Case(name="small", sizes=(("ROWS", 4),)), Case(name="timed", sizes=(("ROWS", 8),)))
    return Problem(name="ordered", code=CODE, cases=cases)


def of(ready: Ready) -> tuple[Any, ...]:
    reference = ready.reference
    drawn = [one.tolist() if hasattr(one, "tolist") else one for one in reference.draw(5)[2]]
    return ready.spec, ready.tolerances, ready.spreads, ready.levels, reference.redrawn, drawn


def test_cases_that_share_what_hangs_on_their_sizes_are_as_each_is_by_itself() -> None:
    one, known = problem(), Known()
    cases = judged_cases(one, numbers=(3, False))
    for case in cases:
        alone = prepare(one, case, first=False)
        assert of(prepare(one, case, first=False, known=known)) == of(alone)
    assert len(known.loaded) == 2
    assert len({one.redrawn.numbers for one in known.changed.values()}) > 2


def test_a_run_is_kept_and_nudges_start_where_its_draw_ended() -> None:
    one = problem()
    reference = load_reference(one, replace(one.cases[1], distribution=GIVEN))
    runs = Runs(reference)
    seen = runs.of(1)
    after = torch.rand(3)
    assert runs.of(1) is seen
    assert runs.of(2) is runs.of(2)
    seen.restore_generator()
    assert torch.equal(torch.rand(3), after)
    assert seen.exact[0].tolist() == forward_float64(*reference.draw(1)).tolist()


def test_of_large_draws_the_first_alone_is_kept() -> None:
    one = replace(problem(), code=CODE.replace("16)", f"{FEW_NUMBERS})"))
    runs = Runs(load_reference(one, one.cases[0]))
    assert runs.of(1) is runs.of(1)
    assert runs.of(2) is not runs.of(2)


def test_equal_values_of_a_large_table_are_moved_alike_and_others_otherwise() -> None:
    half = torch.linspace(-1, 1, SORTED).sin()
    table = torch.cat([half, half, torch.tensor([0.0, -0.0])])
    torch.manual_seed(1)
    moved = REDRAWS["moved"](table)
    assert torch.equal(moved[:SORTED], moved[SORTED:-2])
    assert moved[-2:].tolist() == [0.0, 0.0]
    steps = (moved - table)[:SORTED]
    assert len(steps.unique()) > SORTED / 4
    assert abs(float(steps.square().mean().sqrt() / half.square().mean().sqrt()) - 0.3) < 0.02
    assert not torch.equal(moved, REDRAWS["moved"](table))
