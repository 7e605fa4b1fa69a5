"""Real kernels on the way that they take with a GPU: their launches are replayed by a process of
ours through the driver's interface, here by a driver that runs PTX on the processor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.device import messages
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.types import Candidate, Evaluation, Target, Trust, Verdict
from tests import ptx_device

pytestmark = pytest.mark.sandbox
WILD = Path(__file__).parents[1] / "data" / "answers" / "wild" / "open"
DIALECTS = {"triton": "triton", "inline_cuda": "inline"}
ANSWERS = [path for kind in DIALECTS for path in sorted((WILD / kind).glob("*.py"))]
SOME = 20
"""Of so many one is judged here; of all, once in a while (docs/measured)."""


@pytest.fixture(scope="module")
def evaluators(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Evaluator, Evaluator]]:
    """Without a device, and with one."""
    gpu = ptx_device.device(tmp_path_factory.mktemp("driver"))
    without, with_one = (
        Evaluator(JudgingConfig(), Target(name="here"), one) for one in (None, gpu)
    )
    both = without, with_one
    yield both
    for one in both:
        one.close()


@pytest.mark.parametrize(
    "path", ANSWERS[::SOME], ids=lambda path: f"{path.parent.name}-{path.stem}"
)
@pytest.mark.slow
def test_replayed_on_a_device_an_answer_is_what_it_is_played_here(
    path: Path, evaluators: tuple[Evaluator, Evaluator], monkeypatch: pytest.MonkeyPatch
) -> None:
    if path.parent.name == "inline_cuda" and nvcc_path() is None:
        pytest.skip("no nvcc on the PATH")
    monkeypatch.setattr(messages, "assembled", ptx_device.assembled)
    played, replayed = (judged(one, path) for one in evaluators)
    assert (replayed.verdict, replayed.reason) == (played.verdict, played.reason), replayed.log
    if played.verdict is Verdict.CORRECT:
        assert (played.trust, replayed.trust) == (Trust.EMULATED, Trust.REPLAYED)


def judged(evaluator: Evaluator, path: Path) -> Evaluation:
    problem = load_problem(WILD / "problems" / f"{path.stem.partition('__')[0]}.py")
    dialect, source = DIALECTS[path.parent.name], path.read_text(encoding="utf-8")
    candidate = Candidate(problem_key=problem.key, dialect=dialect, source=source)
    return evaluator.judge(problem, candidate, timed=False, seed=1)
