"""A judged kernel as a Python file computes what its PyTorch module does, or says why it cannot."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from kernelwright.data.triple import Triple
from kernelwright.data.triples.templates import triples_of
from kernelwright.envs.reference.module_facts import timed_shapes
from kernelwright.envs.types import Problem
from kernelwright.evals.hub.kernel_module import FIRST, NoModuleError, kernel_module


def one_of_each_form() -> Iterator[Triple]:
    """Taught kernels that differ in weights, numbers, and how many outputs and inputs there are."""
    seen = set()
    for one in triples_of("starter:train", "cpp"):
        spec = timed_shapes(one.problem).spec
        form = (bool(spec.state), bool(spec.scalars), len(spec.outputs), len(spec.inputs))
        if form not in seen:
            seen.add(form)
            yield one


FORMS = {one.problem.name: one for one in one_of_each_form()}
WITH_WEIGHTS = next(one for name, one in FORMS.items() if name.startswith("weights_"))
WITH_NUMBERS = next(one for name, one in FORMS.items() if name.startswith("scalars_"))


def imported(text: str, folder: Path) -> ModuleType:
    path = folder / "found.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def module_of(triple: Triple, folder: Path) -> ModuleType:
    return imported(kernel_module(triple.problem, triple.source, "cpp", "Of the tests."), folder)


def given_to(found: ModuleType) -> list[Any]:
    return [*found.get_inputs()]


@pytest.mark.parametrize("name", FORMS)
def test_a_kernel_computes_what_its_module_does_on_its_sizes_and_on_others(
    name: str, tmp_path: Path
) -> None:
    found = module_of(FORMS[name], tmp_path)
    model = found.Model(*found.get_init_inputs())
    new = found.ModelNew(*found.get_init_inputs())
    new.load_state_dict(model.state_dict())
    with torch.no_grad():
        for _ in range(2):  # the second time the sizes of the outputs are known
            given = given_to(found)
            wanted, got = model(*given), new(*given)
            assert type(got) is type(wanted)
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


def test_a_file_says_what_it_is_and_needs_nothing_of_this_package(tmp_path: Path) -> None:
    text = kernel_module(WITH_WEIGHTS.problem, WITH_WEIGHTS.source, "cpp", "Line 1\n\nLine 3")
    assert text.startswith(f"{FIRST}# Line 1\n#\n# Line 3\n\n")
    assert "import kernelwright" not in text
    assert "from kernelwright" not in text
    assert WITH_WEIGHTS.source.strip("\n") in text


def test_arguments_that_a_kernel_was_not_written_for_are_refused(tmp_path: Path) -> None:
    found = module_of(WITH_WEIGHTS, tmp_path)
    new, (first, *rest) = found.ModelNew(*found.get_init_inputs()), given_to(found)
    with torch.no_grad():
        with pytest.raises(TypeError, match=r"takes \d arguments by place: not 0"):
            new()
        for wrong in (first.to(torch.int16), first[None], first.to("meta")):
            with pytest.raises(TypeError, match=r"dimensions of torch\.\w+ on cpu: not "):
                new(wrong, *rest)
    with pytest.raises(RuntimeError, match=r"no gradient: call it in torch\.no_grad"):
        new(first.clone().requires_grad_(), *rest)


def test_a_number_of_another_type_is_refused(tmp_path: Path) -> None:
    found = module_of(WITH_NUMBERS, tmp_path)
    new, given = found.ModelNew(*found.get_init_inputs()), given_to(found)
    place = next(at for at, one in enumerate(given) if not isinstance(one, torch.Tensor))
    given[place] = str(given[place])
    with torch.no_grad(), pytest.raises(TypeError, match="is of type"):
        new(*given)


def test_views_are_given_to_a_kernel_as_contiguous_tensors(tmp_path: Path) -> None:
    found = module_of(FORMS[next(iter(FORMS))], tmp_path)
    given = given_to(found)
    turned = [one.mT.contiguous().mT for one in given]
    with torch.no_grad():
        got = found.ModelNew()(*turned)
        torch.testing.assert_close(got, found.Model()(*given), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("odd", ["// '''\n", "// \\", "// it's '", '// """\n'])
def test_a_source_is_kept_to_the_letter(odd: str, tmp_path: Path) -> None:
    source = f"{WITH_NUMBERS.source.strip()}\n{odd}"
    text = kernel_module(WITH_NUMBERS.problem, source, "cpp", "")
    assert imported(text, tmp_path)._SOURCE.strip("\n") == source.strip("\n")


def test_answers_that_are_python_are_such_files_and_cuda_has_none() -> None:
    answer = "class ModelNew: ...\n"
    text = kernel_module(WITH_NUMBERS.problem, answer, "triton", "About.")
    assert text == f"{FIRST}# About.\n\n{answer}"
    with pytest.raises(NoModuleError, match="no Python file calls cuda kernels"):
        kernel_module(WITH_NUMBERS.problem, "", "cuda", "")


def problem_of(forward: str, before: str = "", init: str = "") -> Problem:
    code = f"""{before}
import torch
N = 4
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {init or "pass"}
    def forward(self, x):
        {forward}
def get_inputs():
    return [torch.ones(N)]
def get_init_inputs():
    return []
"""
    case = replace(WITH_NUMBERS.problem.cases[0], sizes=())
    return Problem(name="coding: odd\nname", code=code, cases=(case,))


TWICE = """
extern "C" inline void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) out[i] = 2 * x[i];
}
"""
"""As the judge builds it: it brings <stdint.h>, and asks for the function."""


@pytest.mark.parametrize(
    ("before", "init", "forward"),
    [
        ("from __future__ import annotations", "", "return 2 * x"),
        ("", "", "return x.mul_(2)"),
        ("class Sequence: ...\nSOURCE = Path = Any = 4", "", "return 2 * x"),
        ("", "self.kernel = self.takes = self.state = 3", "return 2 * x"),
        ("", "self.outputs = self.function = torch.nn.ReLU()", "return self.outputs(2 * x)"),
        ("", "", "return {'a': (None, [2 * x])}"),
        (
            "import collections\nPair = collections.namedtuple('Pair', 'a b')",
            "",
            "return Pair(2 * x, None)",
        ),
    ],
)
def test_odd_modules_are_computed_too_and_their_inputs_are_left_as_they_are(
    before: str, init: str, forward: str, tmp_path: Path
) -> None:
    problem = problem_of(forward, before, init)
    found = imported(kernel_module(problem, TWICE, "cpp", problem.name), tmp_path)
    new, x = found.ModelNew(), torch.arange(4.0)
    with torch.no_grad():
        wanted = found.Model()(x.clone())
        for _ in range(2):
            got = new(x)
            assert type(got) is type(wanted)
            assert str(got) == str(wanted)
    assert torch.equal(x, torch.arange(4.0))
    with pytest.raises(RuntimeError, match=r"after \.eval\(\)"):
        new.train()(x)


def test_outputs_that_are_no_tensors_are_refused(tmp_path: Path) -> None:
    problem = problem_of("return 2 * x, 3")
    source = TWICE.replace("int64_t x_0, int64_t out_0", "int64_t* n, int64_t x_0, int64_t out_0")
    source = source.replace("float* out,", "float* out0,").replace("out_0", "out0_0")
    found = imported(kernel_module(problem, source.replace("out[", "out0["), "cpp", ""), tmp_path)
    with torch.no_grad(), pytest.raises(TypeError, match="no tensors, which no kernel writes"):
        found.ModelNew()(torch.ones(4))


def test_a_forward_that_takes_lists_has_no_such_file() -> None:
    code = problem_of("return x[0] + x[1]").code.replace("[torch.ones(N)]", "[[torch.ones(N)] * 2]")
    problem = replace(problem_of(""), code=code)
    with pytest.raises(NoModuleError, match="takes lists, text or keywords"):
        kernel_module(problem, "", "cpp", "")
