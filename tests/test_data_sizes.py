"""A change of sizes never changes the module; what cannot be judged here is named and left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.suites.kernelbench import Choice, load_folder, load_problem
from kernelwright.data.suites.load import SuiteError, load_suite
from kernelwright.data.suites.sizes import sizes_of
from kernelwright.envs.reference.module import load_reference, sized_code
from kernelwright.envs.types import Problem

pytestmark = pytest.mark.sandbox

HEAD = "import torch\nimport torch.nn as nn\n"
RELU = """class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""
LINEAR = """class Model(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.fc = nn.Linear(inside, outside)
    def forward(self, x):
        return self.fc(x)
"""


def inputs(*sizes: str, init: str = "") -> str:
    shape = ", ".join(sizes)
    return f"""def get_inputs():
    return [torch.randn({shape})]
def get_init_inputs():
    return [{init}]
"""


PROBLEMS = {
    "1_product": (RELU + "N = 2048 * 2\n" + inputs("N", "8"), {"N"}),
    "2_chain": (RELU + "a = b = 64\n" + inputs("a", "b"), {"a", "b"}),
    "0_tuple": (RELU + "a, b = 64, 32\n" + inputs("a", "b"), {"a", "b"}),
    "3_derived": (RELU + "N = 64\nM = N // 2\n" + inputs("N", "M"), {"N"}),
    "4_linear": (
        LINEAR
        + "batch = 32\nwide = 48\nnarrow = wide // 2\n"
        + inputs("batch", "wide", init="wide, narrow"),
        {"batch"},
    ),
    "5_chained_weight": (
        LINEAR + "batch = wide = 48\n" + inputs("batch", "wide", init="wide, 8"),
        set(),
    ),
    "6_derived_channels": (
        """groups = 4
channels = groups * 4
height = 40
batch = 8
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(channels, 8, 3)
    def forward(self, x):
        batch, _, height, _ = x.shape
        return self.conv(x) * height
"""
        + inputs("batch", "channels", "height", "height"),
        {"height", "batch"},
    ),
    "7_default": (
        """N = 16
K = 3
class Model(nn.Module):
    def __init__(self, kernel=K):
        super().__init__()
        self.pool = nn.MaxPool1d(kernel)
    def forward(self, x):
        return self.pool(x)
"""
        + inputs("N", "K", "N"),
        {"N"},
    ),
    "8_class_body": (
        """N = 16
rows = 24
class Model(nn.Module):
    N = N
    def forward(self, x):
        return x * self.N
"""
        + inputs("rows", "N"),
        {"rows"},
    ),
    "9_module_level_tensor": (
        """N = 16
rows = 24
mask = torch.ones(N)
class Model(nn.Module):
    def forward(self, x):
        return x * mask
"""
        + inputs("rows", "N"),
        {"rows"},
    ),
    "10_helper_and_main": (
        RELU
        + """N = 16
def shape(n=N):
    return n, n
def get_inputs():
    return [torch.randn(*shape())]
if __name__ == "__main__":
    print(Model()(*get_inputs()))
""",
        {"N"},
    ),
    "11_sees_all": (
        """N = 16
class Model(nn.Module):
    def forward(self, x):
        return x * globals()["N"]
"""
        + inputs("N", "N"),
        set(),
    ),
    "12_set_twice": (RELU + "N = 16\nN = 32\n" + inputs("N"), set()),
    "13_changed_later": (RELU + "N = 16\nModel.size = N\n" + inputs("N"), set()),
    "14_annotated": (RELU + "N: int = 1 << 6  # rows\n" + inputs("N", "4"), {"N"}),
}


def folder(root: Path, **codes: str) -> str:
    (root / "level1").mkdir(exist_ok=True)
    for name, code in codes.items():
        (root / "level1" / f"{name}.py").write_text(HEAD + code)
    return str(root)


@pytest.fixture(scope="module")
def lookalikes(tmp_path_factory: pytest.TempPathFactory) -> str:
    return folder(
        tmp_path_factory.mktemp("suite"), **{n: code for n, (code, _) in PROBLEMS.items()}
    )


@pytest.mark.parametrize(("code", "free"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_size_is_free_if_only_inputs_need_it(code: str, free: set[str]) -> None:
    assert set(sizes_of(HEAD + code).free) == free


def parts(problem: Problem, number: int) -> tuple[Any, Any]:
    """Shapes of the module's state, and what it is made with."""
    reference = load_reference(problem, problem.cases[number])
    _, state, _ = reference.draw(0)
    return {name: one.shape for name, one in state.items()}, reference.init()


@pytest.mark.parametrize("scale", ["0.01", "0.3", "1"])
@pytest.mark.slow
def test_no_scale_changes_a_module_its_name_or_whether_it_runs(lookalikes: str, scale: str) -> None:
    written = load_suite(f"kernelbench:{lookalikes}").problems
    scaled = load_suite(f"kernelbench:{lookalikes}?scale={scale}").problems
    assert [one.name for one in scaled] == [one.name for one in written]
    for before, after in zip(written, scaled, strict=True):
        assert before.code == after.code
        for number in range(len(after.cases)):
            assert parts(before, 4) == parts(after, number)
            load_reference(after, after.cases[number]).spec()


@given(scale=st.floats(min_value=1e-9, max_value=1))
def test_a_scaled_size_is_a_size_and_a_fixed_one_is_as_written(scale: float) -> None:
    for code, _ in PROBLEMS.values():
        sizes = sizes_of(HEAD + code)
        changed = sizes.changed(lambda _, size: max(1, int(size * scale)))
        assert all(1 <= changed[name] <= size for name, size in sizes.written.items())
        fixed = set(sizes.written) - set(sizes.free)
        assert all(changed[name] == sizes.written[name] for name in fixed)


def test_derived_sizes_follow_and_chained_ones_stay_equal(tmp_path: Path) -> None:
    chained, derived = (PROBLEMS[name][0] for name in ("2_chain", "3_derived"))
    root = folder(tmp_path, **{"1_A": chained, "2_B": derived})
    a, b = load_folder(root, Choice(scale=0.25))
    assert "a = b = 16\n" in sized_code(a, a.timed_case())
    (x,) = load_reference(b, b.timed_case()).draw(0)[2]
    assert x.shape == (16, 8)


def test_a_derived_size_never_vanishes(tmp_path: Path) -> None:
    root = folder(tmp_path, **{"1_A": RELU + "N = 64\nM = N // 32\n" + inputs("N", "M")})
    (problem,) = load_folder(root, Choice(scale=0.1))
    assert dict(problem.timed_case().sizes) == {"N": 64}


@pytest.mark.slow
def test_sizes_that_the_module_does_not_survive_are_taken_back(tmp_path: Path) -> None:
    literal = LINEAR + "batch = 32\nwide = 48\n" + inputs("batch", "wide", init="48, 8")
    pooled = RELU.replace("torch.relu(x)", "nn.functional.max_pool1d(x, 40)")
    code = pooled + "batch = 9\nlength = 64\n" + inputs("batch", "3", "length")
    root = folder(tmp_path, **{"1_Literal": literal, "2_Pooled": code})
    suite = load_suite(f"kernelbench:{root}?scale=0.5")
    assert [dict(one.timed_case().sizes) for one in suite.problems] == [
        {"batch": 32, "wide": 48},
        {"batch": 9, "length": 64},
    ]
    assert suite.notes == ("2 of 2 have no size that scale can change",)
    for problem in suite.problems:
        for case in problem.cases:
            load_reference(problem, case).spec()


LARGE = RELU + "N = 1 << 16\n" + inputs("N", "N")
SMALL = RELU + "N = 16\n" + inputs("N", "N")


def test_what_does_not_fit_is_named_in_one_line_and_left_out(tmp_path: Path) -> None:
    root = folder(tmp_path, **{"1_Large": LARGE, "2_Small": SMALL})
    suite = load_suite(f"kernelbench:{root}?memory=1GB")
    assert [one.name for one in suite.problems] == ["level1/2_Small"]
    assert suite.notes == (
        "left out 1 problem that would take more than 1 GB to judge: level1/1_Large (550 GB)",
    )


def test_what_does_not_fit_this_machine_is_left_out_unasked(tmp_path: Path) -> None:
    code = RELU + "N = 1 << 22\n" + inputs("N", "N")
    root = folder(tmp_path, **{"1_Large": code, "2_Small": SMALL})
    assert [one.name for one in load_suite(f"kernelbench:{root}").problems] == ["level1/2_Small"]


def test_a_scale_makes_it_fit(tmp_path: Path) -> None:
    root = folder(tmp_path, **{"1_Large": LARGE})
    suite = load_suite(f"kernelbench:{root}?memory=1GB&scale=0.01")
    assert [one.name for one in suite.problems] == ["level1/1_Large"]
    with pytest.raises(SuiteError, match="left out 1 problem"):
        load_suite(f"kernelbench:{root}?memory=1GB")


def test_a_module_that_cannot_be_tried_is_kept(tmp_path: Path) -> None:
    root = folder(
        tmp_path,
        **{"1_A": RELU.replace("relu(x)", "relu(x) * x.sum().item()") + "N = 4\n" + inputs("N")},
    )
    assert len(load_suite(f"kernelbench:{root}").problems) == 1


def test_a_module_that_ends_its_process_hides_no_other(tmp_path: Path) -> None:
    ends = RELU.replace("return", "import os; os._exit(1); return")
    prints = RELU.replace("return", "print('[]'); return")
    small = "N = 4\n" + inputs("N")
    codes = {"1_Ends": ends + small, "2_Prints": prints + small, "3_Large": LARGE}
    suite = load_suite(f"kernelbench:{folder(tmp_path, **codes)}?memory=1GB")
    assert [one.name for one in suite.problems] == ["level1/1_Ends", "level1/2_Prints"]


def test_an_exponent_is_not_worked_out_beyond_any_size(tmp_path: Path) -> None:
    path = tmp_path / "1_A.py"
    path.write_text(HEAD + RELU + "N = 9 ** 9 ** 9\nM = 4\n" + inputs("M"))
    assert dict(load_problem(path).timed_case().sizes) == {"M": 4}
