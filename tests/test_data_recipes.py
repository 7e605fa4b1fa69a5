"""Recipes of data sets: the whole build from one file, with quotas, limits, a log and a resume."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.data.graphs.build import Build, BuildError, Draw, Recipe, Wanted
from kernelwright.data.graphs.build_log import LOG
from kernelwright.data.graphs.operators.registry import CATEGORIES
from kernelwright.data.graphs.problem import problem_of
from kernelwright.data.graphs.quotas import PATIENCE, Quotas
from kernelwright.data.graphs.sample import draw
from kernelwright.data.suites.row_folder import Done, RowFolder
from kernelwright.data.suites.rows import Row
from kernelwright.envs.types import Verdict
from kernelwright.recipe.data_recipe import resolve_data
from kernelwright.recipe.resolve import resolve
from kernelwright.recipe.yaml_tree import RecipeError
from kernelwright.run.data_build import build_data, data_dry_run, recipe_of
from tests.command import ROOT, kernelwright

SMALL = str(ROOT / "recipes" / "data-small.yaml")
BUILD = ("count=3", "batch=1", "judge.timed=false", "seed=3")


def mistakes(what: str, *overrides: str) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        resolve_data(what, overrides)
    return caught.value.lines


@pytest.mark.parametrize(
    "path", sorted((ROOT / "recipes").glob("data*.yaml")), ids=lambda path: path.stem
)
def test_every_shipped_recipe_of_a_data_set_resolves(path: Path) -> None:
    assert resolve_data(str(path)).recipe.out == Path("rows") / path.stem
    with pytest.raises(RecipeError, match=f"kernelwright data build {path}"):
        resolve(path)


def test_a_recipe_its_overrides_and_the_options_set_the_same_keys() -> None:
    words = ["quotas.largest_share=0.5", "--mutants", "1", "count=5"]
    recipe = resolve_data(SMALL, words, {"count": 7, "exclude": ["exam"]}).recipe
    assert (recipe.quotas.largest_share, recipe.quotas.least_share) == (0.5, 0.015)
    assert (recipe.mutants, recipe.count, recipe.exclude) == (1, 7, ("exam",))
    plain = resolve_data("rows", ["seed=2"], {"dialects": ["cuda"]}).recipe
    assert (plain.out, plain.seed, plain.dialects) == (Path("rows"), 2, ("cuda",))


def test_every_mistake_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("out: rows\ncuont: 3\nexport: [trll]\nbatch: 0\n", encoding="utf-8")
    said = mistakes(str(path), "dialects=[cpp, inline]")
    assert f"{path}:2:1: cuont: unknown key; did you mean 'count'?" in said
    assert any(one.startswith(f"{path}:3:1: export.0: no layout is named 'trll'") for one in said)
    assert any(one.startswith(f"{path}:4:1: batch: ") for one in said)
    assert any(one.startswith("command line: dialects.1: no dialect") for one in said)
    (same,) = mistakes(SMALL, "max_examples.cpp=3")
    assert "leave one dialect without" in same


def test_a_dry_run_is_a_recipe_that_says_the_same(tmp_path: Path) -> None:
    resolved = resolve_data(SMALL, ["seed=9"])
    text = data_dry_run(resolved)
    assert re.search(r"^seed: 9 +# command line$", text, re.MULTILINE)
    path = tmp_path / "again.yaml"
    path.write_text(text, encoding="utf-8")
    assert resolve_data(str(path)).recipe == resolved.recipe


def test_no_category_is_above_its_quota_and_each_has_its_least_share() -> None:
    quotas = Quotas(count=200, largest_share=0.2, least_share=0.05)
    seen, dropped = set[str](), Counter[str]()
    for index in range(4000):
        graph = draw(5, index)
        if graph.signature in seen or quotas.taken.total() == quotas.count:
            continue
        seen.add(graph.signature)
        if why := quotas.refusal(graph.category, index):
            dropped[why.partition(" ")[0]] += 1
        else:
            quotas.taken[graph.category] += 1
    assert quotas.taken.total() == quotas.count
    assert set(quotas.taken) == set(CATEGORIES)
    assert all(10 <= many <= 40 for many in quotas.taken.values()), quotas.taken
    assert dropped["the"]


def test_no_place_is_kept_for_what_is_not_drawn() -> None:
    quotas = Quotas(count=20, least_share=0.05, taken=Counter(scan=11))
    assert "places are for categories with fewer than 1" in quotas.refusal("scan", PATIENCE)
    assert not quotas.refusal("loss", PATIENCE)
    assert not quotas.refusal("scan", PATIENCE + 1)


def test_a_module_of_several_statements_is_of_the_first_that_is_no_step_on_elements() -> None:
    graphs = [draw(0, index) for index in range(300)]
    several = Counter(one.category for one in graphs if len(one.nodes) > 1)
    assert set(several) <= set(CATEGORIES)
    assert sum(several[one] for one in ("activation", "arithmetic", "binary")) < 40


def test_draws_over_quota_stand_in_the_funnel(tmp_path: Path) -> None:
    build = Build.begin(tmp_path, Recipe(seed=0, largest_share=0.1, dialects=("cpp",)))
    quotas = Quotas(count=10, largest_share=0.1, taken=build.kept)
    drawn = build._draws(quotas, 8)
    full = [one for one in drawn if one.why.startswith("over quota: ")]
    assert len(drawn) - len(full) == 8
    assert full[0].why.endswith("has its 1 of 10 problems")
    assert max(build.kept.values()) == 1


def test_a_build_that_no_draw_can_fill_ends(tmp_path: Path) -> None:
    build = Build.begin(tmp_path, Recipe(seed=0, dialects=("cpp",)))
    build.fates["refused"] = 100
    with pytest.raises(BuildError, match="too few draws are kept"):
        build.run(Wanted(count=1), None)  # type: ignore[arg-type]
    assert "stopped: BuildError" in (tmp_path / LOG).read_text(encoding="utf-8")


def answers(folder: Path) -> list[tuple[str, str, str | None]]:
    return [(row.name, str(row.dialect), row.kernel) for row in RowFolder(folder).rows()]


def drawn(index: int) -> Row:
    graph = draw(3, index)
    problem = problem_of(graph, 3, index)
    return Draw(id=f"{index:05d}", graph=graph, problem=problem).rows("cpp")[0]


COMMAND = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started us may ignore it
runpy.run_module("kernelwright", run_name="__main__")
"""


def stopped(out: Path, number: signal.Signals) -> subprocess.CompletedProcess[str]:
    """A build that gets a signal once it has written a batch."""
    before = len(answers(out))
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "data", "build", str(out), *BUILD],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    ends = time.monotonic() + 100
    while len(answers(out)) == before and time.monotonic() < ends and process.poll() is None:
        time.sleep(0.05)
    os.kill(process.pid, number)
    said, errors = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, said, errors)


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_build_that_was_stopped_goes_on_to_the_same_rows(tmp_path: Path) -> None:
    out = tmp_path / "rows"
    asked = stopped(out, signal.SIGINT)
    assert asked.returncode == 130
    assert asked.stderr.strip().endswith(f"interrupted; the same command goes on in {out}")
    assert len(answers(out)) == 1
    killed = stopped(out, signal.SIGKILL)
    assert killed.returncode == -signal.SIGKILL
    done = kernelwright("data", "build", str(out), *BUILD)
    assert "3 kept" in done.stdout
    told = RowFolder(out).funnel()
    assert [line["id"] for line in told] == [f"{index:05d}" for index in range(len(told))]
    kept = [int(line["id"]) for line in told if line["result"] == "kept"]
    rows = [drawn(index) for index in kept]
    assert answers(out) == [(row.name, "cpp", row.kernel) for row in rows]
    log = (out / LOG).read_text(encoding="utf-8")
    assert re.findall(r" begins with (\d) of 3 problems", log) == ["0", "1", "2"]
    assert log.count(" stopped: KeyboardInterrupt") == 1
    assert re.search(r" 1/3, [\d.]+ rows a minute.* left$", log, re.MULTILINE)
    assert log.endswith(" ends\n")


def test_a_dialect_that_has_its_examples_gets_no_more(tmp_path: Path) -> None:
    build = Build.begin(tmp_path, Recipe(seed=0, dialects=("cpp", "cuda")))
    build.wanted = Wanted(count=9, max_examples={"cuda": 2})
    one = [build._drawn(3)]
    assert [row.dialect for row in build._examples(one)[1]] == ["cpp", "cuda"]
    build.examples["cuda"] = 2
    assert [row.dialect for row in build._examples(one)[1]] == ["cpp"]


def test_a_build_that_has_all_its_problems_writes_its_tables_anew(tmp_path: Path) -> None:
    words = [f"out={tmp_path}", "dialects=[cpp]", "count=2"]
    recipe = resolve_data(SMALL, words).recipe
    out = RowFolder(tmp_path)
    Build.begin(tmp_path, recipe_of(recipe))
    for index in (0, 1):
        row = replace(drawn(index), verdict=Verdict.CORRECT, reason="ok")
        facts = {"problem": row.name, "graph": row.name, "category": row.category}
        out.add([Done(id=f"{index:05d}", rows=(row,), facts=facts)])
    said = build_data(recipe)
    problems = tmp_path / "export" / "trl" / "problems.parquet"
    assert any(line.startswith(f"{problems.parent}: ") for line in said)
    assert "0 of 0 mutants refused" in said
    first = problems.read_bytes()
    problems.write_bytes(b"")
    assert build_data(recipe) == said
    assert problems.read_bytes() == first
