"""Search modes at equal budget: what a table of their results says."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest
from rich.console import Console

from kernelwright.rl.search.mode import mode_names
from scripts import modes_scripted
from scripts.modes import MODES, gain, table, worth


def results(speeds: list[float | None]) -> dict[str, Any]:
    """One problem for each speed; None where no kernel is right."""
    known = [one for one in speeds if one is not None]
    return {
        "problems": [
            {
                "problem": f"p{number}",
                "asked": 4,
                "right": 0 if speed is None else 3,
                "source": None if speed is None else "kernel",
                "first": None,
                "again": None if speed is None else {"median": speed},
            }
            for number, speed in enumerate(speeds)
        ],
        "solved": len(known),
        "faster": sum(one > 1 for one in known),
        "geomean_speedup": known[0] if known else None,
    }


def test_every_mode_is_searched_in() -> None:
    assert sorted(MODES) == mode_names()


def test_an_unsolved_problem_is_worth_nothing_and_pytorchs_speed_one() -> None:
    assert worth(results([None, 1.0, 3.0])) == {"p0": 0.0, "p1": 1.0, "p2": 2.0}


def test_a_gain_is_paired_by_problem() -> None:
    found = gain(results([None, 1.0, 3.0]), results([1.0, 1.0, 7.0]))
    assert found is not None
    assert found.mean == pytest.approx(2 / 3)
    assert found.low <= found.mean <= found.high


def test_a_line_for_each_mode_has_its_gain_over_the_first() -> None:
    console = Console(record=True, width=140)
    console.print(table({"best_of_n": results([1.0, None]), "tree": results([3.0, 3.0])}))
    first, second = console.export_text().strip().splitlines()[1:]
    assert "3 of 8" in first
    assert "[" not in first
    assert "+1.50 [+" in second
    assert table({}).row_count == 0


def test_a_scripted_table_is_the_same_each_time_and_shows_gains_over_independent_answers() -> None:
    asked = ("Improver", "a world", range(8), 24, 4)
    first = list(modes_scripted.table(*asked))
    assert first == list(modes_scripted.table(*asked))
    gains = dict(zip(MODES, (one.split("|")[3].strip() for one in first[2:]), strict=True))
    assert gains["best_of_n"] == ""
    assert all(one.startswith("+") and "[+" in one for one in list(gains.values())[1:])


def test_where_kernels_are_dead_ends_a_chain_gains_less_than_a_tree() -> None:
    def mean(mode: str) -> float:
        return fmean(modes_scripted.worths_of(mode, "DeadEnds", range(6), 64, 4))

    assert mean("refine") < mean("tree")
