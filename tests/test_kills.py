"""A stage that is killed in the middle of a step ends, resumed, with the bits of a whole one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.data.runs.metrics import MetricsFile
from kernelwright.data.runs.records import read_records
from tests.tiny_model import save_tiny
from tests.tiny_stages import STAGES

pytestmark = pytest.mark.model

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What tests/tiny_kills.py leaves."""
    folder = tmp_path_factory.mktemp("kills")
    model = save_tiny(folder / "model")
    done = subprocess.run(
        [sys.executable, "-m", "tests.tiny_kills", str(model), str(folder / "runs")],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "runs"


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_killed_within_a_step_ends_bitwise_as_if_it_had_not_been(
    stage: str, runs: Path
) -> None:
    whole, killed = (runs / f"{name}-{stage}" for name in ("whole", "killed"))
    adapter = f"checkpoints/{stage}-final/adapter_model.safetensors"
    assert (whole / adapter).read_bytes() == (killed / adapter).read_bytes()
    losses = [
        [row["loss"] for row in MetricsFile(one).steps() if "loss" in row]
        for one in (whole, killed)
    ]
    assert losses[0] == losses[1]
    assert len(losses[0]) >= 8
    records = [
        sorted((one.id, one.completion) for one in read_records(one)) for one in (whole, killed)
    ]
    assert records[0] == records[1]
