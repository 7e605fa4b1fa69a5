"""Files that others damaged, made here: each reader says what is wrong in a line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.commands.search_folder import given_kernels
from kernelwright.data.importers.tables import table_rows
from kernelwright.data.runs.folder import EVALUATION_FILE, DamagedError, Folder
from kernelwright.data.runs.metrics import MetricsFile
from kernelwright.data.runs.records import StoreError, read_records
from kernelwright.data.suites.row_folder import FolderError, RowFolder
from kernelwright.data.suites.rows import RowError, read_rows
from kernelwright.envs.types import Case, Problem
from kernelwright.evals.evaluate.answers import Stored, read_answers
from kernelwright.evals.evaluate.model import Attempt, EvalError
from kernelwright.evals.evaluate.written import AnswerStore
from kernelwright.evals.numbers.compiled_baselines import BASELINES_FILE, read_baselines
from kernelwright.evals.numbers.summary import read_summary
from kernelwright.recipe.resolve import RecipeError, resolve
from kernelwright.rl.models.adapter_folder import ADAPTER_CONFIG, SIDECAR, find_adapter
from kernelwright.rl.models.weights import ModelError
from tests.nouns import CODE

PROBLEM = Problem(name="level1/1_P", code=CODE, cases=(Case(name="time", sizes=()),))
DEEP = "[" * 100_000 + "]" * 100_000 + "\n"


def test_what_is_nested_too_deeply_is_told_by_each_reader(tmp_path: Path) -> None:
    for name in ("records.jsonl", "rows.jsonl", "answers.jsonl", "a.json", "summary.json"):
        (tmp_path / name).write_text(DEEP)
    for name in ("env.json", "recipe.resolved.yaml", "made.json"):
        (tmp_path / name).write_text(DEEP)
    with pytest.raises(StoreError, match=r"records.jsonl:1: .*too deeply"):
        read_records(tmp_path)
    with pytest.raises(RowError, match=r"rows.jsonl:1: .*too deeply"):
        read_rows(tmp_path)
    with pytest.raises(ValueError, match=r"answers.jsonl:1: .*too deeply"):
        AnswerStore(tmp_path).read()
    with pytest.raises(ValueError, match=r"a.json: .*too deeply"):
        list(table_rows(tmp_path / "a.json"))
    with pytest.raises(ValueError, match=r"summary.json: .*too deeply"):
        read_summary(tmp_path)
    with pytest.raises(DamagedError, match=r"env.json: nested too deeply"):
        Folder(tmp_path).environment()
    with pytest.raises(DamagedError, match=r"recipe.resolved.yaml: nested too deeply"):
        Folder(tmp_path).recipe()
    with pytest.raises(FolderError, match=r"made.json: .*too deeply"):
        RowFolder(tmp_path).made()


@pytest.mark.parametrize("text", ["{", "[]", "{}", DEEP, '{"base_model_name_or_path": 1}'])
def test_an_adapter_whose_config_is_damaged_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / ADAPTER_CONFIG).write_text(text)
    with pytest.raises(ModelError, match=r"adapter_config.json: "):
        find_adapter(str(tmp_path))
    (tmp_path / SIDECAR).write_text(DEEP)
    with pytest.raises(ModelError, match=r"kernelwright.json: nested too deeply"):
        find_adapter(str(tmp_path))


@pytest.mark.parametrize("text", ["{", "[]", "{}", DEEP, '{"question": 1, "seconds": 2}'])
def test_an_evaluation_whose_question_is_damaged_is_not_gone_on_with(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / EVALUATION_FILE).write_text(text)
    with pytest.raises(EvalError, match=r"eval.json: not what was written here \("):
        Attempt(tmp_path / EVALUATION_FILE, {"model": "a"}).open(resume=True)


@pytest.mark.parametrize("text", ["{", "3", '[{"problem": 1}]', DEEP])
def test_baselines_that_are_damaged_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / BASELINES_FILE).write_text(text)
    with pytest.raises(ValueError, match=r"not what was written here \("):
        read_baselines(tmp_path)


def test_metrics_that_are_nested_too_deeply_are_counted_as_damaged(tmp_path: Path) -> None:
    metrics = MetricsFile(tmp_path)
    metrics.append("grpo", 1, {"loss": 0.5})
    with metrics.path.open("a") as file:
        file.write(DEEP)
    rows, damaged = metrics.read()
    assert ([row["step"] for row in rows], damaged) == ([1], 1)


@pytest.mark.parametrize("text", [DEEP, f"seed: {'9' * 10_000}\n", "seed: 2026-13-45\n"])
def test_a_recipe_that_python_cannot_hold_is_refused_with_its_name(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "recipe.yaml"
    file.write_text(text)
    with pytest.raises(RecipeError, match=r"recipe.yaml:1:1: "):
        resolve(file, [])


def test_a_recipe_that_is_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "recipe.yaml"
    file.symlink_to(file.name)
    with pytest.raises(RecipeError, match="cannot read"):
        resolve(file, [])


def test_a_pipe_in_a_folder_is_refused_and_nobody_waits_for_its_writer(tmp_path: Path) -> None:
    answer, kernel = "level_1_problem_1_sample_0_kernel.cpp", "kernel.cpp"
    for name in ("records.jsonl", "rows.jsonl", "metrics.jsonl", "env.json", answer, kernel):
        os.mkfifo(tmp_path / name)
    readers = (
        lambda: read_records(tmp_path),
        lambda: read_rows(tmp_path),
        lambda: MetricsFile(tmp_path).read(),
        lambda: Folder(tmp_path).environment(),
        lambda: read_answers(Stored(tmp_path), [PROBLEM]),
        lambda: given_kernels(tmp_path / kernel, [PROBLEM], "cpp"),
    )
    for read in readers:
        with pytest.raises(OSError, match="a pipe, expects a file"):
            read()


@pytest.mark.parametrize("line", ['{"id": "a"}', '{"result": 1, "id": "a"}', "[]"])
def test_a_line_of_the_funnel_that_does_not_say_what_became_of_an_item_is_named(
    tmp_path: Path, line: str
) -> None:
    (tmp_path / "funnel.jsonl").write_text(f"{json.dumps({'id': 'b', 'result': 'kept'})}\n{line}\n")
    with pytest.raises(RowError, match=r"funnel.jsonl:2: expects an object with id and result"):
        RowFolder(tmp_path).funnel()


def test_the_command_says_in_one_line_which_file_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text(DEEP)
    found = CliRunner().invoke(app, ["show", str(tmp_path), "grpo/0/1"])
    assert (found.exit_code, found.stderr.count("\n")) == (2, 1)
    assert "records.jsonl:1: not a record (nested too deeply)" in found.stderr
