"""Two kernels for one PyTorch module, judged: the verdict, why, and how fast against eager PyTorch.

python examples/judge_one_kernel.py
"""

from __future__ import annotations

from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Candidate, Case, Problem, Role

MODULE = """
import torch

N = 1024


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2


def get_inputs():
    return [torch.randn(N)]


def get_init_inputs():
    return []
"""
RIGHT = """
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
    for (int64_t i = 0; i < x_0; ++i) out[i] = x[i] > 0 ? 2 * x[i] : 0;
}
"""
WRONG = RIGHT.replace("2 * x[i]", "x[i]")


def main() -> None:
    problem = Problem(
        name="double_relu",
        code=MODULE,
        cases=(
            Case(name="odd", sizes=(("N", 1021),), role=Role.HELD_OUT),
            Case(name="time", sizes=(("N", 1 << 20),), role=Role.TIME),
        ),
    )
    with Judge(workers=1) as judge:
        for source in (RIGHT, WRONG):
            candidate = Candidate(problem_key=problem.key, dialect="cpp", source=source)
            evaluation = judge.evaluate(problem, candidate)
            print(f"{evaluation.verdict}: {evaluation.reason}")
            if evaluation.timing:
                found = evaluation.timing.speedup
                print(f"{found.median:.2f} [{found.low:.2f}, {found.high:.2f}] times eager's speed")


if __name__ == "__main__":
    main()
