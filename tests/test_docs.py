"""The pages: their commands and links work, their lists are whole, and they are plainly written."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer.main

from kernelwright.cli import app
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.referee.reasons import WORDS
from kernelwright.envs.types import Verdict
from kernelwright.evals.hub.kernel_module import kernel_module
from kernelwright.evals.page.curves import HEALTH, LEARNING, Series
from kernelwright.launch import FLAGS
from kernelwright.recipe.resolve import resolve
from kernelwright.rewards.price import PRESETS
from kernelwright.rl.methods.find import method_names
from scripts.figure import FIGURE, figure, read_rows
from scripts.prose import HISTORY, of_files, pages
from tests.command import kernelwright

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ALL = [*pages(), *(ROOT / one for one in ("CONTRIBUTING.md", "SECURITY.md", "recipes/README.md"))]
CURRENT = [one for one in ALL if one.parent in (ROOT, DOCS) and one.name != "adding-a-dialect.md"]
"""Pages that name files as they are now; a decision names those of its day."""
COMMAND = re.compile(r"(?:kernelwright|accelerate launch|python -m) [^`\n|]+")
UNNAMED = ("…", "COMMAND")
"""A command with one of these words stands for any."""
METRIC = re.compile(r'"((?:groups|sampled|sampling|validation|seconds|clip_ratio)/\w+)"')
HEADINGS = ["Context", "Decision", "Reason", "Consequences"]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition(HISTORY)[0]


def documented() -> Iterator[tuple[str, list[str]]]:
    """(page, words) of every command in code of a page."""
    for page in ALL:
        code = re.findall(r"`([^`\n]+)`|^(?:    )(\S.*)$|^(\w[^`|]*)$", text_of(page), re.MULTILINE)
        for line in {"".join(one) for one in code}:
            found = COMMAND.match(line.strip().removeprefix(".venv/bin/"))
            if found and not any(word in found[0] for word in UNNAMED):
                words = shlex.split(found[0].partition("  ")[0].partition(" && ")[0])
                yield page.name, words


EVERY = sorted({(page, *words) for page, words in documented()})


@pytest.mark.parametrize("written", EVERY, ids=" ".join)
def test_every_documented_command_exists_with_its_options(written: tuple[str, ...]) -> None:
    _, program, *words = written
    if program == "python":
        assert words[1] == "pytest" or find_spec(words[1]), words
    elif program == "accelerate":
        assert resolve(ROOT / next(one for one in words if one.endswith(".yaml"))).recipe
    elif words[:1] == ["train"] and len(words) > 1:
        changed = [one for one in words[2:] if one not in FLAGS]
        assert resolve(Path(words[1]), changed).recipe
    else:
        command = typer.main.get_command(app)
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]  # type: ignore[attr-defined]
        assert not hasattr(command, "commands") or not words or words[0].startswith("-"), words
        known = {name for one in command.params for name in one.opts} | {"--help", "-h"}
        given = {one.partition("=")[0] for one in words if one.startswith("-")}
        assert given <= known, f"{command.name} has not {sorted(given - known)}"


def test_pages_document_every_command() -> None:
    named = {words[1] for _, *words in EVERY if words[0] == "kernelwright" and len(words) > 1}
    assert named >= set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            name, _, anchor = target.partition("#")
            linked = (page.parent / name) if name else page
            assert linked.exists(), target
            assert not anchor or anchor in anchors(linked), target


@pytest.mark.parametrize("page", CURRENT, ids=lambda page: page.name)
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    for name in re.findall(r"`([\w.-]+/[\w./-]*)`", text_of(page)):
        ours = (ROOT / name.partition("/")[0]).is_dir() and not name.startswith("runs/")
        assert not ours or (ROOT / name).exists(), name


def test_every_page_is_linked_from_the_readme_or_an_index() -> None:
    linked = set()
    indices = ("README.md", "docs/decisions/README.md", "docs/gpus.md", "recipes/README.md")
    for index in (ROOT / one for one in indices):
        found = re.findall(r"\]\(([^)#\s]+)", index.read_text(encoding="utf-8"))
        linked |= {(index.parent / name).resolve() for name in found}
    assert {one for one in pages() if one.name != "README.md"} <= linked


def test_readme_and_docs_are_plainly_written() -> None:
    found = of_files(pages())
    assert found.percentile(0.9) <= 25
    assert len(found.longest) <= 40, " ".join(found.longest)
    assert found.negations_per_100 <= 1.3


def test_the_readme_is_short() -> None:
    assert of_files([ROOT / "README.md"]).words <= 400


def test_decisions_are_numbered_dated_and_whole() -> None:
    records = sorted((DOCS / "decisions").glob("0*.md"))
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    assert [int(one.name[:4]) for one in records] == list(range(1, len(records) + 1))
    for record in records:
        text = record.read_text(encoding="utf-8")
        assert re.search(r"^Date: \d{4}-\d\d-\d\d$", text, re.MULTILINE), record.name
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS, record.name
        assert text.count("\n") <= 66, f"{record.name} is longer than a page"
        assert f"]({record.name})" in index, record.name


def test_the_figure_shows_the_measured_rows() -> None:
    assert FIGURE.read_text(encoding="utf-8") == figure(read_rows())


def test_every_metric_that_training_logs_is_explained() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "rl").rglob("*.py"))
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    for name in set(METRIC.findall(sources)):
        prefix, _, rest = name.partition("/")
        assert f"`{name}`" in page or f"`/{rest}`" in page or f"`{prefix}/…`" in page, name


@pytest.mark.parametrize("series", [*LEARNING, *HEALTH], ids=lambda one: one.key)
def test_every_metric_that_is_drawn_is_explained(series: Series) -> None:
    """In the section of its stage, by its whole name or as the rest of a name before it."""
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {series.stage.upper()}\n")[2].partition("\n## ")[0]
    prefix, slash, rest = series.key.rpartition("/")
    named = (f"`{series.key}`", *((f"`/{rest}`", f"`{prefix}/NAME`") if slash else ()))
    assert any(name in section for name in named), series.key


def test_every_reward_and_method_is_explained() -> None:
    page = (DOCS / "methods.md").read_text(encoding="utf-8")
    assert {name for name in (*PRESETS, *method_names()) if f"`{name}`" not in page} == set()


def test_every_recipe_is_named() -> None:
    pages = (DOCS / name for name in ("training.md", "data.md"))
    page = "".join(one.read_text(encoding="utf-8") for one in pages)
    names = {path.stem for path in (ROOT / "recipes").glob("*.yaml")}
    assert {name for name in names if f"`{name}`" not in page} == set()


def test_the_judges_page_lists_all_verdicts_and_only_real_reasons() -> None:
    page = (DOCS / "judge.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", page, re.MULTILINE)
    known = {"ok", *(reason for reasons in WORDS.values() for reason in reasons)}
    assert [name for name, _ in rows] == list(Verdict)
    for _, reasons in rows:
        for reason in re.findall(r"`([\w:]+)`", reasons):
            begins = reason.startswith(("signal_", "unsupported:"))
            assert reason in known or begins, reason


@pytest.mark.sandbox
def test_the_tutorials_kernel_is_correct_and_its_broken_one_wrong(tmp_path: Path) -> None:
    page = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    module, use = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (kernel,) = re.findall(r"^```cpp\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    problem, right, wrong = (tmp_path / name for name in ("module.py", "kernel.cpp", "wrong.cpp"))
    problem.write_text(module, encoding="utf-8")
    right.write_text(kernel, encoding="utf-8")
    wrong.write_text(kernel.replace("value * value", "value"), encoding="utf-8")
    assert kernelwright("judge", str(problem), str(right)).stdout.startswith("correct (ok)")
    assert kernelwright("judge", str(problem), str(wrong)).stdout.startswith("wrong (mismatch)")
    fast = tmp_path / "fast.py"
    fast.write_text(kernel_module(load_problem(problem), kernel, "cpp", ""), encoding="utf-8")
    line = [sys.executable, "-c", use]
    used = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert used.stdout.startswith("tensor([")
    signature = next(line for line in page.splitlines() if line.startswith('extern "C"'))
    assert signature.removesuffix(" {") in kernelwright("prompt", str(problem)).stdout
