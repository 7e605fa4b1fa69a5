"""Turns: equal kernels come out equal, whatever the machine does meanwhile."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.referee.timing import PATIENCE, Pace, Runs, time_in_turns

PACE = Pace(budget_s=60.0)


def player(
    rng: random.Random, clock: list[float], ns: float, *, noise: float, drift: float
) -> Runs:
    """Takes about `ns` a round; each block has its own luck, and the machine slows down."""

    def play(numbers: range) -> list[int]:
        luck = rng.gauss(0, noise)
        found = []
        for _ in numbers:
            clock[0] += drift
            found.append(round(ns * (1 + clock[0]) * (1.1 + luck + rng.gauss(0, noise / 3))))
        return found

    return play


def test_equal_kernels_have_speedup_one_within_the_interval_in_95_of_100_trials() -> None:
    hits = 0
    for trial in range(1000):
        rng, clock = random.Random(trial), [0.0]
        first, second = (player(rng, clock, 1e6, noise=0.05, drift=0.002) for _ in range(2))
        speedup = time_in_turns(first, second, PACE, len)[0].speedup
        hits += speedup.low <= 1 <= speedup.high
    assert hits >= 0.93 * 1000


@given(st.floats(0.2, 20), st.integers(0, 1000))
def test_a_true_ratio_is_found_whatever_the_drift(ratio: float, seed: int) -> None:
    rng, clock = random.Random(seed), [0.0]
    slow = player(rng, clock, 1e6 * ratio, noise=0.01, drift=0.01)
    fast = player(rng, clock, 1e6, noise=0.01, drift=0.01)
    timing, drift = time_in_turns(slow, fast, PACE, len)
    assert abs(timing.speedup.median / ratio - 1) < 0.03
    assert drift > 1


def test_calm_measurements_end_early_and_wild_ones_go_on() -> None:
    blocks = []
    for noise in (0.001, 0.3):
        rng, clock = random.Random(0), [0.0]
        first, second = (player(rng, clock, 1e6, noise=noise, drift=0) for _ in range(2))
        blocks.append(len(time_in_turns(first, second, PACE, len)[0].log_ratios))
    assert blocks == [PACE.fewest_blocks, PACE.most_blocks]


def test_what_is_made_for_a_batch_takes_nothing_of_a_candidates_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng, now_s = random.Random(0), [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])

    def takes(seconds: float) -> Runs:
        def play(numbers: range) -> list[int]:
            now_s[0] += seconds
            return [rng.randrange(500, 1500) for _ in numbers]

        return play

    def blocks(played_s: float, made_s: float) -> int:
        pace = Pace(budget_s=1.0)
        timing, _ = time_in_turns(takes(played_s), takes(played_s), pace, takes(made_s))
        return len(timing.log_ratios)

    assert blocks(played_s=0.01, made_s=0.0) == PACE.most_blocks
    assert blocks(played_s=0.01, made_s=3.0) == PACE.most_blocks
    assert blocks(played_s=0.01, made_s=PATIENCE) == PACE.fewest_blocks
    assert blocks(played_s=0.10, made_s=0.0) == PACE.fewest_blocks


def test_both_play_the_same_rounds_and_take_turns_at_going_first() -> None:
    played: list[tuple[str, range]] = []

    def note(name: str) -> Runs:
        def play(numbers: range) -> list[int]:
            played.append((name, numbers))
            return [1000] * len(numbers)

        return play

    time_in_turns(note("baseline"), note("candidate"), PACE, len)
    blocks = [(played[i], played[i + 1]) for i in range(0, len(played), 2)]
    assert all(one[1] == other[1] for one, other in blocks)
    assert [one[0] for one, _ in blocks] == [*["baseline", "candidate"] * 3, "baseline"]
    numbers = [number for one, _ in blocks for number in one[1]]
    assert len(set(numbers)) == len(numbers), "fresh inputs every round"


def test_a_baseline_that_becomes_three_times_as_slow_half_way_has_a_drift_of_three() -> None:
    def play(numbers: range) -> list[int]:
        return [1_000 if number < 8 else 3_000 for number in numbers]

    six_blocks = Pace(fewest_blocks=6, most_blocks=6, budget_s=60.0)
    assert time_in_turns(play, play, six_blocks, len)[1] == 3.0


def test_rounds_are_made_before_they_are_played_and_the_first_after_that_do_not_count() -> None:
    made: list[int] = []
    played: list[int] = []

    def ahead(numbers: range) -> None:
        assert played == made, "all that was made before is played"
        made.extend(numbers)

    def play(numbers: range) -> list[int]:
        assert set(numbers) <= set(made)
        just_made = not played or len(played) in begins
        return [7 if just_made else random.choice([900, 1100]) for _ in numbers]

    def baseline(numbers: range) -> list[int]:
        found = play(numbers)
        played.extend(numbers)
        return found

    begins = {0, 7 * PACE.block, 14 * PACE.block}
    never_narrow = replace(PACE, narrow=-0.5)
    timing, _ = time_in_turns(baseline, lambda numbers: [1000] * len(numbers), never_narrow, ahead)
    assert len(timing.baseline_ns) == PACE.most_blocks * PACE.block
    assert 7 not in timing.baseline_ns
