"""Runs of earlier versions can be read by every later one. Their files are never regenerated."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kernelwright.data.runs.records import read_records
from kernelwright.envs.codec import to_json
from kernelwright.envs.types import Verdict
from kernelwright.evals.numbers.summary import read_summary
from kernelwright.evals.page.report import write_report

GOLDEN = Path(__file__).parent / "golden"
RUNS = sorted(path for path in GOLDEN.iterdir() if path.is_dir())


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_records_of_an_earlier_version_are_read_whole(run: Path) -> None:
    lines = (run / "records.jsonl").read_text(encoding="utf-8").splitlines()
    records = read_records(run)
    assert len(records) == len(lines)
    assert {one.evaluation.verdict for one in records} >= {Verdict.CORRECT, Verdict.WRONG}
    for record, line in zip(records, lines, strict=True):
        written, kept = json.loads(to_json(record)), json.loads(line)
        assert {name: written[name] for name in kept} == kept


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_report_can_be_made_of_an_earlier_version_s_run(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / run.name
    shutil.copytree(run, folder)
    assert read_summary(folder)["held_out"]
    page = write_report(folder).read_text(encoding="utf-8")
    assert page.count("<table") > 1
