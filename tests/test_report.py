"""Records in, summary and page out: the numbers are the records', and no text of a model's runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from kernelwright.data.runs.records import RecordStore, read_records
from kernelwright.envs.types import (
    CaseCheck,
    Check,
    Evaluation,
    Precision,
    Record,
    Reward,
    Timing,
    Verdict,
    content_hash,
)
from kernelwright.envs.workers.compile_baseline import CompiledBaseline
from kernelwright.evals.evaluate.model import draws_line, print_scores
from kernelwright.evals.numbers.compiled_baselines import Known, write_baselines
from kernelwright.evals.numbers.metrics import record_scores, wilson
from kernelwright.evals.numbers.summary import RunFacts, write_summary
from kernelwright.evals.page.charts import Point, curve, moving_mean, nice_ticks
from kernelwright.evals.page.report import (
    HELD_OUT_KERNELS,
    LONGEST,
    TRAINING_KERNELS,
    clip,
    clock,
    percent,
    write_report,
)
from kernelwright.evals.page.showcase import best_and_worst, held_out_pairs, spread, training_pairs

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x00'\""
FACTS = RunFacts(
    model="smollm2-135m",
    dialect="cpp",
    target="2 cores",
    suite="starter",
    date="2026-11-21",
    seconds={"eval_before": 2.0, "grpo": 5.5, "eval_after": 2.5},
    categories={"softmax": "norm"},
)


def record(stage: str, row: int, speedup: int | None, step: int = 0, text: str = "") -> Record:
    """A correct kernel where there is a speedup, else a wrong one."""
    if speedup is None:
        evaluation = Evaluation(verdict=Verdict.WRONG, reason="mismatch", log=text)
    else:
        evaluation = Evaluation(
            verdict=Verdict.CORRECT,
            reason="ok",
            check=Check(rounds=(CaseCheck(case="given", passed=True, error=0.5),)),
            timing=Timing(baseline_ns=(100 * speedup,) * 3, candidate_ns=(100,) * 3),
        )
    name = "softmax" if row % 2 else "relu"
    source = f"int row_{row} = {step};{text}\n"
    return Record(
        stage=stage,
        step=step,
        row=row,
        problem=name,
        problem_key=content_hash(name),
        dialect="cpp",
        prompt=f"Write {name}.{text}",
        completion=f"{text}```cpp\n{source}```",
        source=source,
        evaluation=evaluation,
        reward=Reward(parts={"correct": 0.0 if speedup is None else 1.0}),
    )


def run_folder(folder: Path, text: str = "", steps: int = 3) -> Path:
    rows = [record("eval_before", row, None, text=text) for row in range(4)]
    rows += [
        record("grpo", row, 2 if row <= step else None, step, text)
        for step in range(steps)
        for row in range(4)
    ]
    rows += [record("eval_after", row, 2 if row else None, text=text) for row in range(4)]
    RecordStore(folder).append(rows)
    (folder / "metrics.jsonl").write_text(
        '{"stage": "sft", "step": 1, "loss": 2.5}\n{"stage": "sft", "step": 2, "loss": NaN}\n{"st'
    )
    (folder / "env.json").write_text(json.dumps({"cpu": "Zen <4>"}))
    write_summary(folder, FACTS)
    return folder


class Tags(HTMLParser):
    """Every tag with its attributes, and what was opened and not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "line", "polyline", "input", "wbr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(page: Path) -> Tags:
    tags = Tags()
    tags.feed(page.read_text(encoding="utf-8"))
    tags.close()
    return tags


def test_summary_counts_what_the_records_say(tmp_path: Path) -> None:
    summary = json.loads((run_folder(tmp_path) / "summary.json").read_text())
    before, after = summary["held_out"]["before"], summary["held_out"]["after"]
    assert (before["n"], before["correct"], before["correct_rate"]) == (4, 0, 0.0)
    assert (after["n"], after["correct"], after["fast_1"]) == (4, 3, 0.75)
    assert after["geomean_speedup"] == pytest.approx(2.0)
    assert after["correct_rate_ci"][0] < 0.75 < after["correct_rate_ci"][1]
    assert after["fast_1_ci"] == after["correct_rate_ci"]
    assert after["pass_at_k"] == {"1": 0.75, "2": 1.0}
    assert after["pass_at_k_problems"] == {"1": 2, "2": 2}
    assert after["pass_at_k_ci"]["2"] == pytest.approx(wilson(2, 2))
    assert (after["mean_reward"], after["problems"]) == (0.75, 2)
    assert summary["records"] == 20
    assert summary["verdicts"]["grpo"] == {"correct": 6, "wrong": 6}
    assert summary["seconds"] == {**FACTS.seconds, "total": 10.0}
    assert summary["stages"] == ["eval_before", "grpo", "eval_after"]
    assert summary["gains"]["before_to_after"]["correct_rate"]["mean"] == 0.75
    assert set(summary["categories"]) == {"norm", "other"}
    assert summary["categories"]["norm"]["after"]["correct"] == 2


def test_the_page_counts_each_answer_once_and_nothing_that_the_model_did_not_write(
    tmp_path: Path,
) -> None:
    stages = ("triples", "search_start", "search", "search_again")
    RecordStore(tmp_path).append([record(stage, 0, 2) for stage in stages])
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert "<b>1</b><span>answers of the model judged; 1 examples for SFT besides</span>" in page


def test_every_figure_of_the_page_stands_with_its_interval(tmp_path: Path) -> None:
    after = json.loads((run_folder(tmp_path) / "summary.json").read_text())["held_out"]["after"]
    page = write_report(tmp_path).read_text(encoding="utf-8")
    for value, (low, high) in (
        (after["correct_rate"], after["correct_rate_ci"]),
        (after["pass_at_k"]["2"], after["pass_at_k_ci"]["2"]),
    ):
        assert f'{percent(value)} <span class="ci">[{percent(low)}, {percent(high)}]</span>' in page
    assert '<span class="dim">of 2 problems</span>' in page
    assert after["geomean_speedup_ci"] == [2.0, 2.0]
    written = StringIO()
    console = Console(file=written, width=200)
    print_scores(console, {"m": record_scores(read_records(tmp_path))})
    assert "· fast_1 " in written.getvalue()
    assert written.getvalue().count(" %]") == 2
    assert draws_line(after) == "pass@2 100.0 % [34.2 %, 100.0 %] over 2 problems"


def test_a_run_without_compiled_baselines_says_nothing_of_them(tmp_path: Path) -> None:
    summary = json.loads((run_folder(tmp_path) / "summary.json").read_text())
    assert "compile" not in summary
    assert not any("against_compile" in side for side in summary["held_out"].values())
    assert "torch.compile" not in write_report(tmp_path).read_text()


def test_speeds_against_compile_stand_beside_those_against_eager(tmp_path: Path) -> None:
    timing = Timing(baseline_ns=(400,) * 3, candidate_ns=(100,) * 3)
    reason = f"torch.compile: {HOSTILE}"
    baselines = {
        "relu": CompiledBaseline(timing=timing, compile_s=1.0),
        "softmax": CompiledBaseline(reason=reason),
    }
    known = [
        Known(problem=name, problem_key=content_hash(name), compiled=one)
        for name, one in baselines.items()
    ]
    write_baselines(tmp_path, known)
    summary = json.loads((run_folder(tmp_path) / "summary.json").read_text())
    after = summary["held_out"]["after"]
    assert (after["fast_1"], after["n"]) == (0.75, 4)
    against = after["against_compile"]
    assert (against["n"], against["fast_1"]) == (2, 0.0)
    assert against["geomean_speedup"] == pytest.approx(0.5)
    assert summary["held_out"]["before"]["against_compile"]["geomean_speedup"] is None
    compiled = summary["compile"]
    assert compiled["geomean_speedup"] == pytest.approx(4.0)
    assert compiled["speedups"]["relu"]["median"] == pytest.approx(4.0)
    assert compiled["no_baseline"] == {"softmax": reason}
    page = write_report(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "0.50×" in text
    assert "softmax (torch.compile: &lt;/pre&gt;&lt;script" in text
    assert not read(page).open


def test_summary_of_a_run_that_measured_nothing_has_no_sides(tmp_path: Path) -> None:
    summary = json.loads(write_summary(tmp_path, FACTS).read_text())
    assert (summary["records"], summary["held_out"], summary["gains"]) == (0, {}, {})
    assert "not measured" in write_report(tmp_path).read_text()


@pytest.mark.parametrize("precision", Precision)
def test_summary_and_page_say_how_float32_was_multiplied(
    precision: Precision, tmp_path: Path
) -> None:
    folder = run_folder(tmp_path)
    assert "float32: IEEE</span>" in write_report(folder).read_text(encoding="utf-8")
    write_summary(folder, replace(FACTS, precision=precision))
    assert json.loads((folder / "summary.json").read_text())["precision"] == precision
    said = {"ieee": "float32: IEEE", "tf32": "float32: TF32 allowed"}[precision]
    assert said in write_report(folder).read_text(encoding="utf-8")


def test_page_shows_rates_curves_and_kernels(tmp_path: Path) -> None:
    page = write_report(run_folder(tmp_path))
    text, tags = page.read_text(encoding="utf-8"), read(page)
    assert "0 % →" in text
    assert "75 %" in text
    assert sum(tag == "svg" for tag, _ in tags.seen) == 3
    assert "+75.0 points" in text
    assert "Zen &lt;4&gt;" in text
    assert not tags.open


def test_a_change_says_over_how_many_problems_it_is_which_both_sides_were_asked(
    tmp_path: Path,
) -> None:
    rows = [record("eval_before", 0, None)]
    rows += [record("eval_after", row, 2) for row in range(4)]
    RecordStore(tmp_path).append(rows)
    write_summary(tmp_path, FACTS)
    text = write_report(tmp_path).read_text(encoding="utf-8")
    assert "paired over the problems that both were asked (1)" in text


def test_text_of_a_model_becomes_neither_tag_nor_attribute(tmp_path: Path) -> None:
    (tmp_path / "kind").mkdir()
    (tmp_path / "hostile").mkdir()
    kind = read(write_report(run_folder(tmp_path / "kind", "plain")))
    page = write_report(run_folder(tmp_path / "hostile", HOSTILE))
    hostile = read(page)
    known = {tag for tag, _ in kind.seen}
    assert {tag for tag, _ in hostile.seen} <= known
    assert not {"script", "img", "link", "iframe", "form"} & known
    names = {name for _, attributes in hostile.seen for name in attributes}
    assert not {name for name in names if name.startswith("on") or name == "src"}
    assert "\u202e" not in page.read_text(encoding="utf-8")


def test_page_forbids_scripts_and_loads_nothing(tmp_path: Path) -> None:
    page = write_report(run_folder(tmp_path))
    policy = [one["content"] for tag, one in read(page).seen if "http-equiv" in one]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert not re.findall(r"https?://|url\(|@import", page.read_text(encoding="utf-8"))


def test_page_holds_at_most_so_many_kernels_however_long_the_run(tmp_path: Path) -> None:
    page = write_report(run_folder(tmp_path, "x" * 3 * LONGEST, steps=300))
    kernels = [one for tag, one in read(page).seen if "kernel" in (one.get("class") or "")]
    assert 20 < len(kernels) <= HELD_OUT_KERNELS + TRAINING_KERNELS
    assert "more characters" in page.read_text(encoding="utf-8")


def test_a_lone_surrogate_does_not_stop_the_page(tmp_path: Path) -> None:
    rows = [record("eval", 0, 2, text="\ud800")]
    assert "\\ud800" in clip(rows[0].completion)


def test_best_is_correct_and_fast_and_unjudged_is_neither_best_nor_worst() -> None:
    slow, fast, wrong = record("grpo", 1, 2), record("grpo", 3, 4), record("grpo", 5, None)
    lost = Record(
        stage="grpo",
        step=0,
        row=7,
        problem="softmax",
        problem_key=slow.problem_key,
        dialect="cpp",
        prompt="",
        completion="",
        source="",
        evaluation=Evaluation(verdict=Verdict.UNJUDGED, reason="worker_lost"),
        reward=None,
    )
    assert best_and_worst([slow, lost, wrong, fast]) == [fast, wrong]
    assert best_and_worst([lost]) == []
    assert best_and_worst([fast, fast]) == [fast]


def test_exhibits_name_the_side_and_keep_training_apart() -> None:
    rows = [record("eval_before", 1, None), record("eval_after", 1, 3), record("grpo", 1, 2)]
    (held_out,), (training,) = held_out_pairs(rows, 10), training_pairs(rows, 10)
    assert [label for label, _ in held_out.shown] == [
        "before training · best",
        "after training · best",
    ]
    assert [one.stage for _, one in training.shown] == ["grpo"]


@given(st.lists(st.integers(), unique=True), st.integers(0, 20))
def test_spread_keeps_order_and_ends_within_the_limit(items: list[int], limit: int) -> None:
    kept = spread(items, limit)
    assert len(kept) == min(limit, len(items))
    assert kept == [one for one in items if one in kept]
    if limit >= 2 and items:
        assert (kept[0], kept[-1]) == (items[0], items[-1])


@given(st.floats(-1e6, 1e6), st.floats(0.001, 1e6))
def test_ticks_reach_around_the_values_and_are_few(low: float, span: float) -> None:
    ticks = nice_ticks(low, low + span)
    slack = 1e-6 * (abs(low) + span)
    assert ticks[0] <= low + slack
    assert ticks[-1] >= low + span - slack
    assert 2 <= len(ticks) <= 9
    assert ticks == sorted(ticks)


@given(st.lists(st.floats(-10, 10), min_size=1), st.integers(0, 5))
def test_moving_mean_stays_within_the_values(values: list[float], radius: int) -> None:
    smooth = moving_mean(values, radius)
    assert len(smooth) == len(values)
    assert min(values) - 1e-9 <= min(smooth) <= max(smooth) <= max(values) + 1e-9


@given(
    st.lists(st.tuples(st.integers(0, 99).map(float), st.floats(-5, 5)), min_size=1, max_size=30)
)
def test_a_curve_stays_inside_its_frame(values: list[tuple[float, float]]) -> None:
    points = [Point(x=x, y=y, low=y - 1, high=y + 1) for x, y in sorted(values)]
    drawn = str(curve(points, "title <b>"))
    assert "<b>" not in drawn
    for value in re.findall(r'c[xy]="([^"]+)"', drawn):
        assert -1 <= float(value) <= 401


def test_unknown_numbers_print_as_a_dash() -> None:
    assert (percent(None), clock(None)) == ("–", "–")
    assert (percent(0.1234), clock(59.94), clock(754), clock(7260)) == (
        "12.3 %",
        "59.9 s",
        "12 min 34 s",
        "2 h 1 min",
    )
