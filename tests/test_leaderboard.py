"""A leaderboard of the Hub reads what a run measured from a file beside the model."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kernelwright.evals.hub.publish import REPLACED, Extras, publish
from kernelwright.evals.hub.upload import PublishError
from tests.test_publish import HERE, run_folder, tree_of


def test_a_leaderboard_of_the_hub_gets_the_figures_of_its_data_set(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    hub = pytest.importorskip("huggingface_hub", minversion="1.4")
    revision = "5503434ddd753f426f4b38109466949a1217c2bb"
    where = f"me/kernel-problems@{revision}"
    tree = Path(publish(run, HERE, Extras(measured_on=where), dry_run=True)[0])
    written = yaml.safe_load((tree / ".eval_results" / "kernelwright.yaml").read_text())
    found = hub.parse_eval_result_entries(written)
    assert [(one.task_id, one.value) for one in found] == [("correct_rate", 0.0), ("fast_1", 0.0)]
    assert {(one.dataset_id, one.dataset_revision) for one in found} == {
        ("me/kernel-problems", revision)
    }
    said = "3 answers to starter, cpp, 2 cores; 95 % interval 0 to 0.5615"
    assert [one.notes for one in found] == [said, said]
    assert not (tree_of(run) / ".eval_results").exists(), "unless it is asked for"
    assert ".eval_results/kernelwright.yaml" in REPLACED, "and the Hub's is of earlier weights then"
    with pytest.raises(PublishError, match="is no data set of the Hub: give owner/name"):
        publish(run, HERE, Extras(measured_on="problems"), dry_run=True)
