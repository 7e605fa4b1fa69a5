"""Problems with unusual modules are judged like any other, or refused with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kernelwright.envs.judge import Judge
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.reference.files import laid, written
from kernelwright.envs.reference.module import (
    ProblemError,
    load_reference,
    works_in_place,
)
from kernelwright.envs.reference.prepare import prepare
from kernelwright.envs.reference.refuse_random import refuse_random
from kernelwright.envs.types import Candidate, Case, Problem, Task, Verdict

SIZE = 24
IN_PLACE = {
    "floats": (
        ["def forward(self, x):", "    return x.relu_()"],
        "torch.randn(N)",
        "const float* x, float* out, int64_t n, int64_t",
        "x[i] > 0 ? x[i] : 0",
    ),
    "integers": (
        ["def forward(self, x):", "    x += 1", "    return x * 2"],
        "torch.randint(0, 9, (N,))",
        "const int64_t* x, int64_t* out, int64_t n, int64_t",
        "2 * (x[i] + 1)",
    ),
    "doubles": (
        ["def forward(self, x):", "    x += 1", "    return x * x"],
        "torch.randn(N, dtype=torch.float64)",
        "const double* x, double* out, int64_t n, int64_t",
        "(x[i] + 1) * (x[i] + 1)",
    ),
    "buffers": (
        [
            "def __init__(self):",
            "    super().__init__()",
            "    self.register_buffer('calls', torch.zeros((), dtype=torch.int64))",
            "def forward(self, x):",
            "    self.calls += 1",
            "    return x * self.calls",
        ],
        "torch.randn(N)",
        "const float* x, const int64_t* calls, float* out, int64_t n, int64_t",
        "x[i] * (*calls + 1)",
    ),
}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(workers=1) as judge:
        yield judge


def problem(methods: list[str], inputs: str) -> Problem:
    lines = ["import torch", f"N = {SIZE}", "class Model(torch.nn.Module):"]
    lines += [f"    {line}" for line in methods]
    lines += ["def get_inputs():", f"    return [{inputs}]"]
    case = Case(name="only", sizes=(("N", SIZE),))
    return Problem(name="odd", code="\n".join(lines), cases=(case,))


@pytest.mark.sandbox
@pytest.mark.parametrize("kind", IN_PLACE)
def test_a_module_that_works_in_place_is_judged_and_timed(judge: Judge, kind: str) -> None:
    methods, inputs, arguments, value = IN_PLACE[kind]
    odd = problem(methods, inputs)
    source = f'extern "C" void kernel({arguments}) {{ for (int64_t i = 0; i < n; ++i) '
    source += f"out[i] = {value}; }}"
    candidate = Candidate(problem_key=odd.key, dialect="cpp", source=source)
    found = judge.evaluate(odd, candidate)
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log
    assert dict(found.facts)["module_ns"] > 0
    assert works_in_place(*load_reference(odd, odd.cases[0]).draw(0))


def test_an_input_without_values_is_judged_and_timed(judge: Judge) -> None:
    odd = problem(
        ["def forward(self, x, y):", "    return y * 2"], "torch.randn(0), torch.randn(N)"
    )
    source = 'extern "C" void kernel(const float* x, const float* y, float* out, int64_t, int64_t n'
    source += ", int64_t) { for (int64_t i = 0; i < n; ++i) out[i] = y[i] * 2; }"
    candidate = Candidate(problem_key=odd.key, dialect="cpp", source=source)
    found = judge.evaluate(odd, candidate)
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log
    assert dict(found.facts)["module_ns"] > 0


def test_an_output_that_cannot_be_compared_is_said_to_be_one(judge: Judge) -> None:
    odd = problem(["def forward(self, x):", "    return x.to(torch.complex64)"], "torch.randn(N)")
    candidate = Candidate(problem_key=odd.key, dialect="cpp", source="int a;")
    found = judge.evaluate(odd, candidate)
    assert (found.verdict, found.reason) == (Verdict.UNJUDGED, "reference_failed")
    assert "output out is complex64; it can be float32, " in found.log


def test_a_module_that_leaves_its_inputs_alone_is_not_taken_for_one_that_does_not() -> None:
    odd = problem(["def forward(self, x):", "    return x.relu()"], "torch.randn(N)")
    assert not works_in_place(*load_reference(odd, odd.cases[0]).draw(0))


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ("torch.randn(N), torch.float32", "dtype as other"),
        ("torch.randn(N), [torch.randn(N), {1, 2}]", "set as other_1"),
        ("torch.randn(N), 2**53 + 1", "beyond"),
    ],
)
def test_what_a_kernel_cannot_be_given_is_said_and_never_left_out(inputs: str, says: str) -> None:
    odd = problem(["def forward(self, x, other):", "    return x * 2"], inputs)
    with pytest.raises(ProblemError, match=says):
        load_reference(odd, odd.cases[0]).spec()


def test_the_prompt_tells_all_that_decides_the_output_and_no_size_of_inputs() -> None:
    methods = ["def __init__(self, slope, shape):", "    super().__init__()"]
    methods += ["    self.slope = slope", "def forward(self, x):"]
    methods += ["    return torch.nn.functional.leaky_relu(x, self.slope) * TWICE"]
    plain = problem(methods, "torch.randn(N)")
    code = f"FACTOR = 0.125\nTWICE = 2 * FACTOR\nUNUSED = 7\n{plain.code}\n"
    code += "def get_init_inputs():\n    return [0.3, (2, 3)]\n"
    prompt = task_prompt(Task(problem=replace(plain, code=code), dialect="cpp"))
    assert "```python\nFACTOR = 0.125\nTWICE = 2 * FACTOR\nclass Model" in prompt
    assert "\nThe module is `Model(0.3, (2, 3))`.\n" in prompt
    assert "UNUSED" not in prompt
    assert f"N = {SIZE}" not in prompt


@pytest.mark.parametrize(
    "value",
    ["x + torch.rand_like(x)", "torch.nn.functional.dropout(x)", "x[torch.randint(1, N, (1,)) :]"],
)
def test_a_module_that_is_random_is_the_problems_fault_and_said_in_a_line(
    judge: Judge, value: str
) -> None:
    odd = problem(["def forward(self, x):", f"    return {value}"], "torch.randn(N)")
    source = 'extern "C" void kernel(const float* x, float* out) { out[0] = x[0]; }'
    candidate = Candidate(problem_key=odd.key, dialect="cpp", source=source)
    found = judge.evaluate(odd, candidate)
    assert (found.verdict, found.reason) == (Verdict.UNJUDGED, "reference_failed")
    assert found.log.startswith("ProblemError: the problem's module is random")
    assert "\n" not in found.log


def test_a_problems_module_can_load_no_filters_of_system_calls(judge: Judge) -> None:
    """A thousand that are freed at once stop Linux 6.18."""
    odd = problem(
        [
            "def forward(self, x):",
            "    import ctypes, platform",
            "    seccomp = 317 if platform.machine() == 'x86_64' else 277",
            "    allow = ctypes.c_uint64(0x7FFF_0000_0000_0006)",
            "    program = (ctypes.c_uint64 * 2)(1, ctypes.addressof(allow))",
            "    libc = ctypes.CDLL(None)",
            "    said = [libc.prctl(22, 2, program), libc.syscall(seccomp, 1, 0, program)]",
            "    return x * said.count(-1)",
        ],
        "torch.randn(N)",
    )
    source = 'extern "C" void kernel(const float* x, float* out, long n, long) '
    source += "{ for (long i = 0; i < n; ++i) out[i] = 2 * x[i]; }"
    candidate = Candidate(problem_key=odd.key, dialect="cpp", source=source)
    found = judge.evaluate(odd, candidate)
    assert found.verdict is Verdict.CORRECT, found.log


def test_nan_where_it_always_is_is_not_random() -> None:
    methods = ["def forward(self, x):", "    return torch.log(x), x > 0"]
    odd = problem(methods, "torch.randn(N)")
    refuse_random(load_reference(odd, odd.cases[0]))


def test_sparse_products_and_modules_of_numbers_alone_are_prepared_and_drawn() -> None:
    sparse = ["def forward(self, x):", "    return torch.sparse.mm(x.to_sparse(), x)"]
    numbers = ["def forward(self, n):", "    return torch.full((4,), n)"]
    for methods, inputs in ((sparse, "torch.randn(N, N)"), (numbers, "3")):
        odd = problem(methods, inputs)
        ready = prepare(odd, odd.timed_case())
        _, state, arguments = ready.reference.draw(1)
        assert not state
        tensors = [one for one in arguments if hasattr(one, "shape")]
        os.close(written(*laid(tensors, ready.spec)))
