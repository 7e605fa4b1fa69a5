"""What a problem's module says of itself is asked of it in the sandbox: it is anybody's code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernelwright.data.suites.case_facts import tried
from kernelwright.data.suites.check import check_many
from kernelwright.data.suites.load import load_suite
from kernelwright.envs.reference import module_facts
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.reference.module import ProblemError, Shapes
from kernelwright.envs.reference.module_facts import ask_each, learn_shapes, timed_shapes
from kernelwright.envs.types import Case, Problem, Role

pytestmark = pytest.mark.sandbox

MODULE = """
import torch
{first}
N = 8


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(N, 3)]
"""


def problem(first: str = "", name: str = "p") -> Problem:
    case = Case(name="timed", sizes=(("N", 16),), role=Role.TIME)
    return Problem(name=name, code=MODULE.format(first=first), cases=(case,))


ASKED: dict[str, Callable[[Problem], object]] = {
    "for a prompt": timed_shapes,
    "for its size": lambda one: tried([one]),
    "for its admission": lambda one: list(check_many([(one, ())])),
}


@pytest.mark.parametrize("why", ASKED)
def test_a_module_that_is_asked_reaches_nothing_of_who_asks(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, planted = tmp_path / "secret", tmp_path / "planted"
    secret.write_text("s")
    monkeypatch.setenv("API_TOKEN", "planted-secret")
    tries = f"""
import os, pathlib
seen = [pathlib.Path({str(secret)!r}).exists(), 'API_TOKEN' in os.environ]
try:
    pathlib.Path({str(planted)!r}).write_text('x')
except OSError:
    seen.append(False)
if any(seen):
    raise ValueError('reached')
"""
    found = ASKED[why](problem(tries, name=why))
    assert not planted.exists()
    assert "failed=''" in repr(found) or isinstance(found, Shapes), found


def test_shapes_are_those_of_the_timed_case() -> None:
    (x,) = timed_shapes(problem()).spec.inputs
    assert (x.name, x.shape, x.dtype) == ("x", (16, 3), "float32")


def test_a_module_that_does_not_run_is_told_by_its_line() -> None:
    with pytest.raises(ProblemError, match="NameError: name 'nothing' is not defined") as caught:
        timed_shapes(problem("nothing"))
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("import os; os._exit(0)", "its process ended"),
        ("import time; time.sleep(600)", "its process ended (timed out)"),
        ("import os; os.write(3, b'nonsense')", "its process answered nonsense"),
        ("import os; os.write(3, b'[]')", "its process answered nonsense"),
    ],
)
@pytest.mark.slow
def test_a_module_that_spoils_its_process_keeps_no_other_from_answering(
    first: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_facts, "ANSWER_LIMIT_S", 6.0 if "sleep" in first else 60.0)
    bad, good = problem(first), problem()
    found = ask_each([good, bad, good], ReferenceProcess.shapes)
    assert isinstance(found[1], ProblemError)
    assert str(found[1]).startswith(said)
    assert [isinstance(one, Shapes) for one in found] == [True, False, True]


def test_what_fails_in_a_batch_is_told_when_it_is_asked_for() -> None:
    learn_shapes([problem("raise ValueError('later')"), problem(name="q")])
    with pytest.raises(ProblemError, match="later"):
        timed_shapes(problem("raise ValueError('later')"))


def test_no_process_is_started_for_modules_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(module_facts, "module_process")
    problems = load_suite("starter:held_out").problems
    learn_shapes(problems)
    assert all(timed_shapes(one).spec.outputs for one in problems[:3])
