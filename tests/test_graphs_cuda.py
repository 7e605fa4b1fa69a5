"""Graphs of operators in CUDA: host and device code run on the CPU, and do what PyTorch does."""

from __future__ import annotations

import ctypes
import re

import pytest

from kernelwright.data.graphs import sample
from kernelwright.data.graphs.cuda.kernel import source
from kernelwright.data.graphs.graph import Graph
from kernelwright.data.graphs.operators.registry import OPERATORS
from kernelwright.data.graphs.problem import example_of, problem_of
from kernelwright.envs.abi import signature
from kernelwright.envs.dialects.cuda import ABI
from kernelwright.envs.reference.module_facts import ours, timed_shapes
from kernelwright.envs.sandbox.toolchain import nvcc_path
from tests.graph_examples import graphs_of
from tests.graph_kernels import alone, cuda_library, wrong

OTHERS = (
    (r"warp_arg\w+\(s, best\)", (64, 96), ("argmax",)),
    (r"block_arg\w+\(s, best\)", (16, 2048), ("argmin",)),
    (r"column_arg\w+\(s, best\)", (8, 96, 64), ("argmin",)),
    (r"block_cum\w+\(v, s\)", (4096,), ("cumsum",)),
    (r"v = v [+*] x\[i\];", (64, 96), ("relu", "tanh", "residual")),
    (r"cudaMallocAsync\(&h0", (64, 96), ("softmax", "max")),
)
"""Schedules that operators alone do not show: (schedule, sizes, operators)."""
SCHEDULES = (
    r"warp_sum\(s\)",
    r"block_sum\(s\)",
    r"column_sum\(s\)",
    r"warp_arg\w+\(s, best\)",
    r"block_arg\w+\(s, best\)",
    r"column_arg\w+\(s, best\)",
    r"warp_cum\w+\(v, s\)",
    r"block_cum\w+\(v, s\)",
    r"float s = block_sum\(part\d\[threadIdx.x\]\)",
    r"s \+= part\d\[j\]",
    r"k < threadIdx.y",
    r"if \(p >= outer \* inner\) return;\n.*\n  float s = 0.0f;\n  for \(int j = 0; j < size",
    r"p\[16\]\[34\]",
    r"p\[16\]\[66\]",
    r"blockIdx.z \* m",
    r"cudaMallocAsync\(&h0",
    r"for \(int l = 0; l < 4; \+\+l\)",
    r"v = fmaxf\(v, from\[",
    r"int c = i % \d \* \(\w+ / \d+\) \+ j / span;",
    r"int j = size - 1 -",
    r"column /= 2;",
    r"each \+ q",
    r"int layer =",
    r"row\[j\] = expf",
    r"rest % ",
)
"""What tells a schedule: each is among the kernels that run."""


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    others = (
        next(one for one in graphs_of(sizes, *names) if re.search(text, source(one.kernel())))
        for text, sizes, names in OTHERS
    )
    return [*alone(1), *others]


@pytest.fixture(scope="module")
def kernels(graphs: list[Graph], tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if nvcc_path() is None:
        pytest.skip("nvcc is not here")
    return cuda_library(graphs, tmp_path_factory.mktemp("kernels"))


def test_every_operator_and_schedule_computes_what_pytorch_does(
    graphs: list[Graph], kernels: ctypes.CDLL
) -> None:
    shown = {node.operator for graph in graphs for node in graph.nodes}
    assert len(shown) >= len(OPERATORS)
    texts = "".join(source(one.kernel()) for one in graphs)
    assert not [one for one in SCHEDULES if not re.search(one, texts)]
    assert not wrong(graphs, kernels)
    assert kernels.launch_failures() == 0


def test_a_signature_is_the_one_that_the_prompt_asks_for() -> None:
    graphs = [sample.draw(2, index) for index in range(30)]
    problems = [problem_of(graph, 2, index) for index, graph in enumerate(graphs)]
    ours(problems)
    for graph, problem in zip(graphs, problems, strict=True):
        asked = signature(timed_shapes(problem).spec, ABI)
        assert f"\n{asked} {{" in example_of(graph, problem, "cuda").source


def test_no_name_in_a_kernel_hides_an_argument() -> None:
    for index in range(300):
        kernel = sample.draw(5, index).kernel()
        own = re.findall(r"(?m)^  .*?\b(?:int|float|bool)\*? (\w+)", source(kernel))
        own += re.findall(r", (\w+) =", source(kernel))
        for taken in re.findall(r"__global__ void \w+\((.*)\)", source(kernel)):
            names = re.findall(r"(\w+)(?:,|$)", taken)
            assert len(set(names)) == len(names)
        assert not {name for _, name in kernel.arguments} & set(own)


def test_every_statement_of_a_plan_is_a_line_of_its_code() -> None:
    """But for indices, which are shorter in a plan, and for what a row is in the end."""
    for index in range(150):
        graph = sample.draw(6, index)
        found = example_of(graph, problem_of(graph, 6, index), "cuda")
        code = re.sub(r"\[[^\]]*\]", "[]", found.source)
        for said in re.findall(r"\b(?:[mstuwr]|s\[l\]|v (?=\+)) ?[^ ]*= [^;]*;", found.reasoning):
            short = re.sub(r"\[[^\]]*\]", "[]", said)
            assert short in code or "{" in said, (said, found.source)
