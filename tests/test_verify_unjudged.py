"""What was published is not verified where the judge reached no verdict on it."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from kernelwright.commands import verifying
from kernelwright.envs.types import Verdict
from kernelwright.evals.hub.verify import Verified
from kernelwright.evals.hub.verify_kernels import JudgedAgain
from tests.nouns import verdict
from tests.test_compare_runs import RIGHT, compared

LOST = verdict(Verdict.UNJUDGED)


def code_of(found: list[JudgedAgain], monkeypatch: pytest.MonkeyPatch) -> int:
    """What the command ends with where these kernels were judged again so."""
    judged_again = "kernelwright.evals.hub.verify_kernels.verify_kernels"
    monkeypatch.setattr(judged_again, lambda *_: found)
    try:
        verifying.verify_kernels(Path("runs/search"), "me/kernels")
    except typer.Exit as ended:
        return ended.exit_code
    return 0


def test_kernels_of_which_none_was_judged_are_not_verified(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lost, right, wrong = (
        JudgedAgain(name=name, claimed=None, evaluation=one)
        for name, one in (("lost", LOST), ("right", RIGHT), ("wrong", verdict(Verdict.WRONG)))
    )
    assert code_of([lost, lost], monkeypatch) == 1
    assert "no kernel was judged here: nothing is verified" in capsys.readouterr().err
    assert code_of([lost, right], monkeypatch) == 0
    assert code_of([lost, wrong], monkeypatch) == 1
    assert "not correct any more: wrong" in capsys.readouterr().err


def test_a_model_of_whose_answers_none_was_judged_is_not_verified(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = {"a": [RIGHT], "b": [RIGHT]}
    lost = compared(run, {"a": [LOST], "b": [LOST]})
    assert not verifying._holds("me/a", Verified(comparison=lost, same=2, asked=2))
    assert "no problem was judged on both sides: nothing is verified" in capsys.readouterr().err
    same = compared(run, {"a": [LOST], "b": [RIGHT]})
    assert verifying._holds("me/a", Verified(comparison=same, same=2, asked=2))
