"""The clock is fair: no candidate lives while the baseline is timed.

One that does can slow the baseline down between its own rounds (an interval timer
that burns the shared core did) and so earn a speedup that it does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

import kernelwright.envs.evaluator
from kernelwright.data.gallery import FOLDER
from kernelwright.data.kernelbench import load_problem
from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.sandbox.runtimes import Runtime
from kernelwright.envs.sandbox.zygote import Zygote
from kernelwright.envs.types import Candidate, Case, Target, Verdict
from kernelwright.envs.workers.health import PROBLEM, known_jobs
from kernelwright.processes import living_below
from kernelwright.verdicts import verdict_line

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

    def took_ns(self, inputs: Sequence[int], spec: CaseSpec, *, huge: bool) -> int:
        self.beside.append(living_below(self.zygote) - self.alone)
        return super().took_ns(inputs, spec, huge=huge)


def test_no_candidate_lives_while_the_baseline_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernelwright.envs.evaluator, "RESOLVED", 0.0)  # however quick the module is
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
    # One block more, of the baseline alone: whether its time can be told from a round's.
    assert watched.beside == [set()] * ((blocks + 1) * block)


def test_a_module_that_takes_less_than_a_round_costs_gives_no_speed() -> None:
    tiny = replace(PROBLEM, cases=(Case(name="time", sizes=(("N", 8),)),))
    evaluator = Evaluator(JudgingConfig(), Target(name="test"))
    (candidate, _), *_ = known_jobs()
    found = evaluator.judge(tiny, candidate, timed=True, seed=1)
    evaluator.close()
    assert (found.verdict, found.timing) == (Verdict.CORRECT, None)
    facts = dict(found.facts)
    assert 0 < facts["module_ns"] < facts["overhead_ns"] / 4
    assert "no speed: the module takes" in verdict_line(found)
