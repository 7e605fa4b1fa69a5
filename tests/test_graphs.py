"""Graphs of operators: drawn the same again, lowered to kernels that do what PyTorch does."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kernelwright.data.graphs import sample
from kernelwright.data.graphs.cpp.kernel import source
from kernelwright.data.graphs.expr import V
from kernelwright.data.graphs.nests import Step
from kernelwright.data.graphs.operator_sequence import operators
from kernelwright.data.graphs.operators.registry import OPERATORS
from kernelwright.data.graphs.problem import example_of, problem_of
from kernelwright.data.graphs.signature import Twins
from kernelwright.data.graphs.signature import signature as twin_signature
from kernelwright.data.graphs.style import module
from kernelwright.data.suites.load import load_suite
from kernelwright.envs.abi import C_ABI, CPP_WORDS, signature
from kernelwright.envs.dialects.cpp import FLAGS
from kernelwright.envs.reference.module_facts import ours, timed_shapes
from tests.graph_kernels import alone, library, outputs, wrong

CHAINS = 100
LOCALS = set("ijqvncprstuwmkzd") | set(
    "to from left right size outer inner row total best span tap wide iy ky kx z0 z1 g0 g1".split()  # noqa: SIM905
)
LOCALS |= {"high", "deep", "each", "columns", "end", "scale", "at", "id", "kd"}
"""What loops call their own."""


@pytest.mark.slow
def test_every_operator_is_lowered_to_what_pytorch_computes(tmp_path: Path) -> None:
    graphs = alone(2)
    shown = {node.operator for graph in graphs for node in graph.nodes}
    assert len(shown) >= len(OPERATORS) - 1, "all but the residual edge"
    assert not wrong(graphs, library(graphs, tmp_path))


def test_chains_of_operators_are_lowered_to_what_pytorch_computes(tmp_path: Path) -> None:
    graphs = [sample.draw(1, index) for index in range(CHAINS)]
    assert max(len(one.nodes) for one in graphs) > 5
    assert any("residual" in one.family for one in graphs)
    assert not wrong(graphs, library(graphs, tmp_path))


def test_every_size_is_what_its_text_says() -> None:
    """Of a size less two, times another, no factor loses its parentheses."""
    texts = set()
    for index in range(4 * CHAINS):
        kernel = sample.draw(0, index).kernel()
        known = {dim.text: dim.size for one in (*kernel.given, kernel.out) for dim in one.shape}
        for dim in (dim for nest in kernel.nests for dim in (*nest.taken, *nest.shape)):
            texts.add(dim.text)
            assert eval(dim.text.replace("/", "//"), {}, dict(known)) == dim.size, dim
    assert sum("*" in one for one in texts) > 5


def test_a_kernel_that_leaves_a_step_out_is_seen(tmp_path: Path) -> None:
    chosen = [one for one in alone(2) if one.family in ("gelu", "tanhshrink", "mul_parameter")]
    assert len(chosen) == 6
    nothing = [
        replace(one, nodes=(replace(one.nodes[0], work=Step("nothing", V)),)) for one in chosen
    ]
    assert wrong(nothing, library(nothing, tmp_path)) == [one.signature for one in chosen]


def test_loops_over_elements_have_vectors(tmp_path: Path) -> None:
    """`std::max` of an element in memory has none."""
    names = ("maximum", "max", "argmin", "softmax", "mish", "max_pool2d", "kl_div", "layer_norm")
    for graph in (one for one in alone(2) if one.family in names):
        text = source(graph.kernel())
        file = tmp_path / "kernel.cpp"
        file.write_text(text, encoding="utf-8")
        tell = ("-fopt-info-vec-optimized", "-march=x86-64-v3", "-c", "-o", tmp_path / "kernel.o")
        done = subprocess.run(
            ["g++", *(one for one in FLAGS if not one.startswith("-Wl")), *tell, file],
            capture_output=True,
            text=True,
            check=True,
        )
        vectors = {int(line) for line in re.findall(r":(\d+):\d+: optimized: loop", done.stderr)}
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            changes = any(sign in "".join(lines[number : number + 3]) for sign in "?*+-/(")
            if line.startswith("#pragma omp simd") and changes and "float v" in lines[number + 1]:
                assert vectors & set(range(number, number + 4)), (graph.signature, lines[number])


def test_rows_of_zeros_are_normalised_as_pytorch_does(tmp_path: Path) -> None:
    zeros = [
        replace(one, inputs=(replace(one.inputs[0], drawn="torch.zeros({})"),))
        for one in alone(2)
        if one.family in ("normalize", "l2_norm", "rms_norm", "layer_norm", "softmax")
    ]
    kernels = library(zeros, tmp_path)
    for number, graph in enumerate(zeros):
        expected, got = outputs(graph, number, kernels)
        assert torch.allclose(expected, got.double(), equal_nan=True), graph.signature
    assert len(zeros) == 10


def test_the_same_seed_and_index_draw_the_same_problem_and_example() -> None:
    for index in (0, 5, 77):
        first, again = (sample.draw(3, index) for _ in range(2))
        one, other = (problem_of(graph, 3, index) for graph in (first, again))
        assert one == other
        assert example_of(first, one, "cpp") == example_of(again, other, "cpp")
    assert len({sample.draw(3, index).signature for index in range(100)}) > 60
    assert sample.draw(3, 0) != sample.draw(4, 0)


def test_two_thousand_problems_of_many_kinds_need_few_more_draws() -> None:
    kinds = {one.signature: one.category for one in (sample.draw(0, n) for n in range(2300))}
    assert len(kinds) >= 2000
    counts = Counter(list(kinds.values())[:2000])
    assert len(counts) >= 15
    assert min(counts.values()) >= 30
    assert max(counts.values()) <= 400


def test_a_kernels_signature_is_the_one_that_the_prompt_asks_for() -> None:
    graphs = [sample.draw(2, index) for index in range(60)]
    problems = [problem_of(graph, 2, index) for index, graph in enumerate(graphs)]
    ours(problems)
    for graph, problem in zip(graphs, problems, strict=True):
        asked = signature(timed_shapes(problem).spec, C_ABI)
        assert f"\n{asked} {{" in source(graph.kernel()), problem.code


def test_no_argument_has_a_name_that_a_loop_has() -> None:
    for index in range(300):
        names = {name for _, name in sample.draw(5, index).kernel().arguments}
        assert not names & (LOCALS | CPP_WORDS)


def test_forms_of_modules_vary() -> None:
    texts = [module(sample.draw(6, index), str(index)) for index in range(300)]
    for form in (
        r'Model\(nn.Module\):\n    """',
        r"Returns:",
        r": torch.Tensor",
        r"super\(\).__init__",
        r"super\(Model, self\)",
        r"self\.\w+ = \w+\n",
        r"self\.\w+ = nn\.",
        r"nn\.functional\.",
        r"\bF\.",
        r"\n        # ",
        r"    return \[torch",
        r"targets",
        r"def get_init_inputs\(\):\n    return \[\w",
    ):
        share = sum(re.search(form, one) is not None for one in texts) / len(texts)
        assert 0.02 < share < 0.98, form


def test_cases_of_a_problem_differ_in_size() -> None:
    for index in range(30):
        problem = problem_of(sample.draw(8, index), 8, index)
        assert len({one.sizes for one in problem.cases}) >= 4, problem.code


CODE = """
class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.act = nn.{layer}()

    def forward(self, x):
        {body}
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return torch.relu(x)", ("relu",)),
        ("return self.act(x)", ("silu",)),
        ("return torch.sigmoid(x) * x", ("silu",)),
        ("y = F.leaky_relu(x, 0.1)\n        return y @ x.T", ("leakyrelu", "transpose", "matmul")),
        ("return x / torch.sum(torch.abs(x), dim=1, keepdim=True)", ("l1norm",)),
        ("return nn.functional.max_pool2d(x, 2)", ("maxpool",)),
        ("return torch.sigmoid(torch.abs(x)) * x", ("abs", "silu")),
        ("return x * torch.tanh(torch.log(1 + torch.exp(x)))", ("mish",)),
        ("return x / torch.sqrt(x.pow(2).mean(dim=1, keepdim=True) + 1e-5)", ("rmsnorm",)),
        ("return torch.mean((torch.tanh(x) - x) ** 2)", ("tanh", "mseloss")),
    ],
)
def test_operators_are_read_off_a_module_however_it_spells_them(
    body: str, found: tuple[str, ...]
) -> None:
    assert operators(CODE.format(layer="SiLU", body=body)) == found


INSIDE = """
def double(x):
    return x * 2

class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return torch.tanh(self.fc(x))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.drop = nn.ReLU(), nn.Dropout(0.1)
        self.net = nn.Sequential({layers})
        self.blocks = nn.ModuleList([Gate(), nn.ReLU()])
        self.many = nn.ModuleList([Gate() for _ in range(3)])
        self.gate = Gate()

    def own(self, x):
        return self.own(torch.exp(x))

    def forward(self, x):
        {body}
"""


@pytest.mark.parametrize(
    ("layers", "body", "found"),
    [
        ("nn.ReLU(), nn.Sequential(nn.Tanh())", "return self.net(x) + x", ("relu", "tanh", "add")),
        ("*[nn.ReLU(), Gate()]", "return self.net(x)", ("relu", "linear", "tanh")),
        (
            "OrderedDict([('a', nn.ReLU()), ('b', nn.Dropout(0.1))])",
            "return self.net(x)",
            ("relu",),
        ),
        ("", "return double(self.gate(x))", ("linear", "tanh", "mul")),
        ("", "return self.own(x)", ("exp",)),
        ("", "return Gate()(x)", ("linear", "tanh")),
        (
            "",
            "for block in self.blocks:\n            x = block(x)\n        return x",
            ("linear", "tanh", "relu"),
        ),
        (
            "",
            "for n, one in enumerate(self.many):\n            x = x + one(x)\n        return x",
            ("linear", "tanh", "add"),
        ),
    ],
)
def test_operators_of_layers_and_functions_inside_a_module_are_read_in_their_place(
    layers: str, body: str, found: tuple[str, ...]
) -> None:
    assert operators(INSIDE.format(layers=layers, body=body)) == found


def test_a_problem_of_an_excluded_suite_is_known_in_another_form(tmp_path: Path) -> None:
    (tmp_path / "level1").mkdir()
    file = tmp_path / "level1" / "1_Act.py"
    sizes = "N, D = 64, 32\ndef get_inputs(): return [torch.randn(N, D)]\n"
    head = "import torch\nimport torch.nn as nn\n"
    file.write_text(
        f"{head}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.a = nn.SiLU()\n    def forward(self, t):\n        return self.a(t)\n{sizes}",
        encoding="utf-8",
    )
    found = Twins.of(load_suite(f"kernelbench:{tmp_path}").problems).known
    assert found == {"2d:silu"}
    silu = next(one for one in OPERATORS if one.name == "silu")
    graphs = [one for n in range(40) if (one := sample.alone(silu, str(n))) is not None]
    problems = [problem_of(one, 0, n) for n, one in enumerate(graphs)]
    ours(problems)
    for graph, problem in zip(graphs, problems, strict=True):
        is_matrix = len(graph.inputs[0].shape) == 2
        assert (twin_signature(problem) in found) == is_matrix, problem.code
