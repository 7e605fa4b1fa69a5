"""Functions of C++ that an `inline` answer calls: what they may be given, give back, and keep."""

from __future__ import annotations

import pytest

from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Candidate, Case, Evaluation, Problem, Verdict

pytestmark = pytest.mark.sandbox

CODE = """
import torch
import torch.nn as nn

N = 64

class Model(nn.Module):
    def forward(self, x, y):
        return x * 2 + y, (x + y).t().contiguous()

def get_inputs():
    return [torch.randn(N, 48), torch.randn(N, 48)]

def get_init_inputs():
    return []
"""
PROBLEM = Problem(name="two_sums", code=CODE, cases=(Case(name="time", sizes=()),))
ANSWER = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <ATen/Parallel.h>
static at::Tensor sum(const at::Tensor& x, const at::Tensor& y, double times) {
  auto out = torch::empty(x.sizes(), x.options());
  const float *a = x.data_ptr<float>(), *b = y.data_ptr<float>();
  float* to = out.data_ptr<float>();
  at::parallel_for(0, x.numel(), 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = a[i] * times + b[i];
  });
  return out;
}
%s
"""
ext = load_inline(name="two_sums", cpp_sources=[SOURCE], functions=%s)

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        %s

    def forward(self, x, y):
%s
'''
BOTH = """
std::vector<at::Tensor> both(at::Tensor x, at::Tensor y) {
  return {sum(x, y, 2), sum(x, y, 1).t().contiguous()};
}
"""
BOUND = """
at::Tensor scaled(at::Tensor x, at::Tensor y, double times, c10::optional<at::Tensor> more) {
  auto out = sum(x, y, times);
  return more.has_value() ? sum(out, *more, 1) : out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scaled", &scaled, "a sum", py::arg("x"), py::arg("y"), py::arg("times") = 1.0,
        py::arg("more") = py::none());
}
"""
KEPT = """
static at::Tensor kept;
std::vector<at::Tensor> both(at::Tensor x, at::Tensor y) {
  if (!kept.defined()) kept = torch::empty_like(x);
  kept.copy_(sum(x, y, 1));
  return {sum(x, y, 2), kept.t().contiguous()};
}
"""
ONE = "at::Tensor one(at::Tensor x, at::Tensor y, double times) { return sum(x, y, times); }"


def answer(functions: str, names: object, *forward: str, made: str = "pass") -> str:
    return ANSWER % (functions, names, made, "\n".join(f"        {line}" for line in forward))


TURNED = "second = ext.one(x, y, 1.0).t().contiguous()"
RIGHT = {
    "a list comes back": answer(BOTH, ["both"], "a, b = ext.both(x, y)", "return a, b"),
    "arguments by name, and values of their own": answer(
        BOUND,
        "None",
        "first = ext.scaled(y=y, x=x, times=2.0)",
        "return first, ext.scaled(x, y).t().contiguous()",
    ),
    "a tensor on the way to another": answer(
        BOUND, "None", "return ext.scaled(x, x, more=y), ext.scaled(x, y).t().contiguous()"
    ),
    "memory of its own, kept from the first call": answer(
        KEPT, ["both"], "return tuple(ext.both(x, y))"
    ),
    "a view of what it is given": answer(
        f"{ONE} at::Tensor turned(at::Tensor x) {{ return x.t(); }}",
        ["one", "turned"],
        "xt, yt = ext.turned(x).contiguous(), ext.turned(y).contiguous()",
        "return ext.one(x, y, 2.0), ext.one(xt, yt, 1.0)",
    ),
    "it writes to what Python made": answer(
        "void into(at::Tensor z, at::Tensor x, at::Tensor y, double t) { z.copy_(sum(x, y, t)); }",
        ["into"],
        "first, second = torch.empty_like(x), torch.zeros(x.shape[1], x.shape[0])",
        "ext.into(first, x, y, 2.0)",
        "ext.into(second.t(), x, y, 1.0)",
        "return first, second",
    ),
    "another name is no crime": answer(
        ONE, ["one"], "import ctypes, sys, time", TURNED, "return ext.one(x, y, 2.0), second"
    ),
    "a number of the model's own": answer(
        ONE, ["one"], "two = torch.tensor(2.0)", TURNED, "return ext.one(x, y, 2.0), second"
    ),
    "tensors that the model keeps": answer(
        ONE,
        ["one"],
        "self.room.copy_(self.zeros).copy_(x)",
        "second = ext.one(self.room, y, self.ones[1]).t().contiguous()",
        "return ext.one(x, y, self.two), second",
        made="self.two, self.ones = torch.tensor(2.0), torch.arange(0, 2.0)\n"
        "        self.room, self.zeros = torch.empty(64, 48), torch.zeros(48)",
    ),
    "values that Python says": answer(
        ONE,
        ["one"],
        "zero = torch.tensor([2.0, 1.0, 0.0])",
        "second = ext.one(x, y, torch.arange(1, 3)[0]).t().contiguous()",
        "return ext.one(x, y, zero[0]), second",
    ),
    "threads, more libraries of one name, built when they are needed": answer(
        "#include <thread>\n"
        "at::Tensor one(at::Tensor x, at::Tensor y, double times) { at::Tensor out;"
        " std::thread([&] { out = sum(x, y, times); }).join(); return out; }",
        ["one"],
        "name = f'n{id(self)}'",
        "two, other = (load_inline(name=name, cpp_sources=[SOURCE + end], functions=['one'])"
        " for end in ('', ' '))",
        "return two.one(x, y, 2.0), other.one(x, y, 1.0).t().contiguous()",
    ),
    "room as large as an output, which is made again where it is too small": answer(
        "at::Tensor one(at::Tensor x, at::Tensor y, double times) { static at::Tensor room;"
        " if (!room.defined() || room.numel() < x.numel()) room = torch::empty_like(x);"
        " room.copy_(x); return sum(room.view({-1}).narrow(0, 0, x.numel()).view(x.sizes()), y,"
        " times); }",
        ["one"],
        TURNED,
        "return ext.one(x, y, 2.0), second",
    ),
    "what it gives back it keeps": answer(
        "at::Tensor one(at::Tensor x, at::Tensor y, double times)"
        " { static at::Tensor out; return out = sum(x, y, times); }",
        ["one"],
        TURNED,
        "return ext.one(x, y, 2.0), second",
    ),
    "many tensors, few numbers, an empty one": answer(
        "at::Tensor rows(std::vector<at::Tensor> all, at::Tensor none, std::vector<int64_t> sizes)"
        " { auto out = torch::empty(sizes);"
        " for (size_t i = 0; i < all.size(); ++i) out.select(0, i).copy_(all[i]);"
        " return sum(out, out, none.numel()); }",
        ["rows", "sum"],
        "whole = ext.rows(list(x.unbind()), torch.empty(0), [64, 48])",
        "return ext.sum(whole, y, 2.0), ext.sum(whole, y, 1.0).t().contiguous()",
    ),
    "joined and padded by PyTorch": answer(
        ONE,
        ["one"],
        "long = torch.cat([x[:32], x[32:]])",
        "wide = nn.functional.pad(y, (3, 5), value=7.0)[:, 3:-5].contiguous()",
        "whole = torch.stack([long, wide]).unbind()",
        "second = ext.one(whole[0].contiguous(), whole[1].contiguous(), 1.0).t().contiguous()",
        "return ext.one(long, wide, 2.0), second",
    ),
}
WRONG = {
    "a number of the inputs' decides in Python": (
        answer(
            f"{ONE} double first(at::Tensor x) {{ return x.data_ptr<float>()[0]; }}",
            ["one", "first"],
            TURNED,
            "return ext.one(x, y, 2.0 if ext.first(x) > 0 else 3.0), second",
        ),
        (Verdict.BUILD_FAILED, "unsupported:a_number_that_a_function_of_C++_gives_back"),
    ),
    "what comes back depends on the inputs": (
        answer(
            f"{ONE} at::Tensor some(at::Tensor x) {{"
            " return std::abs(x.data_ptr<float>()[0] - 1) <= 0.5f ? x : x.clone(); }",
            ["one", "some"],
            TURNED,
            "return ext.one(ext.some(x), y, 2.0), second",
        ),
        (Verdict.BUILD_FAILED, "unsupported:results_that_differ_by_call"),
    ),
    "it throws for the inputs": (
        answer(
            f"{ONE} void check(at::Tensor x)"
            ' { TORCH_CHECK(std::abs(x.data_ptr<float>()[0] - 1) <= 0.5f, "far"); }',
            ["one", "check"],
            TURNED,
            "ext.check(x)",
            "return ext.one(x, y, 2.0), second",
        ),
        (Verdict.CRASHED, "exit_1"),
    ),
    "it changes its inputs": (
        answer(
            f"{ONE} void spoil(at::Tensor x) {{ x.data_ptr<float>()[0] = 0; }}",
            ["one", "spoil"],
            TURNED,
            "first = ext.one(x, y, 2.0)",
            "ext.spoil(x)",
            "return first, second",
        ),
        (Verdict.CRASHED, "signal_11"),
    ),
    "room made at the first call, to which each call adds": (
        answer(
            f"{ONE} void add(at::Tensor to, at::Tensor x) {{ to.copy_(sum(x, to, 1)); }}",
            ["one", "add"],
            "if self.room is None: self.room = torch.zeros_like(x)",
            "ext.add(self.room, x)",
            "second = ext.one(self.room, y, 1.0).t().contiguous()",
            "return ext.one(x, y, 2.0), second",
            made="self.room = None",
        ),
        (Verdict.WRONG, "mismatch"),
    ),
    "an address as a number": (
        answer(
            f"{ONE} void look(int64_t at) {{}}",
            ["one", "look"],
            TURNED,
            "ext.look(x.data_ptr())",
            "return ext.one(x, y, 2.0), second",
        ),
        (Verdict.BUILD_FAILED, "unsupported:an_address_as_a_number"),
    ),
    "a list that is too long": (
        answer(
            f"{ONE} void look(std::vector<int64_t> all) {{}}",
            ["one", "look"],
            TURNED,
            "ext.look(list(range(300)))",
            "return ext.one(x, y, 2.0), second",
        ),
        (Verdict.BUILD_FAILED, "unsupported:a_list_of_more_than_256"),
    ),
    "PyTorch rounds": (
        answer(ONE, ["one"], TURNED, "return ext.one(x, y, 2.0).int().float(), second"),
        (Verdict.CHEATED, "torch_compute"),
    ),
    "PyTorch computes": (
        answer(ONE, ["one"], TURNED, "return x * 2 + y, second"),
        (Verdict.CHEATED, "torch_compute"),
    ),
    "what is no part of any header": (
        answer(ONE.replace("return", "return oops ="), ["one"], TURNED, "return x, second"),
        (Verdict.BUILD_FAILED, "compile_error"),
    ),
    "what only PyTorch's own headers have": (
        answer(ONE.replace("sum(x", "torch::addcmul(x"), ["one"], TURNED, "return x, second"),
        (Verdict.BUILD_FAILED, "unsupported:addcmul"),
    ),
}
ALL = {name: (source, (Verdict.CORRECT, "ok")) for name, source in RIGHT.items()} | WRONG


@pytest.fixture(scope="module")
def evaluations() -> dict[str, Evaluation]:
    jobs = [
        (PROBLEM, Candidate(problem_key=PROBLEM.key, dialect="inline", source=source))
        for source, _ in ALL.values()
    ]
    with Judge() as judge:
        return dict(zip(ALL, judge.evaluate_many(jobs, timed=False), strict=True))


@pytest.mark.parametrize("name", ALL)
def test_a_function_of_cpp_is_called_as_the_answer_calls_it(
    name: str, evaluations: dict[str, Evaluation]
) -> None:
    found = evaluations[name]
    assert (found.verdict, found.reason) == ALL[name][1], found.log
