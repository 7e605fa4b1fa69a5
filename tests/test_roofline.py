"""The floor: never above what an honest kernel needs, and nothing below it is believed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.gallery.exhibits import FOLDER
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.referee import resolution
from kernelwright.envs.referee.roofline import TOO_FAST, Work, floor_ns, too_fast
from kernelwright.envs.reference.derive_tolerance import rounding_tolerances
from kernelwright.envs.reference.least_work import FAST_ALGORITHM, least_share, least_work
from kernelwright.envs.reference.module import load_reference
from kernelwright.envs.reference.runs import Run
from kernelwright.envs.types import Candidate, Case, Evaluation, Problem, Target, Verdict
from kernelwright.envs.workers.peaks import as_target, peaks
from kernelwright.rl.search.limits import held_back_by, near_limit

pytestmark = pytest.mark.sandbox

EXPLOITS = FOLDER / "exploits"
HONEST = """
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) {
    float s = 0.0f;
    for (int64_t j = 0; j < x_1; ++j) s += x[i * x_1 + j] > 0 ? x[i * x_1 + j] : 0;
    out[i] = s;
  }
}
"""
MODULE = """import torch
import torch.nn as nn
import torch.nn.functional as F
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self, {names}):
        return {expression}
def get_inputs():
    return [{inputs}]
"""
SQUARE = "torch.randn(64, 64)"
MATRIX_BYTES, MATRIX_MULTIPLY_ADDS = 4 * 64 * 64, 64**3

WORK = st.builds(
    Work,
    read_bytes=st.integers(0, 1 << 40),
    written_bytes=st.integers(0, 1 << 40),
    multiply_adds=st.integers(0, 1 << 50),
)
SIZES = st.lists(st.integers(1, 1 << 30), min_size=1, max_size=6, unique=True).map(sorted)
TARGETS = SIZES.flatmap(
    lambda sizes: st.builds(
        Target,
        name=st.just("t"),
        read_bytes_per_s=st.tuples(*(st.tuples(st.just(s), st.floats(1e6, 1e13)) for s in sizes)),
        flops_per_s=st.none() | st.floats(1e6, 1e13),
    )
)


def least(expression: str, init: str = "pass", **inputs: str) -> Work:
    names = ", ".join(inputs)
    code = MODULE.format(
        expression=expression, init=init, names=names, inputs=", ".join(inputs.values())
    )
    case = Case(name="only", sizes=())
    problem = Problem(name="p", code=code, cases=(case,))
    reference = load_reference(problem, case)
    return least_work(reference, rounding_tolerances(problem, Run(reference.draw(1))))


@pytest.mark.parametrize(
    "expression", ["torch.relu(x)", "x.max(1).values", "x.argmax(1)", "torch.cumsum(x, 1)", "x.T"]
)
def test_an_input_that_matters_everywhere_is_counted_for_the_most_part(expression: str) -> None:
    assert 0.6 * MATRIX_BYTES < least(expression, x=SQUARE).read_bytes <= MATRIX_BYTES


@pytest.mark.parametrize(
    "expression", ["x * 0", "torch.softmax(x, 1).sum(1)", "x - x", "torch.zeros(64, 64)"]
)
def test_an_input_without_influence_is_not_read(expression: str) -> None:
    assert least(expression, x=SQUARE).read_bytes == 0


@pytest.mark.parametrize(
    ("expression", "share"), [("x[:, :4] * 2", 4 / 64), ("torch.tril(x)", 65 / 128)]
)
def test_of_an_input_that_is_read_in_part_only_that_part_is_counted(
    expression: str, share: float
) -> None:
    assert least(expression, x=SQUARE).read_bytes <= share * MATRIX_BYTES


def test_an_embedding_counts_no_more_than_the_rows_that_are_looked_up() -> None:
    found = least("F.embedding(i, w)", i="torch.randint(0, 4096, (32,))", w="torch.randn(4096, 64)")
    assert found.read_bytes <= 32 * (64 * 4 + 8)
    assert found.written_bytes == 32 * 64 * 4


def test_what_every_draw_has_in_common_is_known_without_reading_it() -> None:
    assert least("x + y", x="torch.eye(64) * 2", y="torch.eye(64)").read_bytes == 0


def test_parameters_are_read_too() -> None:
    found = least("self.f(x)", "self.f = nn.Linear(64, 64, bias=False)", x=SQUARE)
    assert found.read_bytes > 1.2 * MATRIX_BYTES


@pytest.mark.parametrize(
    ("expression", "inputs"),
    [
        ("x @ y", {"x": SQUARE, "y": SQUARE}),
        ("F.gelu(F.linear(x, y, b))", {"x": SQUARE, "y": SQUARE, "b": "torch.randn(64)"}),
        ("torch.bmm(x, y)[0].T", {"x": "torch.randn(1, 64, 64)", "y": "torch.randn(1, 64, 64)"}),
    ],
)
def test_a_product_of_inputs_that_is_returned_counts(
    expression: str, inputs: dict[str, str]
) -> None:
    found = least(expression, **inputs).multiply_adds
    assert 0.3 * MATRIX_MULTIPLY_ADDS < found <= FAST_ALGORITHM * MATRIX_MULTIPLY_ADDS


@pytest.mark.parametrize(
    "expression",
    [
        "(x @ y) * 0",
        "(x @ y).sum(1)",
        "x @ y @ x",
        "x @ y + x @ x",
        "x @ y - x @ y",
        "torch.diag(x[0]) @ y",
        "torch.tril(x @ y)",
        "(x @ y)[:1] * 1",
        "torch.relu(x) @ y @ y",
    ],
)
def test_a_product_with_a_shortcut_counts_next_to_nothing(expression: str) -> None:
    found = least(expression, x=SQUARE, y=SQUARE).multiply_adds
    assert found <= MATRIX_MULTIPLY_ADDS / 64


@pytest.mark.parametrize(
    ("x", "needed"),
    [
        ("torch.tril(torch.randn(64, 64))", 64**3 // 2),
        ("torch.diag(torch.randn(64))", 64**2),
        ("torch.randn(64, 2) @ torch.randn(2, 64)", 2 * 2 * 64**2),
        ("torch.randn(127)[torch.arange(64)[:, None] - torch.arange(64) + 63]", 64 * 128 * 4),
        ("torch.randn(1, 64).expand(64, 64)", 64**2),
    ],
    ids=["triangular", "diagonal", "low rank", "Toeplitz", "equal rows"],
)
def test_structure_in_an_operand_lowers_the_bound_to_what_it_leaves(x: str, needed: int) -> None:
    assert least("x @ y", x=x, y=SQUARE).multiply_adds <= needed


def test_a_convolution_counts_one_multiplication_for_each_output_and_channel() -> None:
    init = "self.c = nn.Conv2d(8, 16, 3, padding=1); self.r = nn.ReLU(inplace=True)"
    found = least("self.r(self.c(x))", init, x="torch.randn(1, 8, 16, 16)").multiply_adds
    assert 0 < found <= FAST_ALGORITHM * 16 * 16 * 16 * 8


@given(st.integers(0, 30), st.integers(0, 30))
def test_a_share_is_never_more_than_was_seen(hits: int, misses: int) -> None:
    share = least_share(hits, hits + misses)
    assert 0 <= share <= hits / max(1, hits + misses)


@given(WORK, TARGETS, st.sampled_from(["read_bytes", "written_bytes", "multiply_adds"]))
def test_more_work_never_takes_less_time(work: Work, target: Target, kind: str) -> None:
    more = {name: getattr(work, name) for name in Work.__slots__}
    more[kind] *= 2
    before, after = floor_ns(work, target), floor_ns(Work(**more), target)
    assert before is not None
    assert after is not None
    assert after >= before


@given(TARGETS, st.integers(0, 1 << 40), st.integers(0, 1 << 40))
def test_more_data_never_comes_faster(target: Target, one: int, other: int) -> None:
    less, more = (target.bandwidth_bytes_per_s(size) for size in sorted((one, other)))
    assert less is not None
    assert more is not None
    assert less >= more


def test_without_peaks_there_is_no_floor_and_nothing_is_too_fast() -> None:
    work = Work(read_bytes=1 << 30, written_bytes=1 << 30, multiply_adds=1 << 40)
    assert floor_ns(work, Target(name="unknown")) is None
    assert not too_fast(1.0, None)


@given(st.floats(1, 1e12))
def test_only_well_below_the_floor_is_too_fast(floor: float) -> None:
    assert not too_fast(TOO_FAST * floor, floor)
    assert too_fast(0.99 * TOO_FAST * floor, floor)


def test_peaks_are_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))
    first = peaks("here")
    (kept,) = (tmp_path / "peaks").glob("*.json")
    written_ns = kept.stat().st_mtime_ns
    assert peaks("here") == first
    assert kept.stat().st_mtime_ns == written_ns
    assert first.name == "here"
    rates = [rate for _, rate in first.read_bytes_per_s]
    assert rates[0] > rates[-1] > 0


def test_a_core_with_a_matrix_unit_has_no_arithmetic_peak() -> None:
    assert as_target("t", {"read": [[1, 2.0]], "flops": None}).flops_per_s is None


@pytest.fixture(scope="module")
def judged() -> Iterator[Callable[[Target], Evaluation]]:
    """The verdict on an honest kernel on a machine with these peaks."""
    large = Case(name="time", sizes=(("ROWS", 512), ("COLS", 512)))
    problem = replace(load_problem(EXPLOITS / "problem.py"), cases=(large,))
    candidate = Candidate(problem_key=problem.key, dialect="cpp", source=HONEST)
    evaluators = []
    patched = pytest.MonkeyPatch()
    patched.setattr(resolution, "RESOLVED", 0.0)  # however busy this machine is

    def judge(target: Target) -> Evaluation:
        evaluators.append(Evaluator(JudgingConfig(), target))
        return evaluators[-1].judge(problem, candidate, timed=True, seed=1)

    yield judge
    patched.undo()
    for evaluator in evaluators:
        evaluator.close()


def test_a_duration_below_the_floor_is_cheated(judged: Callable[[Target], Evaluation]) -> None:
    found = judged(Target(name="slow", read_bytes_per_s=((1, 1e3),)))
    assert (found.verdict, found.reason) == (Verdict.CHEATED, "too_fast")
    assert found.timing is None
    facts = dict(found.facts)
    assert facts["floor_ns"] > 1e9 > facts["median_ns"] > 0


def test_an_honest_kernel_is_far_above_the_floor_of_this_machine(
    judged: Callable[[Target], Evaluation],
) -> None:
    machine = peaks("this machine")
    found = judged(machine)
    assert found.verdict is Verdict.CORRECT
    assert found.timing is not None
    facts = dict(found.facts)
    assert 0 < facts["floor_ns"] < TOO_FAST * median(found.timing.candidate_ns)
    limits = ("memory",) if machine.flops_per_s is None else ("memory", "compute")  # AMX: unknown
    assert facts["floor_ns"] == max(facts[f"{one}_floor_ns"] for one in limits)
    assert (held_back_by(found), near_limit(found)) == ("memory", "")


def test_without_peaks_a_kernel_is_judged_without_a_floor(
    judged: Callable[[Target], Evaluation],
) -> None:
    found = judged(Target(name="unknown"))
    assert found.verdict is Verdict.CORRECT
    assert not [name for name, _ in found.facts if name.endswith("floor_ns")]
    assert held_back_by(found) == ""
