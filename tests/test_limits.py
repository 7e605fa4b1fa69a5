"""What of PyTorch and Triton is not here is said by its name, and is no error of the answer's."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec

import pytest

from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Candidate, Case, Problem, Verdict

pytestmark = pytest.mark.sandbox
if find_spec("triton") is None:
    pytest.skip("Triton is not installed", allow_module_level=True)

PROBLEM = Problem(
    name="relu",
    code=(
        "import torch\nN = 300\nclass Model(torch.nn.Module):\n"
        "    def forward(self, x):\n        return torch.relu(x)\n"
        "def get_inputs():\n    return [torch.randn(N)]\n"
    ),
    cases=(Case(name="one", sizes=()),),
)
HEAD = """
import torch
import triton
import triton.language as tl

@triton.jit
def relu(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place, mask=place < count)
    tl.store(out_ptr + place, tl.maximum(x, 0.0), mask=place < count)

@triton.jit
def by_blocks(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK
    x = tl.make_block_ptr(x_ptr, (count,), (1,), (at,), (BLOCK,), (0,))
    out = tl.make_block_ptr(out_ptr, (count,), (1,), (at,), (BLOCK,), (0,))
    tl.store(out, tl.maximum(tl.load(x, boundary_check=(0,)), 0.0), boundary_check=(0,))

def launched(x, kernel=relu):
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), BLOCK=128)
    return out

class ModelNew(torch.nn.Module):
"""
IN_INIT = """
    def __init__(self):
        super().__init__()
        self.x, self.graph = torch.zeros(300, device="cuda"), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = launched(self.x)
    def forward(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.out.clone()
"""
BLOCKS = "    def forward(self, x):\n        return launched(x, by_blocks)\n"
RANDOM = (
    "    def forward(self, x):\n        torch.cuda.get_rng_state()\n        return launched(x)\n"
)
INDUCTOR = """
    def __init__(self):
        super().__init__()
        self.fused = torch.compile(torch.relu)
    def forward(self, x):
        return self.fused(x)
"""
OF_INLINE = """
import torch
from torch.utils.cpp_extension import load_inline
own = load_inline(name="own", functions=["run"],
                  cpp_sources=["torch::Tensor run(torch::Tensor x) { return x; }"])
class ModelNew(torch.nn.Module):
"""
HAS_BLOCKS = tuple(map(int, version("triton").split(".")[:2])) < (3, 9)


@pytest.mark.slow
def test_what_is_not_here_has_its_name_and_what_is_compiled_is_seen() -> None:
    wanted = {
        HEAD + IN_INIT: "unsupported:a_CUDA_graph_captured_before_the_module_is_called",
        HEAD + RANDOM: "unsupported:torch.cuda.get_rng_state",
        HEAD + INDUCTOR: "torch_compute",
        OF_INLINE + INDUCTOR: "torch_compute",
        HEAD + BLOCKS: "ok" if HAS_BLOCKS else "unsupported:block_pointers_of_Triton_before_3.9",
    }
    dialects = ["inline" if "load_inline" in source else "triton" for source in wanted]
    jobs = [
        (PROBLEM, Candidate(problem_key=PROBLEM.key, dialect=dialect, source=source))
        for dialect, source in zip(dialects, wanted, strict=True)
    ]
    with Judge(workers=1) as judge:
        found = judge.evaluate_many(jobs, timed=False)
    assert [one.reason for one in found] == list(wanted.values())
    assert found[2].verdict is found[3].verdict is Verdict.CHEATED
