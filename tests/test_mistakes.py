"""Mistakes that cost minutes are told in a line before those."""

from __future__ import annotations

from pathlib import Path

from kernelwright.data.suites.row_folder import Done, RowFolder
from tests.command import kernelwright
from tests.nouns import RELU_MODULE, cpp_row
from tests.tiny_model import save_tiny

FIXTURES = Path(__file__).parent / "fixtures" / "recipes"


def test_a_dry_run_says_that_a_model_has_no_chat_template(tmp_path: Path) -> None:
    model = save_tiny(tmp_path / "model")
    (model / "chat_template.jinja").unlink()
    words = [f"model.name={model}", f"run_dir={tmp_path / 'run'}", "--dry-run"]
    done = kernelwright("train", str(FIXTURES / "base.yaml"), *words)
    assert done.returncode == 1
    assert "has no chat template" in done.stdout


def test_a_dry_run_says_that_a_model_begins_with_a_thought(tmp_path: Path) -> None:
    model = save_tiny(tmp_path / "model")
    format_file = model / "chat_template.jinja"
    thinks = "{% if add_generation_prompt %}<think>\n{% endif %}"
    format_file.write_text(format_file.read_text() + thinks)
    words = [f"model.name={model}", f"run_dir={tmp_path / 'run'}", "--dry-run"]
    done = kernelwright("train", str(FIXTURES / "base.yaml"), *words)
    assert done.returncode == 1
    assert "begins its answers with a thought" in done.stdout


def test_a_dry_run_says_that_a_folder_has_no_pairs(tmp_path: Path) -> None:
    model, rows = save_tiny(tmp_path / "model"), RowFolder(tmp_path / "rows")
    rows.open({})
    rows.add([Done(id="1", rows=(cpp_row(RELU_MODULE, "int x;"),), wrong=())])
    asked = [f"model.name={model}", f"run_dir={tmp_path / 'run'}", "stages=[dpo, eval]"]
    asked += [f"dpo.pairs=rows:{tmp_path / 'rows'}", "--dry-run"]
    done = kernelwright("train", str(FIXTURES / "base.yaml"), *asked)
    assert done.returncode == 1
    assert "dpo: there is no pair of a better and a worse answer in rows:" in done.stdout


def test_judge_refuses_python_for_a_native_kernel_and_the_other_way_round(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(RELU_MODULE)
    for name, dialect in (("k.cpp", "triton"), ("k.py", "cpp")):
        (tmp_path / name).write_text("")
        words = [str(tmp_path / "m.py"), str(tmp_path / name), "--dialect", dialect]
        done = kernelwright("judge", *words)
        assert done.returncode == 2
        assert f"{name}: {dialect} answers are" in done.stderr


def test_what_is_no_suite_is_told_how_to_become_one(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("")
    for spec, hint in (
        (str(tmp_path / "rows.jsonl"), f"is it rows:{tmp_path}/rows.jsonl, or"),
        ("owner/name", "`kernelwright data import hub:owner/name@REVISION OUT`"),
    ):
        done = kernelwright("suite", "check", spec)
        assert done.returncode == 2
        assert hint in done.stderr
