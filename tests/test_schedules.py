"""Several kernels of one problem: they compute the same, and each says what it does."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.data.graphs.build import Build, BuildError, Draw, Recipe
from kernelwright.data.graphs.lint.lint import findings
from kernelwright.data.graphs.phrases import plain
from kernelwright.data.graphs.problem import DIALECTS, examples_of, problem_of
from kernelwright.data.graphs.sample import draw
from kernelwright.data.graphs.schedules import BEST, SCHEDULES, scheduled, unfused
from kernelwright.data.suites.row_folder import ASKED, FolderError
from kernelwright.data.triple import Triple
from kernelwright.envs.types import Dialect, Problem
from tests import test_graphs_triton as triton
from tests.graph_examples import a_graph
from tests.graph_kernels import alone, library, wrong

MANY = len(SCHEDULES)
ROWS, IMAGE, COLUMNS, QUERIES = (512, 2048), (4, 16, 32, 32), (8, 512, 64), (2, 4, 64, 32)
in_each_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def drawn(seed: int, index: int, dialect: Dialect) -> tuple[Problem, dict[str, Triple]]:
    graph = draw(seed, index)
    problem = problem_of(graph, seed, index)
    return problem, examples_of(graph, problem, dialect, MANY)


def of(dialect: Dialect, sizes: tuple[int, ...], *operators: str) -> dict[str, Triple]:
    graph = a_graph(sizes, *operators)
    return examples_of(graph, problem_of(graph, 0, 0), dialect, MANY)


def test_naive_loops_compute_what_pytorch_does(tmp_path: Path) -> None:
    """Each operator alone with least tiles, and chains that are not fused either."""
    graphs = [*alone(1), *(draw(1, index) for index in range(15))]
    assert not wrong(graphs, library(graphs, tmp_path, "naive"))


def test_programs_with_little_at_once_compute_what_pytorch_does(tmp_path: Path) -> None:
    graphs = [
        a_graph(sizes, *operators.split())
        for sizes, operators in (
            (ROWS, "layer_norm relu"),
            (ROWS, "argmax"),
            (ROWS, "cumsum tanh"),
            (ROWS, "matmul"),
            (COLUMNS, "softmax"),
            (IMAGE, "conv"),
            (QUERIES, "attention"),
        )
    ]
    assert not triton.wrong(graphs, tmp_path, "naive")


@in_each_dialect
@pytest.mark.slow
def test_every_variant_says_what_it_does(dialect: Dialect) -> None:
    shown = set[str]()
    for index in range(40):
        problem, found = drawn(4, index, dialect)
        shown |= found.keys()
        for schedule, one in found.items():
            assert not findings(one.reasoning, one.source, problem, dialect), (index, schedule)
    assert shown == set(SCHEDULES)


@in_each_dialect
def test_variants_differ_and_the_first_is_the_one_that_there_is_alone(dialect: Dialect) -> None:
    for index in range(40):
        graph = draw(5, index)
        problem = problem_of(graph, 5, index)
        found = examples_of(graph, problem, dialect, MANY)
        assert next(iter(found)) == BEST
        assert len({one.source for one in found.values()}) == len(found)
        for most in (1, 2, 3):
            fewer = examples_of(graph, problem, dialect, most)
            assert list(fewer.items()) == list(found.items())[:most]


@pytest.mark.parametrize(
    ("dialect", "sizes", "operators", "schedule", "said", "false"),
    [
        ("cpp", ROWS, "matmul", "least_tiles", "one output after another", "tiles of a row, 16 c"),
        ("cpp", ROWS, "matmul", "small_tiles", "16 columns", "64 columns"),
        ("cpp", ROWS, "sum", "least_tiles", "No loop is told", "One column after another. No loop"),
        ("cuda", ROWS, "sum", "least_tiles", "A thread takes a row,", "A warp takes a row,"),
        ("cuda", ROWS, "relu tanh", "least_tiles", "64 threads", "256 threads"),
        ("cuda", ROWS, "matmul", "least_tiles", "one of the outputs", "an element of x"),
        ("triton", ROWS, "matmul", "least_tiles", "Tiles have 16", "Tiles have 32"),
        ("triton", ROWS, "softmax", "least_tiles", "block after block", "as a whole in a block"),
        ("triton", COLUMNS, "softmax", "small_tiles", "16 neighbouring", "32 neighbouring"),
    ],
)
def test_what_another_schedule_does_is_false_of_this_one(
    dialect: Dialect, sizes: tuple[int, ...], operators: str, schedule: str, said: str, false: str
) -> None:
    one = of(dialect, sizes, *operators.split())[schedule]
    planted = plain(one.reasoning).replace(said, false)
    assert planted != plain(one.reasoning)
    assert not findings(one.reasoning, one.source, one.problem, dialect)
    assert findings(planted, one.source, one.problem, dialect)


def test_vectors_and_columns_side_by_side_are_told_from_their_absence() -> None:
    found = of("cpp", COLUMNS, "softmax")
    plain, fast = found["least_tiles"], found[BEST]
    for claim in ("No loop is told to use vectors.", "One column after another."):
        assert claim in plain.reasoning
        assert findings(f"{fast.reasoning} {claim}", fast.source, fast.problem, "cpp")
    assert findings(plain.reasoning, fast.source, fast.problem, "cpp")


def test_steps_that_are_not_fused_have_loops_of_their_own() -> None:
    kernel = a_graph(ROWS, "relu", "softmax", "tanh").kernel()
    assert len(kernel.nests) == 1
    apart = unfused(kernel)
    assert apart is not None
    assert [len(one.before) + len(one.after) for one in apart.nests] == [1, 0, 1]
    assert scheduled(a_graph(ROWS, "relu").kernel(), "unfused") is None


def test_rows_say_by_which_schedule_they_are(tmp_path: Path) -> None:
    graph = draw(0, 3)
    one = Draw(id="00003", graph=graph, problem=problem_of(graph, 0, 3))
    rows = [row for dialect in DIALECTS for row in one.rows(dialect, 3)]
    assert next(row.schedule for row in rows if row.dialect == "cpp") == BEST
    assert len({row.answer_key for row in rows}) == len(rows) > len(DIALECTS)
    build = Build.begin(tmp_path / "rows", Recipe(seed=0, dialects=DIALECTS, variants=3))
    _, made = build._examples([build._drawn(3)])
    assert made == rows


def test_a_folder_goes_on_with_as_many_variants_as_it_was_begun_with(tmp_path: Path) -> None:
    Build.begin(tmp_path / "one", Recipe(seed=0))
    asked = (tmp_path / "one" / ASKED).read_text(encoding="utf-8")
    assert not re.search("variants", asked), "folders of before go on"
    with pytest.raises(FolderError, match="no variants"):
        Build.begin(tmp_path / "one", Recipe(seed=0, variants=2))
    Build.begin(tmp_path / "two", Recipe(seed=0, variants=2))
    with pytest.raises(FolderError, match="variants 2"):
        Build.begin(tmp_path / "two", replace(Recipe(seed=0), variants=1))
    with pytest.raises(BuildError, match="1 to 5"):
        Recipe(seed=0, variants=9)
