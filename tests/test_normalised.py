"""Copies of a module are known by their text, whatever decides nothing in it."""

from __future__ import annotations

import pytest

from kernelwright.data.suites.load import load_suite
from kernelwright.data.suites.normalised import MOST_STATEMENTS, normalised

MODULE = """
import torch
import torch.nn as nn

N, K = 16, 32


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(32, 8)

    def forward(self, x):
        return torch.relu(self.fc(x)).sum(dim=1)


def get_inputs():
    return [torch.randn(N, K)]


def get_init_inputs():
    return []
"""
INIT = "def __init__(self):\n        super().__init__()\n"
RETURN = "return torch.relu(self.fc(x)).sum(dim=1)"
KEEPS = INIT.replace("self)", "self, rows)") + "        self.rows = rows\n"
PLAIN = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2.0

def get_inputs():
    return [torch.randn(8)]

def get_init_inputs():
    return []
"""


def changed(*pairs: tuple[str, str]) -> str:
    code = MODULE
    for before, after in pairs:
        assert before in code
        code = code.replace(before, after)
    return code


@pytest.mark.parametrize(
    "code",
    [
        changed(("self)", "self, width)"), ("32, 8", "width, 8"), ("return []", "return [K]")),
        changed(("self)", "self, width=32)"), ("Linear(32", "Linear(width")),
        changed(("Linear(32, 8", "Linear(2 * 16, 8")),
        changed(("Linear(32, 8", "Linear(K, 8")),
        changed(("N, K = 16, 32", "N: int = 16\nK = N * 2")),
        changed(("dim=1", "dim=-1")),
        changed(("super()", "super(Model, self)")),
        changed(("torch.relu", "torch.nn.functional.relu")),
        changed(
            ("torch.relu", "F.relu"), ("import torch\n", "from torch.nn import functional as F\n")
        ),
        changed(
            ("torch.relu", "relu"), ("import torch\n", "from torch.nn.functional import relu\n")
        ),
        changed((RETURN, "y = torch.relu(self.fc(x))\n        return y.sum(dim=1)")),
        changed(
            (RETURN, "x = self.fc(x)\n        x = torch.relu(x)\n        return x.sum(dim=1)"),
        ),
        changed(("class Model", "def helper(x):\n    return x + 1\n\n\nclass Model")),
        changed(("        return torch", '        """Sums."""\n        return torch')),
        changed((INIT, KEEPS), ("return []", "return [N]")),
    ],
)
def test_what_decides_nothing_makes_no_difference(code: str) -> None:
    assert normalised(code) == normalised(MODULE)


@pytest.mark.parametrize(
    "code",
    [
        changed(("torch.relu", "torch.tanh")),
        changed((".sum(dim=1)", ".sum()")),
        changed(("Linear(32, 8", "Linear(32, 8, bias=False")),
        changed((RETURN, "x = self.fc(x)\n        return torch.relu(x).sum(dim=1) + x")),
        changed(("self)", "self, bias)"), ("8)", "8, bias=bias)"), ("return []", "return [True]")),
    ],
)
def test_what_decides_something_makes_a_difference(code: str) -> None:
    assert normalised(code) != normalised(MODULE)


def test_a_number_that_a_constructor_keeps_is_a_number() -> None:
    kept = INIT.replace("self)", "self, scale)") + "        self.scale = scale\n\n    def forward"
    kept = PLAIN.replace("def forward", kept).replace("x * 2.0", "x * self.scale")
    assert normalised(kept.replace("return []", "return [2.0]")) == normalised(PLAIN)


def test_a_helper_that_is_used_counts() -> None:
    helped = changed(("class Model", "def helper(x):\n    return x + 1\n\n\nclass Model"))
    used = helped.replace("self.fc(x)", "self.fc(helper(x))")
    assert normalised(used) != normalised(MODULE)
    assert normalised(used.replace("x + 1", "x * 1")) != normalised(used)


def test_sizes_alone_make_no_difference_where_numbers_count() -> None:
    known = normalised(PLAIN, exact=True)
    assert normalised(PLAIN.replace("8", "24"), exact=True) == known
    assert normalised(PLAIN.replace("x", "image"), exact=True) == known
    assert normalised(PLAIN.replace("2.0", "3.0"), exact=True) != known
    assert normalised(PLAIN.replace("randn(8)", "randint(8)"), exact=True) != known
    sized = changed(("16, 32", "24, 48"))
    assert normalised(sized, exact=True) == normalised(MODULE, exact=True)
    assert normalised(changed(("dim=1", "dim=0")), exact=True) != normalised(MODULE, exact=True)


def test_no_two_problems_of_the_starter_suite_are_one_but_for_their_sizes() -> None:
    problems = load_suite("starter").problems
    assert len({normalised(one.code, exact=True) for one in problems}) == len(problems)


def test_long_functions_and_torn_texts_are_compared_too() -> None:
    many = "x = torch.relu(x)\n        " * (50 * MOST_STATEMENTS)
    long = PLAIN.replace("return x * 2.0", f"{many}return x * 2.0")
    assert normalised(long) == normalised(long.replace("2.0", "3.0"))
    deep = PLAIN.replace("2.0", "-" * 5000 + "2.0")
    for code in ("def (", "nonlocal a\n", deep):
        assert normalised(code)
