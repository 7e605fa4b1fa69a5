"""Numbers of a search: what was found, how soon, which kinds of rewriting help, in which cell."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.commands.searching import _together
from kernelwright.data.runs.records import answer_of
from kernelwright.data.runs.stages import SEARCH, SEARCH_AGAIN, STAGES
from kernelwright.envs.types import Evaluation, Record, Timing, Verdict
from kernelwright.evals.numbers.metrics import wilson
from kernelwright.evals.numbers.search_results import best_so_far, found_in, results
from kernelwright.rl.search.archive import Archive, Tried
from kernelwright.rl.search.features import features
from kernelwright.rl.search.kinds import with_kinds
from kernelwright.rl.search.knowledge import (
    Knowledge,
    Known,
    Situation,
    by_kind,
    known_of,
    merged,
    situation_of,
)
from kernelwright.rl.search.limits import held_back_by, near_limit
from kernelwright.rl.search.mode import Request
from kernelwright.rl.search.modes.evolve import CELLS, Options
from kernelwright.rl.search.modes.evolve import Mode as Evolve
from tests import nouns
from tests.searches import searched, without_modules

# What is learned of kinds of rewriting


def tried(key: str, low: float | None, parent: str | None = None, kind: str = "") -> Tried:
    measured = nouns.timing(round(1000 * low), 1000) if low else None
    evaluation = nouns.correct(measured) if low else nouns.verdict(Verdict.WRONG)
    return Tried(
        key=key,
        source=key,
        evaluation=evaluation,
        parent=parent,
        kind=kind,
        lane=0,
        depth=0,
        step=0,
    )


def test_a_kind_is_known_by_the_share_of_time_that_it_saved() -> None:
    archive = Archive("cpp", "loss")
    (first,) = records_of([1.0])
    children = ("fuse", 2.0), ("fuse", 2.0), ("fuse", 0.5), ("tile", None), ("hoist", 4.0)
    asked = [
        replace(one, step=1, skill=kind, parent="gone" if kind == "hoist" else answer_of(first).key)
        for kind, low in children
        for one in records_of([low])
    ]
    empty = replace(asked[3], source=None, evaluation=nouns.verdict(Verdict.NO_KERNEL))
    lost = replace(asked[3], evaluation=nouns.verdict(Verdict.UNJUDGED))
    archive.add([first, *asked, empty, lost])
    here = Situation(dialect="cpp", category="loss", limit="")
    assert known_of([archive]) == {
        (here, "fuse"): Known(asked=3, helped=2, saved=1.0),
        (here, "tile"): Known(asked=2),
    }
    assert known_of([archive], before=1) == {}


@pytest.mark.parametrize(("speed", "saved"), [(1.5, 0.0), (4.0, 0.5)])
def test_what_noise_may_have_saved_pays_nothing(speed: float, saved: float) -> None:
    noisy = Timing(baseline_ns=(1000,) * 3, candidate_ns=(500, 1000, 2000))
    archive, (first,), (child,) = Archive("cpp", "loss"), records_of([1.0]), records_of([speed])
    first = replace(first, evaluation=nouns.correct(noisy))
    child = replace(child, step=1, skill="fuse", parent=answer_of(first).key)
    archive.add([first, child])
    (known,) = known_of([archive]).values()
    assert (known.asked, known.helped) == (1, int(saved > 0))
    assert known.saved == pytest.approx(saved)


def test_a_bandit_asks_more_often_for_the_kind_that_helps() -> None:
    known: Knowledge = {}
    rng, asked, archive = random.Random(0), [], Archive("cpp")
    for _ in range(400):
        (one,) = with_kinds([Request(parent=tried("a", 1.0))], "bandit", archive, known, rng)
        helped = int(one.kind == "tile")
        place = situation_of(archive, tried("a", 1.0)), one.kind
        seen = Known(asked=1, helped=helped, saved=0.8 * helped)
        known = merged([known, {place: seen}])
        asked.append(one.kind)
    assert asked.count("tile") > 0.5 * len(asked)
    assert len(set(asked)) == 6


def test_the_records_of_a_search_tell_the_next_one_what_helped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_modules(monkeypatch)
    known = by_kind(searched("evolve", kinds="uniform", budget=48))
    assert sum(one.asked for one in known.values()) > 10
    assert 0 < sum(one.helped for one in known.values()) < sum(one.asked for one in known.values())


@pytest.mark.parametrize(
    ("source", "cell"),
    [
        ("void kernel() { for (int i = 0; i < n; ++i) a[i] = b[i]; }", (1, 0, 0)),
        ("for (;;) x; for (;;) for (;;) y; while (z) { }", (2, 0, 0)),
        ("for (;;) { for (;;) { x; } for (;;) { for (;;) y; } }", (3, 0, 0)),
        ("float tile[64];\n#pragma omp simd\nfor (;;) x;", (1, 1, 1)),
        ("// for (;;) for (;;)\n/* float4 */ x;", (0, 0, 0)),
        (
            "def f():\n    for i in range(3):\n        while x:\n            y\n    for j in z:\n",
            (2, 0, 0),
        ),
        ("__shared__ float s[4]; for (;;) { float4 v; }", (1, 1, 1)),
    ],
)
def test_features_are_read_from_the_source_without_comments(
    source: str, cell: tuple[int, ...]
) -> None:
    assert features(replace(tried("a", 1.0), source=source)) == cell


def counted(low: float | None = None, /, **facts: float) -> Evaluation:
    measured = nouns.timing(round(1_000 * low), 1_000) if low else None
    named = tuple((name.replace("counted_", "counted."), value) for name, value in facts.items())
    return replace(nouns.correct(measured), facts=named)


FLOORS = {"floor_ns": 600.0, "memory_floor_ns": 600.0, "compute_floor_ns": 20.0}


@pytest.mark.parametrize(
    ("evaluation", "held_back", "near"),
    [
        (nouns.correct(), "", ""),
        (counted(counted_sector_use=1.0, counted_lanes_on=32, counted_bank_conflicts=1), "", ""),
        (counted(counted_sector_use=0.25, counted_bank_conflicts=8), "sectors", "sectors"),
        (counted(counted_sector_use=4.0, counted_bank_conflicts=8), "banks", "banks"),
        (counted(counted_lanes_on=8), "lanes", "lanes"),
        (counted(1.0, **FLOORS), "memory", "memory"),
        (counted(1.0, **FLOORS | {"floor_ns": 400.0, "memory_floor_ns": 400.0}), "memory", ""),
        (counted(1.0, **FLOORS | {"floor_ns": 900.0, "compute_floor_ns": 900.0}), *2 * ["compute"]),
        (counted(1.0, **FLOORS, counted_lanes_on=8), "lanes", "lanes"),
        (counted(**FLOORS), "memory", ""),
    ],
)
def test_a_kernel_is_held_back_by_what_it_wastes_else_by_its_floor(
    evaluation: Evaluation, held_back: str, near: str
) -> None:
    assert (held_back_by(evaluation), near_limit(evaluation)) == (held_back, near)


def test_a_grid_with_counters_keeps_kernels_that_are_near_different_limits() -> None:
    found = [
        replace(tried(key, low), source=f"for (;;) {key};", evaluation=evaluation)
        for key, low, evaluation in (
            ("a", 3.0, counted(3.0)),
            ("b", 2.0, counted(2.0, counted_sector_use=0.1)),
            ("c", 1.5, counted(1.5, counted_sector_use=0.2)),
            ("d", 1.0, counted(1.0, **FLOORS)),
        )
    ]
    kept = {grid: [one.key for one in Evolve(Options(grid=grid)).elites(found)] for grid in CELLS}
    assert kept == {"static": ["a"], "counters": ["a", "b", "d"]}


# Numbers


lows = st.lists(st.sampled_from([None, 0.0, 0.5, 1.5, 3.0]), min_size=1, max_size=12)


def records_of(speeds: Sequence[float | None], stage: str = SEARCH) -> Iterator[Record]:
    """None is wrong, 0 right and not timed."""
    for row, low in enumerate(speeds):
        measured = nouns.timing(round(1000 * low), 1000) if low else None
        right = nouns.correct(measured)
        yield nouns.record(
            stage,
            row=row,
            source=f"kernel {low} {row}",
            evaluation=nouns.verdict(Verdict.WRONG) if low is None else right,
        )


@given(lows)
def test_the_best_so_far_never_gets_worse_and_ends_with_the_best(
    speeds: Sequence[float | None],
) -> None:
    curve = best_so_far(list(records_of(speeds)), range(1, len(speeds) + 1))
    for key in ("solved", "faster"):
        shares = [one[key] for one in curve]
        assert shares == sorted(shares, key=lambda one: one or 0.0)
    (found,) = found_in(records_of(speeds))
    assert found.right == sum(one is not None for one in speeds)
    assert (found.source is not None) == (found.right > 0) == (curve[-1]["solved"] == 1.0)
    timed = [one for one in speeds if one]
    assert (found.first.low if found.first else 0) == pytest.approx(max(timed, default=0))


def test_the_speed_that_counts_is_the_one_measured_again_of_a_kernel_that_is_still_right() -> None:
    first = list(records_of([3.0, 2.0, 1.5]))
    evaluations = (
        nouns.verdict(Verdict.WRONG),
        nouns.correct(nouns.timing(1_200)),
        nouns.correct(nouns.timing(1_400)),
    )
    again = [
        nouns.record(SEARCH_AGAIN, row=one.row, source=one.source, evaluation=evaluation)
        for one, evaluation in zip(first, evaluations, strict=True)
    ]
    (found,) = found_in([*first, *again])
    assert (found.row, found.changed) == (2, 1)
    assert found.first
    assert found.again
    assert (found.first.median, found.again.median) == (1.5, 1.4)
    (lost,) = found_in([first[0], again[0]])
    assert (lost.source, lost.again, lost.right, lost.changed) == (None, None, 1, 1)


def test_what_was_found_for_all_problems_stands_with_intervals_over_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_modules(monkeypatch)
    records = searched("evolve")
    seen = results(found_in(records), records, 24)
    assert (seen["solved"], seen["solved_ci"]) == (3, wilson(3, 3))
    assert seen["faster_ci"] == wilson(seen["faster"], 3)
    low, high = seen["geomean_speedup_ci"]
    assert low <= seen["geomean_speedup"] <= high
    line = _together(seen)
    assert line.startswith(
        "solved 3 of 3: 100.0 % [43.9 %, 100.0 %] · surely faster than PyTorch 2"
    )
    assert line.endswith("] over 3 timed again")


def test_a_kernel_without_a_verdict_when_measured_again_keeps_its_first_measurement() -> None:
    (first,) = records_of([3.0])
    lost = nouns.verdict(Verdict.UNJUDGED)
    again = nouns.record(SEARCH_AGAIN, row=first.row, source=first.source, evaluation=lost)
    (found,) = found_in([first, again])
    assert (found.source, found.changed, found.again) == (first.source, 0, None)
    assert found.first


def test_the_records_of_a_search_are_of_two_stages_that_pages_have_titles_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_modules(monkeypatch)
    stages = {one.stage for one in searched("evolve")}
    assert stages == {"search", "search_again"} == {SEARCH, SEARCH_AGAIN}
    assert stages <= STAGES.keys()
