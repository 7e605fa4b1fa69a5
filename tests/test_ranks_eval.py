"""An evaluation of several processes asks, judges and reports what one of one process does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.runs.records import read_records
from kernelwright.data.suites.load import Suite, load_suite
from kernelwright.evals.evaluate.model import evaluate_model
from kernelwright.evals.evaluate.run import EvalSettings
from tests.given_kernels import SUITE

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[1]
PROBLEMS, SAMPLES = 4, 3
LAUNCH = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


def launched(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *LAUNCH, "-m", "kernelwright", "eval", "--suite", SUITE, *words],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "CUDA_VISIBLE_DEVICES": "",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def told(out: Path) -> tuple[list[Any], dict[str, Any]]:
    """What must not depend on how many processes there are: a speed is measured anew."""
    seen = [
        (one.id, one.completion, one.evaluation.verdict, one.evaluation.reason, bool(one.reward))
        for one in read_records(out)
    ]
    measured = json.loads((out / "summary.json").read_text())["held_out"]["measured"]
    kept = ("n", "correct", "correct_rate", "correct_rate_ci", "pass_at")
    return sorted(seen), {key: measured[key] for key in kept if key in measured}


def test_two_processes_share_the_problems_and_leave_the_report_of_one(tmp_path: Path) -> None:
    for name in ("alone", "both"):
        (tmp_path / name).mkdir()
    whole = load_suite(SUITE)
    settings = EvalSettings(
        dialect="cpp", samples=SAMPLES, max_new_tokens=512, temperature=1.0, versions={}
    )
    suite = Suite(spec=whole.spec, problems=whole.problems[:PROBLEMS])
    evaluate_model(f"tests.given_kernels:{tmp_path / 'alone'}", suite, settings, tmp_path / "one")
    words = ["--problems", str(PROBLEMS), "-n", str(SAMPLES), "--temperature", "1"]
    model = f"tests.given_kernels:{tmp_path / 'both'}"
    done = launched(model, *words, "--out", str(tmp_path / "two"))
    assert done.returncode == 0, done.stderr[-3000:]
    records, measured = told(tmp_path / "two")
    assert (records, measured) == told(tmp_path / "one")
    assert len(records) == measured["n"] == PROBLEMS * SAMPLES
    assert measured["correct"] == PROBLEMS
    assert done.stdout.replace("\n", "").count("report.html") == 1
    asked = [set((tmp_path / "both" / f"asked-{rank}").read_text().split()) for rank in (0, 1)]
    assert [len(one) for one in asked] == [PROBLEMS * SAMPLES / 2] * 2
    assert not asked[0] & asked[1]
