"""Forecasts of speed: right in nine of ten cases where kernels are alike, else there is none."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.runs.stages import SEARCH
from kernelwright.envs.types import Evaluation, Record
from kernelwright.evals.numbers.search_results import forecasts
from kernelwright.rl.search.archive import Archive
from kernelwright.rl.search.features import without_comments
from kernelwright.rl.search.surrogate import Forecast, forecast
from tests import nouns
from tests.landscape import World
from tests.rollouts import task
from tests.searches import Improver, best, plain, searched, without_modules


@pytest.fixture(autouse=True)
def prompts_without_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    without_modules(monkeypatch)


def source(plan: int, rng: random.Random) -> str:
    """A kernel of a plan, whose names and numbers vary as a model's do."""
    body = " ".join(f"step{plan}_{place}(a{place}, b{place});" for place in range(6 + plan))
    return f"for (int {rng.choice('ijkmn')} = 0;;) {{ {body} pad({rng.randrange(1000)}); }}"


def archive_of(kernels: list[tuple[str, float]]) -> Archive:
    found = Archive()
    for row, (text, speed) in enumerate(kernels):
        found.add([record(text, nouns.correct(nouns.timing(round(1000 * speed))), row)])
    return found


def record(text: str, evaluation: Evaluation, row: int = 0) -> Record:
    problem = task().problem
    return Record(
        stage=SEARCH, step=0, row=row, problem=problem.name, problem_key=problem.key,
        dialect="cpp", prompt="", completion=text, source=text, evaluation=evaluation, reward=None,
    )  # fmt: skip


def drawn(rng: random.Random, count: int) -> list[tuple[str, float]]:
    """Kernels of three plans, each about 1, 2 and 4 times as fast as PyTorch."""
    plans = [rng.randrange(3) for _ in range(count)]
    return [(source(plan, rng), 2**plan * rng.uniform(0.8, 1.25)) for plan in plans]


@given(st.integers(0, 2**32), st.integers(0, 8))
def test_before_nine_kernels_were_timed_nothing_is_forecast(seed: int, count: int) -> None:
    rng = random.Random(seed)
    assert forecast(source(0, rng), archive_of(drawn(rng, count))) is None


def test_new_kernels_stay_below_the_upper_end_and_what_is_called_slower_is() -> None:
    below, slower, really = [], 0, 0
    for seed in range(150):
        rng = random.Random(seed)
        known, [(text, speed)] = drawn(rng, 20), drawn(rng, 1)
        guess = forecast(text, archive_of(known))
        if guess is None:
            continue
        below.append(speed <= guess.at_most)
        slower += guess.is_slower
        really += guess.is_slower and speed < guess.best
    assert len(below) >= 120, "one of 21 is the least like the others"
    assert sum(below) >= 0.9 * len(below), "20 of 21 but for chance"
    assert slower >= 60, "most of those of the slower two plans"
    assert really == slower


def test_among_kernels_that_are_alike_most_are_timed_and_few_are_wrongly_left_out() -> None:
    """The next step of an improvement is as like the others as any."""
    called, right = 0, 0
    for seed in range(100):
        rng = random.Random(seed)
        known = [(source(0, rng), rng.uniform(0.8, 1.25)) for _ in range(20)]
        guess, speed = forecast(source(0, rng), archive_of(known)), rng.uniform(0.8, 1.25)
        called += guess is not None and guess.is_slower
        right += guess is not None and guess.is_slower and speed < guess.best
    assert called <= 40
    assert right >= 0.9 * called


def test_a_kernel_that_is_like_none_of_them_is_timed() -> None:
    rng = random.Random(3)
    head = "void kernel(const float* x, float* out, long n)"
    known = [(f"{head} {source(0, rng)}", 1.0 + number / 50) for number in range(30)]
    other = f"{head} {source(5, rng).replace('step', 'vector')}"
    assert forecast(other, archive_of(known)) is None
    known.append((f"{head} {source(9, rng)}", 2.0))
    guess = forecast(other, archive_of(known))
    assert guess is not None
    assert not guess.is_slower, "one was like none of the others, and faster"


def test_in_python_two_slashes_divide() -> None:
    assert without_comments("def f(pid):\n    row = pid // BLOCK  # a row") == (
        "def f(pid):\n    row = pid // BLOCK   "
    )
    assert without_comments("int i = 0; // first").rstrip() == "int i = 0;"


def test_a_forecast_follows_the_kernels_that_share_most_of_the_text() -> None:
    rng = random.Random(1)
    archive = archive_of(drawn(rng, 30))
    for plan in range(3):
        guesses = [forecast(source(plan, rng), archive) for _ in range(6)]
        speeds = [guess.speedup for guess in guesses if guess]
        assert speeds
        assert speeds == pytest.approx([2**plan] * len(speeds), rel=0.3)
    assert forecast("nothing alike", archive) is None


def test_comments_change_no_forecast() -> None:
    rng = random.Random(2)
    archive, text = archive_of(drawn(rng, 20)), source(1, rng)
    assert forecast(text, archive) == forecast(
        f"// slow, naive, as step0_1(a1, b1)\n{text}", archive
    )


WATCHED: dict[str, Any] = {"budget": 160, "batch": 8, "temperature": 1.0}


def likened(monkeypatch: pytest.MonkeyPatch) -> None:
    """The landscape's kernels are three words, all alike: forecasts follow the plan alone."""

    def by_plan(text: str, archive: Archive) -> Forecast | None:
        speeds = [one.median for one in archive.right if one.source[:8] == text[:8] and one.median]
        most = max((one.median for one in archive.right if one.median), default=0.0)
        return Forecast(speedup=speeds[0], at_most=speeds[0] * 1.01, best=most) if speeds else None

    monkeypatch.setattr("kernelwright.rl.search.search.forecast", by_plan)


def test_a_search_that_times_no_slow_kernel_finds_what_it_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    likened(monkeypatch)
    timed: dict[str, int] = {}
    found: dict[str, float] = {}
    for how in ("off", "watch", "on"):
        world = Counted()
        records = searched("best_of_n", judge=world, policy=Varied(), surrogate=how, **WATCHED)
        timed[how], found[how] = world.timed, best(records)
        told = forecasts(records)
        if how == "off":
            assert told["timed"] == told["untimed"] == 0
        else:
            assert told["below_upper_end"] == (None if how == "on" else told["timed"])
            assert told["forecast_slower"] == told["were_slower"] != 0
        assert (told["untimed"] != 0) == (how == "on")
    assert found["on"] == found["watch"] == found["off"]
    assert timed["on"] < timed["watch"] == timed["off"]


class Varied(Improver):
    """No two of its kernels are the same text."""

    def one(self, prompt: str, rng: random.Random) -> str:
        return super().one(prompt, rng).replace("\n```", f" {rng.random()}\n```")


class Counted(World):
    """Counts the kernels that it is asked to time."""

    timed = 0

    def evaluate_many(self, jobs: Any, *, timed: bool = True, **more: Any) -> list[Evaluation]:
        self.timed += len(jobs) if timed else 0
        found: list[Evaluation] = super().evaluate_many(jobs, timed=timed, **more)
        return found


@pytest.mark.parametrize("how", ["watch", "on"])
def test_a_search_with_forecasts_goes_on_with_the_records_it_would_have_had(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    likened(monkeypatch)
    whole = searched("evolve", policy=Varied(), surrogate=how)
    assert forecasts(whole)["timed"]
    for calls in (1, 3, 6):
        part = searched("evolve", policy=Varied(), surrogate=how, stop_after=calls)
        assert plain(searched("evolve", policy=Varied(), surrogate=how, kept=part)) == plain(whole)


def test_what_came_of_forecasts_is_counted_from_records_each_kernel_once() -> None:
    guess = Forecast(speedup=2.0, at_most=3.0, best=4.0)
    timed = replace(nouns.correct(nouns.timing(3500)), facts=guess.facts(left_out=False))
    untimed = replace(nouns.correct(None), facts=guess.facts(left_out=True))
    quick = replace(nouns.correct(None), facts=guess.facts(left_out=False))
    watched = [record("a", timed), record("a", timed, 1), record("b", quick, 2)]
    told = {"timed": 1, "untimed": 0, "forecast_slower": 1, "were_slower": 1}
    all_timed = {"below_upper_end": 0, "measured_over_forecast": pytest.approx(1.75)}
    assert forecasts(watched) == {**told, **all_timed}
    some_left = {"untimed": 1, "below_upper_end": None, "measured_over_forecast": None}
    assert forecasts([*watched, record("c", untimed, 3)]) == {**told, **some_left}
