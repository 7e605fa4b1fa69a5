"""How many copies of the exam's problems are known for such, and how many others are taken for one.

    python -m scripts.copies [--drawn 300] [--every N]

Every problem of the suite `exam` is written anew in the styles of `scripts/copy_styles.py`; a text
counts as a copy where it gives the same numbers. Then one operator of each is changed: what gives
other numbers is no copy. Pairs of the exam's problems, and of one and another suite's or a drawn
one, are no copies either. Exit code 1 where fewer than 99 in 100 copies are known, or more than 1
in 100 others are taken for one.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import torch
from rich.console import Console
from rich.table import Table

from kernelwright.data.graphs.problem import problem_of
from kernelwright.data.graphs.sample import draw
from kernelwright.data.graphs.signature import signature_of
from kernelwright.data.suites.load import load_suite
from kernelwright.data.suites.normalised import normalised
from kernelwright.envs.types import Problem
from scripts.copy_styles import STYLES, changed

KNOWN, MISTAKEN = 0.99, 0.01
Outputs = tuple[torch.Tensor, ...]


def run(code: str) -> tuple[int, Outputs] | None:
    """The rank of the first input and the outputs; None where a module does not run. It is ours:
    it runs in this process."""
    names: dict[str, object] = {}
    try:
        exec(compile(code, "module", "exec"), names)
        torch.manual_seed(0)
        model = names["Model"](*names.get("get_init_inputs", list)())  # type: ignore[operator]
        inputs = names["get_inputs"]()  # type: ignore[operator]
        with torch.no_grad():
            found = model(*inputs)
    except Exception:  # noqa: BLE001 - a style that does not fit a module
        return None
    return inputs[0].dim(), tuple(found) if isinstance(found, tuple | list) else (found,)


def same(one: Outputs, other: Outputs) -> bool:
    return len(one) == len(other) and all(
        a.shape == b.shape and torch.allclose(a.double(), b.double(), 1e-5, 1e-6, equal_nan=True)
        for a, b in zip(one, other, strict=True)
    )


def copies(code: str, right: Outputs) -> Iterator[tuple[str, str]]:
    """(style, text) of each copy that differs in text and computes the same."""
    before = ast.unparse(ast.parse(code))
    for style in STYLES:
        tree = ast.parse(code)
        style(tree)
        text = ast.unparse(ast.fix_missing_locations(tree))
        found = run(text) if text != before else None
        if found and same(found[1], right):
            yield style.__name__, text


def others(code: str, right: Outputs) -> Iterator[str]:
    """Texts with one operator changed that compute something else."""
    for text in changed(code):
        found = run(text)
        if found and not same(found[1], right):
            yield text


def keys(code: str, rank: int) -> frozenset[str]:
    """What a problem is known by: its text, and what it computes."""
    return frozenset((normalised(code), signature_of(code, rank)))


def mistaken(one: Sequence[frozenset[str]], other: Sequence[frozenset[str]]) -> int:
    """Pairs that are taken for copies."""
    counts = Counter(key for each in one for key in each)
    return sum(max(counts[key] for key in each) for each in other)


def measured(problems: Sequence[Problem]) -> tuple[Counter[str], Counter[str], list[str]]:
    """Known and all, by style; changed ones under `one operator changed`; what was missed."""
    known, every, missed = Counter[str](), Counter[str](), list[str]()
    for problem in problems:
        ran = run(problem.code)
        assert ran is not None, problem.name
        rank, right = ran
        is_known = partial(_is_known, keys(problem.code, rank), rank)
        for style, text in copies(problem.code, right):
            every[style] += 1
            known[style] += is_known(text)
            missed += [] if is_known(text) else [f"{problem.name} {style}"]
        for text in others(problem.code, right):
            every["one operator changed"] += 1
            known["one operator changed"] += is_known(text)
    return known, every, missed


def _is_known(own: frozenset[str], rank: int, text: str) -> bool:
    return bool(own & keys(text, rank))


def keyed(problems: Iterable[Problem]) -> list[frozenset[str]]:
    ran = ((one, run(one.code)) for one in problems)
    return [keys(one.code, found[0]) for one, found in ran if found]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--drawn", type=int, default=300, help="problems of the generator")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth problem")
    options = parser.parse_args()
    torch.set_num_threads(1)
    exam = load_suite("exam").problems[:: options.every]
    known, every, missed = measured(exam)
    table = Table("what", "taken for the problem", "of", "share")
    for what, many in every.items():
        table.add_row(what, str(known[what]), str(many), f"{known[what] / many:.1%}")
    own = keyed(exam)
    drawn = (problem_of(draw(0, index), 0, index) for index in range(options.drawn))
    suites = {"the starter's": keyed(load_suite("starter").problems), "drawn ones": keyed(drawn)}
    pairs = Counter({name: mistaken(own, found) for name, found in suites.items()})
    pairs["its own"] = (mistaken(own, own) - len(own)) // 2
    sizes = {name: len(own) * len(found) for name, found in suites.items()}
    sizes["its own"] = len(own) * (len(own) - 1) // 2
    for name, many in sizes.items():
        table.add_row(
            f"pairs with {name}", str(pairs[name]), str(many), f"{pairs[name] / many:.3%}"
        )
    Console(width=120).print(table)
    print("missed:", ", ".join(missed) or "none")
    near = "one operator changed"
    right, all_copies = known.total() - known[near], every.total() - every[near]
    wrong = max(known[near] / every[near], pairs.total() / sum(sizes.values()))
    print(f"{right} of {all_copies} copies known; at most {wrong:.2%} of others taken for one")
    return 0 if right >= KNOWN * all_copies and wrong <= MISTAKEN else 1


if __name__ == "__main__":
    sys.exit(main())
