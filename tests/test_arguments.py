"""What a problem hands over reaches an answer as it is: views with their strides, None, text,
lists, tuples and dicts; the ABI has their tensors and numbers one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.abi import C_ABI, signature
from kernelwright.envs.guest.rounds import invented, nested
from kernelwright.envs.judge import Judge
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.referee.layout import offsets, python_layout
from kernelwright.envs.reference.arguments import taken_apart
from kernelwright.envs.reference.module import load_reference
from kernelwright.envs.reference.strides import copied, is_view, laid_out, moved, values_of
from kernelwright.envs.types import Candidate, Case, Problem, Task, Verdict

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=3)
LEAVES = st.none() | st.text(max_size=3) | st.integers(-9, 9) | st.floats(-1, 1)
TENSORS = st.lists(st.integers(0, 3), max_size=2).map(torch.randn)
NESTS = st.recursive(
    LEAVES | TENSORS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=2)
    ),
    max_leaves=6,
)


def problem(forward: str, inputs: str) -> Problem:
    code = (
        "import torch\nN = 6\nclass Model(torch.nn.Module):\n"
        f"    {forward}\ndef get_inputs():\n    return {inputs}\n"
    )
    return Problem(name="odd", code=code, cases=(Case(name="one", sizes=()),))


@st.composite
def views(draw: st.DrawFn) -> torch.Tensor:
    """A slice of a tensor, some of it repeated, its dimensions in any order."""
    shape = draw(SHAPES)
    found = torch.randn([2 * size + 1 for size in shape])
    for dim, size in enumerate(shape):
        first, step = draw(st.integers(0, 2)), draw(st.integers(1, 2))
        found = found.narrow(dim, min(first, found.shape[dim] - size), size)
        found = found[(slice(None),) * dim + (slice(None, None, step),)]
        if draw(st.booleans()):
            wider = [*found.shape[:dim], draw(st.integers(1, 3)), *found.shape[dim + 1 :]]
            found = found.narrow(dim, 0, 1).expand(wider)
    return found.permute(draw(st.permutations(range(found.dim()))))


@given(views())
def test_values_that_were_drawn_anew_lie_as_the_problems_do(given_view: torch.Tensor) -> None:
    values = torch.randn_like(values_of(given_view))
    found = laid_out(values, given_view)
    assert torch.equal(values_of(found), values)
    if is_view(given_view):
        assert found.stride() == given_view.stride()
        assert found.storage_offset() == given_view.storage_offset()
        for again in (copied(found), moved(found, "cpu")):
            assert torch.equal(again, found)
            assert again.stride() == found.stride()


def test_windows_that_overlap_hold_one_value_where_they_do() -> None:
    windows = torch.randn(10).unfold(0, 4, 2)
    found = laid_out(torch.randn(4, 4), windows)
    assert found.stride() == windows.stride()
    assert torch.equal(found[0, 2:], found[1, :2])


@given(st.lists(NESTS, max_size=3), st.booleans())
def test_what_was_taken_apart_is_put_together_the_same_for_the_module_and_an_answer(
    arguments: list[Any], by_keyword: bool
) -> None:
    def forward(self: Any, *arguments: Any) -> None: ...

    asked = {f"k{i}": one for i, one in enumerate(arguments)} if by_keyword else arguments
    leaves, names, nest = taken_apart(asked, forward)
    own = [f"leaf{i}" for i in range(len(leaves))]
    assert len(names) == len(leaves)
    assert nest.call(leaves) == (([], asked) if by_keyword else (arguments, {}))
    plain = json.loads(nest.named(own) or "null")
    if plain:
        given_by_name = dict(zip(own, leaves, strict=True))
        assert [nested(one, given_by_name) for one in plain["arguments"]] == nest.call(leaves)[0]


def test_a_view_lies_behind_all_tensors_and_a_native_kernel_finds_its_values() -> None:
    odd = problem("def forward(self, x, y):\n        return x + y", "torch.randn(N, 4).t(), 2.0")
    spec = load_reference(odd, odd.cases[0]).spec()
    (x,) = spec.inputs
    assert (x.strides, x.first) == ((1, 4), 0)
    assert offsets(spec.contiguous().inputs)[0] == [0]
    assert offsets(spec.inputs)[0] == [128]
    (layout,) = json.loads(python_layout(spec))["inputs"]
    assert invented(layout).stride() == (1, 4)


def test_a_slice_is_handed_over_with_what_lies_between() -> None:
    odd = problem("def forward(self, x):\n        return x * 2", "[torch.randn(N, 9)[1::2, 2:5]]")
    spec = load_reference(odd, odd.cases[0]).spec()
    (x,) = spec.inputs
    assert (x.shape, x.strides, x.first, x.elements) == ((3, 3), (18, 1), 11, 11 + 2 * 18 + 3)


NESTED = problem(
    "def forward(self, x, mask=None, sizes=(1, 1), mode='sum', more=None):\n"
    "        found = x * sizes[0] + more['w'][0] + sizes[1]\n"
    "        return {'first': found, 'none': None}",
    "[torch.randn(N), None, (2, 3), 'sum', {'w': [torch.randn(N)]}]",
)


def test_nested_arguments_are_flat_for_a_native_kernel_and_the_prompt_says_so() -> None:
    spec = load_reference(NESTED, NESTED.cases[0]).spec()
    assert signature(spec, C_ABI) == (
        'extern "C" void kernel(const float* x, const float* more_w_0, float* out, int64_t x_0, '
        "int64_t more_w_0_0, int64_t out_0, int64_t sizes_0, int64_t sizes_1)"
    )
    for dialect in ("cpp", "triton"):
        asked = task_prompt(Task(problem=NESTED, dialect=dialect))
        call = "forward(x, None, (sizes_0, sizes_1), 'sum', {'w': [more_w_0]})"
        assert f"It is called as `{call}`." in asked


def test_a_problem_that_makes_its_inputs_on_a_gpu_runs_without_one() -> None:
    odd = problem(
        "def forward(self, x, y):\n        return x + y",
        "[torch.randn(N, device='cuda').to('cuda:0'), torch.ones(N).cuda()]",
    )
    spec = load_reference(odd, odd.cases[0]).spec()
    assert [one.shape for one in spec.inputs] == [(6,), (6,)]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(workers=1) as judge:
        yield judge


@pytest.mark.sandbox
def test_a_native_kernel_is_judged_on_nested_arguments_and_on_the_values_of_views(
    judge: Judge,
) -> None:
    flat = 'extern "C" void kernel(const float* x, const float* w, float* out, '
    sums = flat + (
        "int64_t n, int64_t, int64_t, int64_t a, int64_t b) {\n"
        "  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * a + w[i] + b;\n}\n"
    )
    turned = problem("def forward(self, x):\n        return x * 2", "[torch.randn(N, 4).t()]")
    double = (
        'extern "C" void kernel(const float* x, float* out, int64_t n, int64_t m, int64_t, int64_t)'
        " {\n  for (int64_t i = 0; i < n * m; ++i) out[i] = 2 * x[i];\n}\n"
    )
    for one, source in ((NESTED, sums), (turned, double)):
        candidate = Candidate(problem_key=one.key, dialect="cpp", source=source)
        found = judge.evaluate(one, candidate)
        assert found.verdict is Verdict.CORRECT, found.log
