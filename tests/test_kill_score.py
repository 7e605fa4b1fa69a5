"""The kill score of a suite: how many mutants of its modules fail on its cases."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.reference.admitted import Admission, MutantRow
from scripts.kill_score import ENOUGH, fate, main, score

CODE = """import torch
import torch.nn as nn

N = 64


class Model(nn.Module):
    def forward(self, x):
        return {expression}


def get_inputs():
    return [torch.randn(N, N)]
"""
ROWS = st.builds(
    MutantRow,
    kind=st.sampled_from(["dropped_tail", "dropped_epsilon"]),
    place=st.just("sum line 1"),
    killed_by=st.sampled_from(["", "time"]),
    kinds=st.sampled_from([(), ("clustered",)]),
    equivalent=st.just(False),
)


def admission(rows: list[MutantRow]) -> Admission:
    return Admission(problem="p", key="0", tried=(), accepted=(), fates=tuple(rows))


@given(st.lists(ROWS, min_size=1))
def test_the_score_is_the_share_that_a_case_shows(rows: list[MutantRow]) -> None:
    shown = sum(bool(one.killed_by or one.kinds) for one in rows)
    assert score([admission(rows)]) == pytest.approx(shown / len(rows))
    assert {fate(one) for one in rows} <= {"given", "kept", "live"}


def test_what_computes_the_same_counts_nowhere() -> None:
    same = MutantRow("dropped_branch", "relu line 1", "", (), equivalent=True)
    assert score([admission([same])]) == 1.0


@pytest.mark.sandbox
def test_the_script_counts_each_mutant_of_a_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    level = tmp_path / "level1"
    level.mkdir()
    epsilon = "x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-5)"
    (level / "1_norm.py").write_text(CODE.format(expression=epsilon))
    out = tmp_path / "rows.jsonl"
    monkeypatch.setattr(sys, "argv", ["kill_score", f"kernelbench:{tmp_path}", "--out", str(out)])
    assert main() == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    (dropped,) = [one for one in rows if one["kind"] == "dropped_epsilon"]
    assert dropped["problem"] == "level1/1_norm"
    assert not dropped["killed_by"]
    assert dropped["kinds"]
    said = capsys.readouterr().out
    assert "kept: near_degenerate 1" in said
    assert float(said.rpartition("; ")[2].partition("%")[0]) >= 100 * ENOUGH
