"""The clock is fair: no candidate lives while the baseline is timed.

One that does can slow the baseline down between its own rounds (an interval timer
that burns the shared core did) and so earn a speedup that it does not have.
"""

from __future__ import annotations

import pytest

from kernelwright.data.gallery import FOLDER
from kernelwright.data.kernelbench import load_problem
from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.sandbox.runtimes import Runtime
from kernelwright.envs.sandbox.zygote import Zygote
from kernelwright.envs.types import Candidate, Target, Verdict
from kernelwright.processes import living_below

pytestmark = pytest.mark.sandbox

EXPLOITS = FOLDER / "exploits"
HONEST = (EXPLOITS / "honest.cpp").read_text()


class WatchedReference(ReferenceProcess):
    """Notes, at each of its timed rounds, what lives in the sandbox besides the zygote."""

    def __init__(self, zygote: Zygote) -> None:
        super().__init__()
        self.zygote = zygote.process.pid
        self.alone = living_below(self.zygote)
        self.beside: list[set[int]] = []

    def round(self, inputs: int, spec: CaseSpec) -> tuple[int, bytes]:
        self.beside.append(living_below(self.zygote) - self.alone)
        return super().round(inputs, spec)


def test_no_candidate_lives_while_the_baseline_is_timed() -> None:
    problem = load_problem(EXPLOITS / "problem.py")
    evaluator = Evaluator(JudgingConfig(), Target(name="test"))
    evaluator.reference.close()
    evaluator.reference = evaluator.draws.reference = watched = WatchedReference(
        evaluator.sandboxes.of(Runtime.NATIVE)
    )
    candidate = Candidate(problem_key=problem.key, dialect="cpp", source=HONEST)
    found = evaluator.judge(problem, candidate, timed=True, seed=1)
    evaluator.close()
    assert found.verdict is Verdict.CORRECT
    assert found.timing is not None
    blocks, block = len(found.timing.log_ratios), found.timing.block
    assert blocks >= JudgingConfig().pace.fewest_blocks
    assert watched.beside == [set()] * (blocks * (block + 1))
