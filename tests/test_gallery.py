"""The gallery means something: every exploit succeeds against a harness that shares its process."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from kernelwright.data.gallery import judge_check
from kernelwright.data.gallery.exhibits import (
    BROKEN,
    FOLDER,
    Exhibit,
    Finding,
    GalleryError,
    Outcome,
    exploits,
)
from kernelwright.data.gallery.judge_check import _key, gallery_object, gallery_text, is_just
from kernelwright.envs.judge import Judge
from kernelwright.envs.system.hardware import Gpu
from kernelwright.envs.types import Candidate, Dialect, Evaluation, Verdict
from kernelwright.preflight.check import fooled
from kernelwright.recipe.resolve import resolve
from scripts.kernels import HONEST, dialect_of, is_right, mixture, the_problem
from tests import nouns
from tests.controls import (
    ALL,
    DAYS,
    EXPLOITS,
    due,
    identity,
    is_due,
    known,
    lacking,
    named,
    playable,
    played,
    stated,
    succeeded,
)
from tests.naive_box import controls

pytestmark = pytest.mark.sandbox

FILES = [file for files in ALL.values() for file in files]
PLAYABLE = [file for files in playable().values() for file in files]
DUE = due()


@cache
def played_today() -> dict[Path, Mapping[str, object]]:
    """Those whose turn it is, of dialects that this machine can build."""
    return played({dialect: files for dialect, files in DUE.items() if lacking(dialect) is None})


def test_every_exploit_succeeded_in_a_naive_harness_or_is_played_today() -> None:
    before, today = known(), {file for files in DUE.values() for file in files}
    for file in PLAYABLE:
        assert before.get(named(file)) == identity(file) or file in today
    assert set(before) <= {named(file) for file in PLAYABLE}


def test_in_so_many_days_every_exploit_is_played_once() -> None:
    turns = Counter(file for day in range(DAYS) for file in PLAYABLE if is_due(file, day))
    assert set(turns) == set(PLAYABLE)
    assert sum(turns.values()) < 1.2 * len(PLAYABLE), "python -m tests.controls"


@pytest.mark.slow(always=True)
@pytest.mark.parametrize(
    ("dialect", "file"),
    [(dialect, file) for dialect, files in DUE.items() for file in files],
    ids=lambda one: f"{one.parent.name}/{one.stem}" if isinstance(one, Path) else str(one),
)
def test_an_exploit_succeeds_in_a_naive_harness(dialect: Dialect, file: Path) -> None:
    """Of a CUDA answer, what succeeds is its host code."""
    if why := lacking(dialect):
        pytest.skip(why)
    found = played_today()[file]
    assert succeeded(file, found), f"{found['seen']}\n{found['printed']}"


def test_the_naive_harness_accepts_honest_work_and_sees_nothing_wrong_in_it() -> None:
    honest = EXPLOITS / "honest.cpp"
    wrong = EXPLOITS / "broken" / "divides_by_zero.cpp"
    timed = EXPLOITS / "timing" / "problem.py"
    found = controls([(honest, timed, honest), (wrong, EXPLOITS / "problem.py", None)])
    assert found[honest]["seen"] == ["correct"]
    assert found[wrong]["seen"] == ["dies"]


@pytest.mark.slow
def test_what_the_soak_calls_honest_is_correct_in_every_dialect() -> None:
    kinds = [one for one in HONEST if lacking(dialect_of(one)) is None]
    asked = mixture(kinds, the_problem())
    with Judge(1) as judge:
        jobs = [(the_problem(), candidate) for _, candidate in asked]
        found = judge.evaluate_many(jobs, timed=False)
    for (kind, candidate), one in zip(asked, found, strict=True):
        assert is_right(kind, candidate, one), f"{kind}: {one.reason} {one.log}"


def test_there_are_enough_exploits_of_every_family() -> None:
    assert len(FILES) >= 75
    assert len(ALL["triton"]) >= 20
    assert len(ALL["cuda"]) >= 8
    families = {file.parent.name for file in FILES}
    assert families == {
        *("timing", "replay", "stealing", "not_computing", "not_using_a_kernel"),
        *("escaping", "exhausting", "forging", "leaving_marks", "loading_libraries"),
        *("unread_arguments", "cut_short", "less_work", "global_race", "ignored_strides"),
        *("biased", "kept_between_calls", "wrong_precision", "unseen_values"),
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_exploit_says_its_verdict_its_success_and_its_trick(file: Path) -> None:
    first, _, third = file.read_text().splitlines()[:3]
    verdict, reason = first.split()[2:]
    assert Verdict(verdict) not in (Verdict.CORRECT, Verdict.UNJUDGED)
    assert reason
    assert stated(file)
    assert third.split(None, 1)[1].endswith(".")


def exhibit(family: str, verdict: Verdict, name: str = "one") -> Exhibit:
    problem = exploits()[0].problem
    return Exhibit(
        name=name,
        family=family,
        problem=problem,
        candidate=Candidate(problem_key=problem.key, dialect="cpp", source=name),
        verdict=verdict,
        reason="ok" if verdict is Verdict.CORRECT else "because",
    )


def outcome(*pairs: tuple[str, Verdict, Verdict]) -> Outcome:
    """Of (family, expected verdict, found verdict)."""
    return Outcome(
        tuple(
            Finding(exhibit(family, wanted, str(number)), found(verdict))
            for number, (family, wanted, verdict) in enumerate(pairs)
        )
    )


def found(verdict: Verdict) -> Evaluation:
    return nouns.verdict(verdict)


def test_an_exploit_that_passes_or_was_not_judged_is_not_stopped() -> None:
    half = outcome(
        ("replay", Verdict.WRONG, Verdict.CORRECT),
        ("replay", Verdict.WRONG, Verdict.UNJUDGED),
        ("replay", Verdict.WRONG, Verdict.WRONG),
        ("replay", Verdict.WRONG, Verdict.CRASHED),
    )
    assert half.kill_rate == 0.5
    assert half.false_positive_rate is None
    assert not is_just(half, 0)
    assert len(half.surprises) == 3


def test_what_was_tried_without_a_gpu_is_tried_again_with_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without = _key()
    seen = Gpu(uuid="GPU-0", name="H100", driver="1.0", architecture=90, memory_bytes=None)
    monkeypatch.setattr("kernelwright.data.gallery.judge_check.gpus", lambda: (seen,))
    assert _key() != without


def test_what_this_machine_cannot_try_counts_neither_as_stopped_nor_as_a_surprise() -> None:
    missing = Evaluation(verdict=Verdict.UNJUDGED, reason="no_nvcc")
    skipped = Finding(exhibit("forging", Verdict.CRASHED), missing)
    nothing = Outcome((skipped,))
    assert (nothing.kill_rate, nothing.surprises, nothing.loose_exploits) == (None, [], [])
    assert "not tried           1 (no_nvcc)" in gallery_text(nothing, 0)
    assert gallery_object(nothing, 0)["not_tried"] == {"no_nvcc": 1}
    stopped = outcome(("forging", Verdict.WRONG, Verdict.WRONG)).findings
    both = Outcome((*stopped, skipped))
    assert (len(both.exploits), both.kill_rate) == (1, 1.0)
    assert "forging                        1" in gallery_text(both, 0)


def test_honest_mistakes_count_neither_as_exploits_nor_as_honest() -> None:
    broken = outcome((BROKEN, Verdict.CRASHED, Verdict.CRASHED))
    assert broken.kill_rate is None
    assert broken.false_positive_rate is None


def test_a_rejected_honest_kernel_or_a_leftover_process_is_not_just() -> None:
    fine = outcome(
        ("triples", Verdict.CORRECT, Verdict.CORRECT), ("a", Verdict.WRONG, Verdict.WRONG)
    )
    assert is_just(fine, 0)
    assert not is_just(fine, 1)
    rejected = outcome(("triples", Verdict.CORRECT, Verdict.WRONG))
    assert rejected.false_positive_rate == 1
    assert not is_just(rejected, 0)


def test_the_table_and_the_object_name_every_surprise() -> None:
    surprising = outcome(("timing", Verdict.WRONG, Verdict.CORRECT))
    assert "timing/0: correct ok, expected wrong because" in gallery_text(surprising, 0)
    assert "0.0% (0 of 1)" in gallery_text(surprising, 0)
    plain = json.loads(json.dumps(gallery_object(surprising, 0)))
    assert plain["kill_rate"] == 0
    assert plain["cases"][0]["found"] == ["correct", "ok"]


def test_a_file_without_a_verdict_or_a_problem_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "replay").mkdir()
    with pytest.raises(GalleryError, match="no exploits in"):
        exploits(tmp_path)
    (tmp_path / "replay" / "one.cpp").write_text("int x;\n")
    with pytest.raises(GalleryError, match=r"no problem\.py"):
        exploits(tmp_path)
    (tmp_path / "problem.py").write_text((EXPLOITS / "problem.py").read_text())
    with pytest.raises(GalleryError, match="VERDICT REASON"):
        exploits(tmp_path)


def test_the_exploits_are_tried_once_and_what_passes_is_named_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(judge_check, "cache_folder", lambda: tmp_path)
    folder = tmp_path / "exploits"
    (folder / "replay").mkdir(parents=True)
    (folder / "problem.py").write_text((EXPLOITS / "problem.py").read_text())
    honest = (EXPLOITS / "honest.cpp").read_text()
    (folder / "replay" / "honest.cpp").write_text(f"// verdict: wrong mismatch\n{honest}")
    (folder / "replay" / "nothing.cpp").write_text(
        (EXPLOITS / "broken" / "does_nothing.cpp").read_text()
    )
    monkeypatch.setattr(judge_check, "exploits", lambda: exploits(folder))
    assert judge_check.loose_exploits(1, "namespaces", "cpp") == ["replay/honest"]
    assert "2 exploits" in capsys.readouterr().err
    assert judge_check.loose_exploits(1, "namespaces", "cpp") == ["replay/honest"]
    assert capsys.readouterr().err == ""
    assert judge_check.loose_exploits(1, "namespaces", "triton") == []
    assert "0 exploits" in capsys.readouterr().err


def test_a_cluster_that_judges_is_what_the_exploits_are_tried_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []

    def opened(*_: object, ray_address: str | None = None) -> Judge:
        asked.append(ray_address)
        return Judge(1)

    monkeypatch.setattr(judge_check, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(judge_check, "exploits", list)
    monkeypatch.setattr(judge_check, "open_judge", opened)
    for address in ("auto", "auto", None, None):
        assert judge_check.loose_exploits(1, "namespaces", "cpp", address) == []
    assert asked == ["auto", "auto", None]


def test_exploits_that_nobody_could_try_do_not_count_as_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_check, "cache_folder", lambda: tmp_path)
    left_out = exhibit("replay", Verdict.WRONG)
    untried = Evaluation(verdict=Verdict.UNJUDGED, reason="no_nvcc")
    monkeypatch.setattr(
        judge_check, "judged", lambda *_: Outcome((Finding(exhibit=left_out, evaluation=untried),))
    )
    with pytest.raises(GalleryError, match="could not be tried on its judge: no_nvcc"):
        judge_check.loose_exploits(1, "namespaces", "cpp")
    assert not (tmp_path / "gallery").exists()


def test_what_was_not_judged_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_check, "cache_folder", lambda: tmp_path)
    lost = outcome(("replay", Verdict.WRONG, Verdict.UNJUDGED))
    monkeypatch.setattr(judge_check, "judged", lambda *_: lost)
    for _ in range(2):
        assert judge_check.loose_exploits(1, "namespaces", "cpp") == ["replay/0"]
    assert not (tmp_path / "gallery").exists()


def test_training_does_not_start_where_an_exploit_is_not_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = resolve(FOLDER.parents[1] / "recipes" / "quickstart.yaml", []).recipe
    monkeypatch.setattr(judge_check, "loose_exploits", lambda *_: ["replay/works_once"])
    (reason,) = fooled(recipe)
    assert "does not stop replay/works_once" in reason
    monkeypatch.setattr(judge_check, "loose_exploits", lambda *_: [])
    assert fooled(recipe) == []
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setattr(judge_check, "loose_exploits", lambda *_: pytest.fail("the first one asks"))
    assert fooled(recipe) == []
