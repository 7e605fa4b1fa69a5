"""What the stages of scripts/on_gpu.py make of what they find; the stages themselves run in its
rehearsal."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernelwright.envs.system import hardware
from kernelwright.envs.types import CaseCheck, Check, Evaluation, Verdict
from kernelwright.recipe.resolve import resolve
from scripts.on_gpu_stages import curve, tiny
from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.evaluate import chosen
from scripts.on_gpu_stages.spans import Spans, totals
from scripts.on_gpu_stages.training import Fit, groups_of
from scripts.on_gpu_stages.verdicts import Asked, alone_a_minute, in_turns, judged_as, pace_of
from tests.fake_nvidia_smi import on_path, write_nvidia_smi


def test_a_span_counts_its_own_seconds_and_not_those_of_spans_inside_it() -> None:
    spans = Spans(clock=iter(range(100)).__next__)
    with spans.of("outer"):
        with spans.of("inner"), spans.of("innermost"):
            pass
        with spans.of("inner"):
            pass
    assert spans.seconds == {"innermost": 1, "inner": 3, "outer": 3}


def test_a_lock_has_the_seconds_until_it_is_entered_and_those_that_it_is_held() -> None:
    spans = Spans(clock=iter(range(100)).__next__)
    owner = SimpleNamespace(lock=nullcontext)
    spans.waiting(owner, "lock", "lock")
    with owner.lock(7) as value, spans.of("inside"):
        assert value == 7
    assert spans.seconds == {"lock": 1, "inside": 1, "held": 3}


def test_seconds_of_several_workers_are_means_by_dialect(tmp_path: Path) -> None:
    for worker, took in (("a", [1.0, 3.0]), ("b", [5.0])):
        rows = [json.dumps({"dialect": "cuda", "seconds": {"build": one}}) for one in took]
        (tmp_path / f"{worker}.jsonl").write_text("\n".join(rows))
    assert totals(tmp_path) == {"cuda": (3, {"build": 3.0})}


@pytest.mark.parametrize(("seconds", "rate"), [({"held": 6, "build": 4}, 10), ({"a": 32}, 30)])
def test_what_holds_the_gpu_or_what_all_cores_do_limits_the_pace(
    seconds: dict[str, float], rate: float
) -> None:
    assert alone_a_minute(seconds, workers=16) == rate


@pytest.fixture(scope="module")
def asked() -> list[Asked]:
    return list(in_turns())


def test_answers_come_from_each_list_in_turn(asked: list[Asked]) -> None:
    first = [one.group for one in asked[:10]]
    assert first[:5] == first[5:]
    assert len(set(first)) == 5


@pytest.mark.parametrize(
    ("verdict", "reason", "kind"),
    [
        (Verdict.WRONG, "mismatch", "right"),
        (Verdict.CRASHED, "illegal_address", "unexpected"),
        (Verdict.CORRECT, "ok", "wrong"),
        (Verdict.UNJUDGED, "worker_lost", "unjudged"),
        (Verdict.BUILD_FAILED, "unsupported:arange", "unsupported"),
    ],
)
def test_an_exploit_that_passes_is_wrong_and_one_stopped_otherwise_unexpected(
    verdict: Verdict, reason: str, kind: str, asked: list[Asked]
) -> None:
    exploit = next(one for one in asked if one.reason == "mismatch")
    check = Check(rounds=(CaseCheck(case="a", passed=True, error=0.0),))
    found = Evaluation(verdict=verdict, reason=reason, check=check)
    assert judged_as(exploit, found) == kind


@pytest.mark.parametrize(
    ("judged", "judged_s", "groups"), [(48, 12.0, 10), (48, 1.0, 32), (48, 480.0, 2), (0, 0.0, 2)]
)
def test_a_step_has_as_many_answers_as_are_judged_in_its_seconds(
    judged: int, judged_s: float, groups: int
) -> None:
    assert groups_of(Fit(), judged, judged_s, group_size=16) == groups


def test_a_curve_reads_the_pace_that_an_earlier_stage_found(tmp_path: Path) -> None:
    context = StageContext(rows=tmp_path / "r", out=tmp_path, carried=tmp_path, limit_s=1.0)
    assert pace_of(context) is None
    row = {"stage": "verdicts", "what": "pace", "triton_alone": 41.5}
    (tmp_path / "on_gpu.jsonl").write_text(f'{{"stage": "setup"}}\n{json.dumps(row)}\n')
    assert pace_of(context) == 41.5


def test_a_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n{"ste')
    assert curve.lines(tmp_path / "metrics.jsonl") == [{"step": 1}]
    assert tiny.stages(tmp_path) == "none"


def test_problems_of_the_stored_answers_have_one_in_triton_and_one_in_cuda() -> None:
    found = chosen(8)
    assert len({problem for problem, _ in found}) == 8
    assert all([one.parent.name for one in each] == ["triton", "inline_cuda"] for _, each in found)


def test_a_curve_that_is_timed_on_a_gpu_has_the_sizes_of_a_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_nvidia_smi(tmp_path)
    monkeypatch.setenv("PATH", on_path(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    hardware._listed_once.cache_clear()
    try:
        context = StageContext(rows=tmp_path / "r", out=tmp_path, carried=tmp_path, limit_s=1.0)
        recipe, *changed = curve.words(context, tmp_path / "run", on_cores=False)
        data = resolve(Path(recipe), changed).recipe.data
    finally:
        hardware._listed_once.cache_clear()
    suites = (data.sft_suite, data.train_suite, data.held_out_suite)
    assert suites == tuple(f"starter:{one}?sizes=cpu" for one in ("sft", "rl", "held_out"))
