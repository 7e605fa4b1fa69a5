"""The launch of a recipe: as a program, by accelerate, by torchrun, by the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.launch import start
from kernelwright.recipe.resolve import RecipeError, parse_overrides, resolve

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[1]
FIXTURES = Path(__file__).with_name("fixtures") / "recipes"
HEADER = (
    'if __name__ == "__main__": import kernelwright.launch; '
    'kernelwright.launch.run(__file__); r"""\n'
)


@pytest.fixture(autouse=True)
def _no_model_is_here(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a dry run has nothing to probe."""
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def launched(recipe: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(recipe), *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
        timeout=60,
        check=False,
    )


def test_a_recipe_runs_as_a_program_with_overrides() -> None:
    words = ["--dry-run", "--json", "--grpo.steps", "17"]
    done = launched(ROOT / "recipes" / "quickstart.yaml", *words)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["recipe"]["grpo"]["steps"] == 17
    assert told["origins"]["grpo.steps"] == "command line"
    assert "17 steps" in told["estimates"]["grpo"]
    assert told["reasons"] == []


def test_json_is_of_a_dry_run_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert start(Path("quickstart"), as_json=True) == 2
    assert capsys.readouterr().err.startswith("--json goes with --dry-run")


def test_only_the_first_rank_speaks_and_all_ranks_fail() -> None:
    recipe = ROOT / "recipes" / "quickstart.yaml"
    first, second = (launched(recipe, "grpo.stepz=1", RANK=rank) for rank in ("0", "1"))
    assert (first.returncode, second.returncode) == (2, 2)
    assert first.stderr == "command line: grpo.stepz: unknown key; did you mean 'steps'?\n"
    assert second.stderr == ""


def test_packages_of_the_same_names_elsewhere_do_not_come_first(tmp_path: Path) -> None:
    for name in ("data", "envs", "evals", "rewards", "rl"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError(__file__)\n")
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    done = launched(ROOT / "recipes" / "quickstart.yaml", "--dry-run", PYTHONPATH=path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_accelerate_launch_does_what_the_command_does_and_two_ranks_speak_once() -> None:
    words = [str(ROOT / "recipes" / "quickstart.yaml"), "grpo.oversampled_groups=0", "--dry-run"]
    command = "from kernelwright.cli import main; main()"
    launch = ["-m", "accelerate.commands.launch"]
    ranks = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    for start_with in (launch, ranks):
        printed = [
            subprocess.run(
                [sys.executable, *before, *words],
                capture_output=True,
                text=True,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
                timeout=120,
                check=True,
            ).stdout
            for before in (start_with, ["-c", command, "train"])
        ]
        assert printed[0] == printed[1]
        assert "3 steps" in printed[0]


def test_checking_a_recipe_imports_nothing_heavy() -> None:
    program = (
        "import sys; from pathlib import Path; from kernelwright.launch import start; "
        f"code = start(Path({str(FIXTURES / 'mistakes.yaml')!r})); "
        "assert code == 2; "
        "print({'torch', 'transformers', 'trl', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "set()"


def test_overrides_are_a_tree_of_their_own() -> None:
    assert parse_overrides(["a.b=1", "--a.c", "x"]).values == {"a": {"b": 1, "c": "x"}}


def test_rows_must_split_evenly_over_the_processes() -> None:
    recipe = ROOT / "recipes" / "quickstart.yaml"
    done = launched(recipe, "--dry-run", "sft.batch_size=2", WORLD_SIZE="5")
    assert "sft.batch_size (2) cannot be split evenly over 5 processes" in done.stdout
    assert "groups_per_step (4) cannot be split evenly over 5 processes" in done.stdout
    assert "split evenly" not in launched(recipe, "--dry-run", WORLD_SIZE="2").stdout


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("steps=12", "steps: unknown key; did you mean 'grpo.steps'?"),
        ("stagez=[sft]", "stagez: unknown key; did you mean 'stages'?"),
        ("name=a b", "name: letters, digits and . _ - after a first letter or digit, not 'a b'"),
    ],
)
def test_a_mistake_says_what_was_meant(word: str, told: str) -> None:
    with pytest.raises(RecipeError) as caught:
        resolve(FIXTURES / "base.yaml", [word])
    assert caught.value.lines == [f"command line: {told}"]
