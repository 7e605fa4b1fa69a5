"""Graphs of operators in Triton: what its interpreter makes of the answers, and their form."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from kernelwright.data.graphs import sample
from kernelwright.data.graphs.expr import V
from kernelwright.data.graphs.graph import Graph
from kernelwright.data.graphs.nests import Step
from kernelwright.data.graphs.problem import example_of, problem_of
from kernelwright.data.graphs.schedules import BEST
from kernelwright.data.graphs.style import module
from kernelwright.data.graphs.triton.kernel import source
from kernelwright.data.graphs.triton.text import MOST as MOST_HELD
from tests.graph_examples import a_graph
from tests.graph_kernels import alone, lowered, smaller

CHAINS = 40
MOST, MOST_OF_VOLUMES = 11, 4
"""Sizes of inputs: the interpreter takes long."""
SHORTER = (("BLOCK=2048", "BLOCK=16"), (", 2048)", ", 16)"), ("BLOCK=64, COL", "BLOCK=4, COL"))
"""Shorter blocks, so that loops over them take several."""
ONE_LONG_ROW = 4
"""So many draws that reduce or normalise a vector are looked at."""
LOCALS = set("ijqvncprstuwmkz") | set(
    "at mask size inner area rows count first carry total best part near tap inside".split()  # noqa: SIM905
)
LOCALS |= {"each", "own", "rest", "row", "scale", "left", "right", "largest", "shrink", "from_"}
"""What functions call their own."""
ROOT = Path(__file__).parents[1]


def wrong(graphs: Sequence[Graph], folder: Path, schedule: str = BEST) -> list[str]:
    """The graphs whose answers do not compute what PyTorch does."""
    for number, graph in enumerate(graphs):
        most = MOST if len(graph.inputs[0].shape) < 5 else MOST_OF_VOLUMES
        code = smaller(graph, module(graph, str(number)), most)
        (folder / f"problem{number}.py").write_text(code, encoding="utf-8")
        text = source(lowered(graph, schedule), code)
        for long, short in SHORTER:
            text = text.replace(long, short)
        (folder / f"answer{number}.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "triton_graphs.py", folder],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    sys.stderr.write(done.stderr)
    return [graphs[number].signature for number in json.loads(done.stdout)]


def answers(seed: int, count: int) -> list[str]:
    found = []
    for index in range(count):
        graph = sample.draw(seed, index)
        found.append(example_of(graph, problem_of(graph, seed, index), "triton").source)
    return found


@pytest.mark.slow
def test_every_operator_is_lowered_to_what_pytorch_computes(tmp_path: Path) -> None:
    assert not wrong(alone(2), tmp_path)


@pytest.mark.slow
def test_chains_of_operators_are_lowered_to_what_pytorch_computes(tmp_path: Path) -> None:
    assert not wrong([sample.draw(1, index) for index in range(CHAINS)], tmp_path)


def test_an_answer_that_leaves_a_step_out_is_seen(tmp_path: Path) -> None:
    chosen = [one for one in alone(2) if one.family in ("tanhshrink", "mul_parameter")]
    nothing = [
        replace(one, nodes=(replace(one.nodes[0], work=Step("nothing", V)),)) for one in chosen
    ]
    assert wrong(nothing, tmp_path) == [one.signature for one in chosen]
    assert len(chosen) == 4


def test_no_function_changes_what_it_was_given() -> None:
    for text in answers(5, 200):
        for one in ast.parse(text).body:
            if isinstance(one, ast.FunctionDef):
                taken = {arg.arg for arg in one.args.args}
                inner = [node for node in ast.walk(one) if isinstance(node, ast.Name)]
                assert not taken & {n.id for n in inner if isinstance(n.ctx, ast.Store)}, text


def test_no_tensor_has_a_name_that_a_function_gives_to_another_value() -> None:
    for index in range(300):
        given = {one.name for one in sample.draw(5, index).kernel().given}
        assert not given & LOCALS


def test_the_same_graph_has_the_same_answer_and_plan() -> None:
    for index in (0, 5, 77):
        graph = sample.draw(3, index)
        problem = problem_of(graph, 3, index)
        first, again = (example_of(graph, problem, "triton") for _ in range(2))
        assert first == again
        assert first.reasoning.startswith("Plan: ")


def test_programs_share_one_long_row(tmp_path: Path) -> None:
    drawn = (sample.draw(1, index) for index in range(3000))
    shared = (one for one in drawn if "_kernel_part" in source(one.kernel(), module(one, "")))
    graphs = list(islice(shared, ONE_LONG_ROW))
    assert any(one.inputs[0].shape[0].size > MOST_HELD for one in graphs)
    assert not wrong(graphs, tmp_path)


def test_before_a_sine_a_thread_has_a_quarter_of_the_elements() -> None:
    """Its code for large arguments stands there once for each of them."""
    texts = {name: lines_of((512, 1024), name) for name in ("sin", "cos", "gelu")}
    assert all("num_warps=16" in texts[name] for name in ("sin", "cos"))
    assert "num_warps" not in texts["gelu"], "four are Triton's own number"
    assert "num_warps=32" in lines_of((64, 8192), "sin", "softmax")


def lines_of(sizes: tuple[int, ...], *operators: str) -> str:
    graph = a_graph(sizes, *operators)
    return source(graph.kernel(), module(graph, "0"))
