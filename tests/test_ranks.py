"""Several processes do what one does: the same steps, the same figures, the same records."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from kernelwright.data.runs.metrics import MetricsFile
from kernelwright.data.runs.records import read_records
from tests.tiny_model import save_tiny
from tests.tiny_stages import train_all

pytestmark = pytest.mark.model

ROOT = Path(__file__).parents[1]
KINDS = ("sft", "dpo", "grpo", "grpo-stock")
"""What tests/tiny_stages.py trains, each in a folder of its own."""
FIGURES = (
    *("loss", "grad_norm", "groups/", "verdict/", "reward_part/", "sampled/", "speedup_mean"),
    "advantage_share/",
)
"""What a step's figures begin with that are of all rows; others are times, or TRL's means of means.
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """What one process leaves, and what two leave."""
    folder = tmp_path_factory.mktemp("ranks")
    model = save_tiny(folder / "model")
    train_all(model, folder / "one")
    launch = ["torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [sys.executable, "-m", *launch, "-m", "tests.tiny_stages", str(model), str(folder / "two")],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        check=False,
        timeout=300,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "one", folder / "two"


def adapter(folder: Path, kind: str) -> torch.Tensor:
    stage = kind.partition("-")[0]
    weights = load_file(folder / kind / f"checkpoints/{stage}-final/adapter_model.safetensors")
    return torch.cat([weights[name].flatten() for name in sorted(weights) if "lora_B" in name])


@pytest.mark.parametrize("kind", KINDS)
def test_two_processes_take_the_steps_of_one_up_to_rounding(
    kind: str, folders: tuple[Path, Path]
) -> None:
    """Steps in proportion to the gradient, on the same examples, or on given answers."""
    alone, both = (adapter(folder, kind) for folder in folders)
    assert alone.norm() > 0.1, "nothing was learned"
    assert float((alone - both).norm() / alone.norm()) < 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_the_figures_of_a_step_are_those_of_all_its_rows_whoever_has_them(
    kind: str, folders: tuple[Path, Path]
) -> None:
    def told(folder: Path) -> list[dict[str, Any]]:
        rows = MetricsFile(folder / kind).steps()
        return [{k: v for k, v in row.items() if k.startswith(FIGURES)} for row in rows]

    alone, both = map(told, folders)
    assert len(alone) == len(both) == 4
    for one, other in zip(alone, both, strict=True):
        assert one.keys() == other.keys()
        assert other == pytest.approx(one, rel=1e-3, abs=1e-5)
    if kind == "grpo":
        live = [one["groups/live"] for one in both]
        assert 1 in live, "in no step had one of the two nothing to learn from"


def test_two_processes_keep_the_records_that_one_keeps(folders: tuple[Path, Path]) -> None:
    def kept(folder: Path) -> list[tuple[Any, ...]]:
        found = read_records(folder / "grpo")
        return sorted(
            (one.step, one.row, one.completion, one.evaluation.verdict, str(one.credit))
            for one in found
        )

    alone, both = map(kept, folders)
    assert alone == both
    assert len(alone) == 4 * 8
