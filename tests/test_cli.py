"""The command line: what each command answers, and with which exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer.main

from kernelwright.cli import app, main
from kernelwright.commands.problem_prompt import ask
from kernelwright.commands.verdict_text import verdict_text
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.environments.verdict_object import verdict_object
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.reference.module import ProblemError
from kernelwright.envs.sandbox.levels import LEVELS
from kernelwright.envs.types import CaseCheck, Check, Evaluation, Task, Timing, Verdict
from kernelwright.machine.facts import own_version
from kernelwright.preflight.check import not_judged_here
from tests.command import kernelwright
from tests.nouns import RELU_KERNEL, RELU_MODULE

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[1]
FIXTURES = Path(__file__).with_name("fixtures") / "recipes"


def commands(group: Any, before: str = "") -> list[str]:
    """Every command of a group, those of its groups too, as they are typed."""
    found: list[str] = []
    for name, one in getattr(group, "commands", {}).items():
        found += [f"{before}{name}", *commands(one, f"{before}{name} ")]
    return found


COMMANDS = commands(typer.main.get_command(app))
NOT_FOR_HELP: tuple[str, ...] = (
    "torch",
    "numpy",
    "transformers",
    "trl",
    "rich",
    "yaml",
    "jinja2",
    "pygments",
)
NOT_FOR_HELP += (
    "rl",
    "evals",
    "data",
    "rewards",
    "kernelwright.envs.judge",
    "kernelwright.envs.dialects.base",
    "packaging",
)
"""What takes time to import; typer itself needs pydantic."""

SIGNATURE = 'extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0)'


SLOW_MODULE = RELU_MODULE.replace("4000", "400000").replace("torch.relu(x)", "torch.sin(x).tanh()")
"""It takes longer than a round costs, on any machine."""
SLOW_KERNEL = "#include <cmath>" + RELU_KERNEL.replace(
    "x[i] > 0 ? x[i] : 0", "std::tanh(std::sin(x[i]))"
)


def judged(folder: Path, answer: str = SLOW_KERNEL) -> subprocess.CompletedProcess[str]:
    problem, kernel = folder / "problem.py", folder / "answer.cpp"
    problem.write_text(SLOW_MODULE, encoding="utf-8")
    kernel.write_text(answer, encoding="utf-8")
    return kernelwright("judge", str(problem), str(kernel), "--dialect", "cpp", "--json")


def registered_below(group: Any) -> list[Any]:
    """The apps that are added to a group, or to one within it."""
    found = [one.typer_instance for one in group.registered_groups]
    return [*found, *(inner for one in found for inner in registered_below(one))]


def test_each_file_of_commands_that_has_an_app_is_registered() -> None:
    """`kernelwright/cli.py` names them: the other files there take longer to import."""
    files = (ROOT / "kernelwright" / "commands").glob("*.py")
    with_app = [one for one in files if re.search(r"^app\b.*=", one.read_text(), re.MULTILINE)]
    apps = {one.stem: import_module(f"kernelwright.commands.{one.stem}").app for one in with_app}
    registered = registered_below(app)
    assert {name for name, one in apps.items() if one not in registered} == set()
    assert {"train", "compare", "suite check", "doctor"} <= set(COMMANDS)


@pytest.mark.parametrize(
    ("command", "flag"),
    [("", "-h"), ("judge", "-h"), *((command, "--help") for command in ("", *COMMANDS))],
)
def test_every_command_has_help_that_imports_nothing_heavy(command: str, flag: str) -> None:
    program = (
        "import sys\n"
        "from kernelwright.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        f"print([name for name in {NOT_FOR_HELP!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *command.split(), flag],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert done.stdout.startswith(f"Usage: kernelwright {command}".strip())
    assert done.stderr == "[]\n"


@pytest.mark.parametrize("module", ["kernelwright", "kernelwright.cli"])
def test_both_modules_are_the_command(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert done.stdout == f"kernelwright {own_version()}\n"


def test_a_typo_in_a_recipe_is_told_with_its_line() -> None:
    done = kernelwright("train", str(FIXTURES / "mistakes.yaml"))
    assert done.returncode == 2
    place = FIXTURES.relative_to(ROOT) / "mistakes.yaml"
    assert f"{place}:11:3: grpo.stepz: unknown key; did you mean 'steps'?" in done.stderr


def test_train_takes_overrides_in_every_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))  # no model is here: nothing to probe
    words = ["grpo.steps=5", "--seed=4", "--sft.epochs", "3"]
    done = kernelwright("train", str(FIXTURES / "base.yaml"), *words, "--dry-run")
    assert done.returncode == 0, done.stderr
    changed = [line.split("#")[0].strip() for line in done.stdout.splitlines() if "command" in line]
    assert changed == ["seed: 4", "epochs: 3.0", "steps: 5"]


def test_judge_tells_a_correct_kernel_in_json(tmp_path: Path) -> None:
    done = judged(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert (told["verdict"], told["reason"], told["trust"]) == ("correct", "ok", "refereed")
    assert told["speedup"]["low"] <= told["speedup"]["median"] <= told["speedup"]["high"]
    assert told["seconds"] > 0
    assert told["sandbox_level"] in LEVELS[1:]
    assert all(one["passed"] for one in told["checks"])


def test_judge_shows_the_signature_that_it_expected(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(RELU_MODULE, encoding="utf-8")
    (tmp_path / "a.cpp").write_text('extern "C" void relu(float* x) {}', encoding="utf-8")
    done = kernelwright("judge", str(tmp_path / "p.py"), str(tmp_path / "a.cpp"))
    assert done.returncode == 1
    assert done.stdout.startswith("build_failed (no_kernel_function)")
    assert done.stdout.endswith(f"expected:\n{SIGNATURE}\n")


def test_prompt_is_what_training_asks(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(RELU_MODULE, encoding="utf-8")
    for dialect in ("cpp", "inline"):
        done = kernelwright("prompt", str(path), "--dialect", dialect)
        assert done.returncode == 0, done.stderr
        assert done.stdout == task_prompt(Task(problem=load_problem(path), dialect=dialect)) + "\n"
        assert (SIGNATURE in done.stdout) == (dialect == "cpp")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("import torch", "import nonsense", "2: ModuleNotFoundError: No module named 'nonsense'"),
        ("torch.relu(x)", "x @ x[1:]", "8: RuntimeError: "),
        ("[torch.randn(N)]", "[torch.randn(N)", "11: not Python: "),
        ("[torch.randn(N)]", "[{}]", "8: TypeError: relu(): argument"),
        ("torch.relu(x)", "'x'", " the module returns a str, not tensors"),
        ("get_inputs", "inputs", " does not define get_inputs"),
    ],
    ids=lambda text: text.strip()[:12],
)
def test_what_is_wrong_with_a_module_is_told_in_a_line(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    path = tmp_path / "p.py"
    path.write_text(RELU_MODULE.replace(before, after), encoding="utf-8")
    with pytest.raises(ProblemError) as caught:
        ask(path, "cpp")
    assert str(caught.value).startswith(f"{path}:{said}")
    assert "\n" not in str(caught.value)


def test_judge_exits_with_1_for_a_kernel_that_does_not_build(tmp_path: Path) -> None:
    done = judged(tmp_path, "nonsense")
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert (told["verdict"], told["speedup"]) == ("build_failed", None)
    assert "nonsense" in told["log"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("judge", "nowhere.py", "nowhere.cpp"), "nowhere.py: No such file or directory"),
        (("judge", "pyproject.toml", "README.md"), "pyproject.toml"),
        (("eval", "smollm2-135m", "--suite", "nonsense"), "no suite 'nonsense'"),
        (("eval", "smollm2-135m", "--suite", "starter", "-n", "2"), "greedy samples"),
        (("publish", "nowhere", "--to", "a/b", "--dry-run"), "nowhere"),
        (("replay", "nowhere", "grpo/0/0"), "nowhere has no records"),
        (("replay", "nowhere", "grpo"), "'grpo' names no record: write STAGE/STEP/ROW"),
        (("report", "nowhere"), "nowhere: not a run"),
        (("prompt", "nowhere.py"), "nowhere.py: No such file or directory"),
        (("prompt", "pyproject.toml"), "pyproject.toml"),
        (("write", "nowhere.py", "--model", "smollm2-135m"), "nowhere.py: No such file"),
        (("write", "m.py", "--model", "nonsense"), "no model 'nonsense'"),
        (("write", "m.py", "--model", "recipes"), "recipes holds no model"),
        (("write", "m.py", "--model", "smollm2-135m", "--temperature", "0"), "all the same"),
        (("write", "m.py", "--model", "smollm2-135m", "--out", "no/k.cpp"), "no/k.cpp: its folder"),
        (("train", "nowhere.yaml"), "nowhere.yaml:1:1: cannot read nowhere.yaml"),
    ],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_wrong_use_is_one_line_and_exit_code_2(words: tuple[str, ...], said: str) -> None:
    done = kernelwright(*words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["replay", "publish"])
@pytest.mark.parametrize("damaged", ["summary.json", "records.jsonl"])
def test_a_damaged_run_is_one_line_that_names_the_file(
    tmp_path: Path, command: str, damaged: str
) -> None:
    final = tmp_path / "checkpoints" / "final"
    final.mkdir(parents=True)
    needed = ("adapter_model.safetensors", "adapter_config.json", "tokenizer_config.json")
    for name in needed:
        (final / name).write_text("{}")
    (tmp_path / "recipe.resolved.yaml").write_text("name: r\n")
    empty: dict[str, object] = {key: {} for key in ("held_out", "gains", "verdicts", "seconds")}
    summary = {**empty, "model": "smollm2-135m", "suite": "starter", "dialect": "cpp"}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    (tmp_path / damaged).write_text("{\n")
    rest = {"replay": ["grpo/0/0"], "publish": ["--to", "a/b", "--dry-run"]}.get(command, [])
    done = kernelwright(command, str(tmp_path), *rest)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith(str(tmp_path))
    assert done.stderr.count("\n") == 1


def test_a_run_that_was_cut_off_is_reported_and_what_is_missing_is_said(tmp_path: Path) -> None:
    (tmp_path / "recipe.resolved.yaml").write_text("name: r\n")
    (tmp_path / "records.jsonl").write_text("{\n")
    done = kernelwright("report", str(tmp_path), "--out", str(tmp_path / "page.html"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path / 'page.html'}\n"
    assert not (tmp_path / "report.html").exists()
    assert "not finished" in done.stderr
    assert "Line 1 of records.jsonl" in done.stderr


def test_a_model_that_is_not_there_leaves_nothing_to_resume(tmp_path: Path) -> None:
    words = ("eval", "no-such-model", "--suite", "starter:held_out", "--out", str(tmp_path / "e"))
    for _ in range(2):
        done = kernelwright(*words)
        assert done.returncode == 2, done.stdout + done.stderr
        assert done.stderr.startswith("no model 'no-such-model'")
        assert done.stderr.count("\n") == 1


def test_what_keeps_the_judge_from_starting_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", "/proc/nowhere")
    done = judged(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "/proc/nowhere: No such file or directory" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")
    done = kernelwright("eval", "m", "--suite", "starter:held_out", "--out", str(taken))
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr == f"{taken}: File exists\n"


def test_eval_refuses_a_dialect_that_this_machine_cannot_judge() -> None:
    why = not_judged_here("cuda")
    if why is None:
        pytest.skip("this machine judges CUDA")
    done = kernelwright("eval", "m", "--suite", "starter:held_out", "--dialect", "cuda")
    assert (done.returncode, done.stderr) == (1, f"{why}\n")


@pytest.mark.parametrize("content", [b"\xf9\x80", b"class Model: ...\0"])
def test_a_problem_that_is_not_text_is_named(tmp_path: Path, content: bytes) -> None:
    problem = tmp_path / "problem.py"
    problem.write_bytes(content)
    done = kernelwright("judge", str(problem), "pyproject.toml")
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith(f"{problem}:")
    assert done.stderr.count("\n") == 1


def test_a_missing_extra_is_one_line_that_says_how_to_install_it() -> None:
    program = (
        "import sys; sys.modules['transformers'] = None; "
        "from kernelwright.cli import app, main; "
        "app.command('fails')(lambda: __import__('transformers')); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "fails"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "transformers is not installed; run `pip install -e '.[eval]'`\n"


# --- what judge prints -------------------------------------------------------------------------


def passed(**rest: object) -> Evaluation:
    check = Check(rounds=(CaseCheck(case="given", passed=True, error=0.5),))
    return Evaluation(verdict=Verdict.CORRECT, reason="ok", check=check, **rest)  # type: ignore[arg-type]


def test_speedup_is_null_without_timing_and_an_interval_with_it() -> None:
    assert verdict_object(passed())["speedup"] is None
    timing = Timing(baseline_ns=(200, 200, 200), candidate_ns=(100, 100, 100))
    told = verdict_object(passed(timing=timing))
    assert told["speedup"] == {"median": 2.0, "low": 2.0, "high": 2.0}
    assert verdict_text(passed(timing=timing)).startswith("correct (ok) · 2.00x (2.00 to 2.00)")


def test_a_failed_case_is_shown_with_its_note() -> None:
    rounds = (CaseCheck(case="odd", passed=False, error=None, note="NaN at 3"),)
    wrong = Evaluation(verdict=Verdict.WRONG, reason="mismatch", check=Check(rounds=rounds))
    assert verdict_text(wrong).splitlines()[1:3] == [
        "the answer: an output is not what the module computes",
        "case odd: NaN at 3",
    ]


# --- doctor ------------------------------------------------------------------------------------


def test_a_shell_completes_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_KERNELWRIGHT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "kernelwright ev")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert kernelwright().stdout.split() == ["eval"]


def test_threads_of_every_command_sleep_while_they_wait_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beside other work on the same cores spinning threads take several times as long."""
    monkeypatch.setattr("sys.argv", ["kernelwright", "--version"])
    for given, wanted in ((None, "10000"), ("7", "7")):
        monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
        if given:
            monkeypatch.setenv("GOMP_SPINCOUNT", given)
        with pytest.raises(SystemExit):
            main()
        assert os.environ["GOMP_SPINCOUNT"] == wanted
