"""`kernelwright view`: runs as a page of text, whose one script only draws what records say."""

from __future__ import annotations

import base64
import gzip
import json
import re
import signal
import subprocess
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.types import Record, Reward
from kernelwright.evals.numbers.metrics import record_scores
from kernelwright.evals.numbers.summary import mean_reward
from kernelwright.evals.numbers.unfinished import readable_records
from kernelwright.evals.page.report import LONGEST, write_report
from kernelwright.evals.page.view import RunsView
from kernelwright.evals.page.view_curves import LOGGED, MAIN, run_curves
from kernelwright.evals.page.view_rows import Place, Table, around_the_kernel
from kernelwright.evals.page.view_tally import Tally, together
from kernelwright.service.viewer import application
from tests.command import ROOT, kernelwright
from tests.http_server import serving
from tests.nouns import RECORDS
from tests.page_script import assert_one_script_may_run_and_makes_no_markup
from tests.view_runs import BODY, EVIL, SHOWN, held, rollout, run_of

LOCAL = "http://127.0.0.1"


def data_of(page: str) -> dict[str, Any]:
    (data,) = re.findall(r'id="data">([A-Za-z0-9+/=]*)</script>', page)
    return dict(json.loads(gzip.decompress(base64.b64decode(data))))


def curves_of(folder: Path) -> dict[str, Any]:
    found = RunsView([folder]).since()
    assert found is not None
    return {one["title"]: one for one in found["runs"][0]["curves"]}


def test_the_page_holds_every_rollout_with_its_parts(tmp_path: Path) -> None:
    rows = held(RunsView([run_of(tmp_path)]).since())
    assert [(one["step"], one["row"]) for one in rows] == [
        (s, r) for s in range(3) for r in range(4)
    ]
    first, second = rows[:2]
    assert (first["before"], first["after"]) == ("It adds.", "Done.")
    assert first["kernel"] == BODY.format(0)
    assert [first[one] for one in ("speed", "low", "high", "reward")] == [2.0, 2.0, 2.0, 1.0]
    assert (first["credit"], first["parts"], first["rounds"]) == (0.5, {"correct": 1.0}, [])
    assert (second["verdict"], second["reason"], second["log"]) == (
        "wrong",
        "mismatch",
        "off by one",
    )
    assert second["rounds"] == [["odd", 2.0, "3 values"]]
    assert (second["speed"], second["seconds"]) == (None, 1.5)
    assert [one[2] for one in first["times"]] == [2.0, 1.0]
    assert (second["times"], second["floor"]) == (None, None)


def test_each_problem_and_each_prompt_is_held_once(tmp_path: Path) -> None:
    found = RunsView([run_of(tmp_path)]).since()
    assert found is not None
    run = found["runs"][0]
    assert run["problems"]["rows"] == [["p0", "k0", "other"], ["p1", "k1", "other"]]
    assert run["prompts"] == ["do p0", "do p1"]
    assert {(one["problem"], one["prompt"]) for one in held(found)} == {(0, 0), (1, 1)}


@given(st.lists(RECORDS, max_size=5), st.integers(0, 5))
def test_any_records_become_json_and_parts_make_the_whole(records: list[Record], cut: int) -> None:
    whole, parted = Table({}), Table({})
    for one in records:
        whole.add(one)
    for one in records[:cut]:
        parted.add(one)
    end, first = parted.end, parted.since(Place())
    for one in records[cut:]:
        parted.add(one)
    second = parted.since(end)
    text = json.dumps(whole.since(Place()), allow_nan=False)
    text.encode("ascii")
    for name in ("rows", "problems"):
        assert first[name]["rows"] + second[name]["rows"] == whole.since(Place())[name]["rows"]
    assert first["prompts"] + second["prompts"] == whole.since(Place())["prompts"]


def tame(one: Record) -> Record:
    """With a reward that a sum of a few keeps its digits of."""
    parts = one.reward.parts.values() if one.reward else ()
    return replace(one, reward=None) if any(abs(part) > 1e6 for part in parts) else one


@given(st.lists(st.lists(RECORDS.map(tame), max_size=4), max_size=3))
@pytest.mark.slow
def test_a_tally_is_what_the_report_counts(parts: list[list[Record]]) -> None:
    tallies = [Tally() for _ in parts]
    for tally, records in zip(tallies, parts, strict=True):
        for one in records:
            timed = one.evaluation.timing
            tally.add(one, timed.speedup.median if timed else None)
    whole, everything = together(tallies), [one for records in parts for one in records]
    scores = record_scores(everything)
    assert (whole.n, whole.correct) == (len(everything), scores.correct_rate)
    assert whole.speed == pytest.approx(scores.geomean_speedup)
    assert whole.reward.value == pytest.approx(mean_reward(everything))


def test_nothing_that_a_model_wrote_is_markup_and_one_script_may_run(tmp_path: Path) -> None:
    folder, out = run_of(tmp_path / "<img onerror=x>", text=EVIL), tmp_path / "page.html"
    done = kernelwright("view", str(folder), "--export", str(out))
    assert (done.returncode, done.stdout.strip()) == (0, str(out)), done.stderr
    page = out.read_text(encoding="utf-8")
    assert "<img" not in page
    assert "\u202e" not in page
    assert_one_script_may_run_and_makes_no_markup(page)
    row = held(data_of(page))[0]
    assert row["kernel"] == SHOWN


def test_an_exported_page_loads_nothing_from_outside(tmp_path: Path) -> None:
    page = RunsView([run_of(tmp_path)]).page(live=False)
    assert "connect-src" not in page
    assert "data-live" not in page.partition("<script")[0]
    assert not re.findall(r"(?:src|href)=\"(?!#)|@import|url\(", page)
    urls = set(re.findall(r"https?://[^\s\"'<]+", page))
    assert urls <= {"http://www.w3.org/2000/svg"}, "a name of SVG's, which is not loaded"


def test_a_huge_text_is_cut_and_that_is_said(tmp_path: Path) -> None:
    folder = run_of(tmp_path, steps=1, text="x" * 3 * LONGEST)
    row = held(RunsView([folder]).since())[0]
    assert row["kernel"].endswith(f"… {2 * LONGEST} more characters")


def test_torn_lines_and_unknown_fields_do_no_harm(tmp_path: Path) -> None:
    folder = run_of(tmp_path, steps=1)
    path = folder / "records.jsonl"
    lines = path.read_text().splitlines()
    later = json.dumps(json.loads(lines[0]) | {"row": 8, "field_of_later": [1]})
    path.write_text("\n".join([*lines[:4], "{torn", later, lines[4]]))
    found = RunsView([folder]).since()
    assert [one["row"] for one in held(found)] == [0, 1, 2, 3, 8]
    assert found is not None
    assert found["runs"][0]["remark"].startswith("Line 5 of records.jsonl could not be read")
    assert readable_records(folder)[1] == [5]


def test_what_was_taken_back_is_left_out(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    rows = [rollout("grpo", 0, row) for row in range(4)]
    store.append(rows)
    view = RunsView([tmp_path])
    before = view.since()
    assert len(held(before)) == 4
    store.void(rows[1:2])
    after = view.since((before or {})["token"])
    assert after is not None
    assert [one["row"] for one in held(after)] == [0, 2, 3]
    assert after["runs"][0]["anew"]


def test_what_a_resumed_run_does_again_is_held_once(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    store.append([rollout("grpo", step, 0) for step in range(3)])
    view = RunsView([tmp_path])
    token = (view.since() or {})["token"]
    assert store.rewind("grpo", 1) == 2
    store.append([rollout("grpo", 1, 2)])
    found = view.since(token)
    assert [(one["step"], one["row"]) for one in held(found)] == [(0, 0), (1, 2)]
    assert found is not None
    assert found["runs"][0]["anew"]


def test_curves_are_those_of_the_records_and_of_the_metrics(tmp_path: Path) -> None:
    found = curves_of(run_of(tmp_path))
    assert [x for x, _ in found["GRPO: mean reward"]["points"]] == [1, 2, 3]
    values = {title: [y for _, y in one["points"]] for title, one in found.items()}
    assert values["GRPO: mean reward"] == [0.5] * 3
    assert values["GRPO: correct"] == values["GRPO: wrong"] == [0.5] * 3
    assert values["GRPO: groups that are live"] == [0.5] * 3
    assert values["GRPO: sampled tokens a second"] == [10.0] * 3
    assert values["GRPO: judge, seconds an answer"] == [1.5] * 3
    assert values["GRPO: geometric mean speedup"] == [pytest.approx(2.0)] * 3
    assert values["Tokens in an answer, sampled"] == [10.0] * 3
    assert values["Entropy, nats a token"] == [0.5] * 3
    assert values["grpo: gpu/memory_bytes"] == [7.0] * 3
    assert not [title for title in found if "new" in title.split()]


def test_a_run_is_summed_up_by_what_its_model_wrote(tmp_path: Path) -> None:
    """Examples and given kernels are right before anything is learned, and what is timed again was
    right before."""
    given = [rollout(one, 0, 0) for one in ("triples", "search_start", "search_again")]
    asked = [rollout("eval_before", 0, row) for row in range(2)]
    RecordStore(tmp_path).append([*given, *asked])
    found = RunsView([tmp_path]).since()
    assert found is not None
    (run,) = found["runs"]
    assert (run["summary"]["records"], run["summary"]["correct"]) == (2, 0.5)


def test_without_metrics_groups_are_live_where_their_rewards_differ(tmp_path: Path) -> None:
    alike = replace(rollout("grpo", 0, 3), reward=Reward(parts={"correct": 1.0}))
    tally = Tally()
    for one in (*(rollout("grpo", 0, row) for row in range(3)), alike):
        tally.add(one, None)
    (found,) = [
        one for one in run_curves({("grpo", 0): tally}, []) if one.title.endswith("are live")
    ]
    assert list(found.points) == [(1, 0.5)]


def test_an_answer_is_parted_around_its_kernel() -> None:
    assert around_the_kernel("a\n```cpp\nint x;", "int x;\n") == ("a", "int x;\n", "")
    assert around_the_kernel("indented", "int x;\n") == ("indented", "int x;\n", "")
    assert around_the_kernel("none", None) == ("none", "", "")


def test_a_folder_that_is_no_run_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "absent"):
        done = kernelwright("view", str(tmp_path / name), "--export", str(tmp_path / "x.html"))
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert f"{tmp_path / name}: not a run" in done.stderr
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize("file", ["recipe.resolved.yaml", "eval.json", "search.json"])
def test_a_run_that_has_only_begun_is_shown(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text("{}\n")
    assert "not finished" in write_report(tmp_path).read_text()
    view = RunsView([tmp_path])
    assert held(view.since()) == []
    run_of(tmp_path)
    assert len(held(view.since())) == 12


def test_the_server_has_the_page_and_what_it_lacks(tmp_path: Path) -> None:
    view = RunsView([run_of(tmp_path, text=EVIL)])
    with TestClient(application(view.page(live=True), view.since_zipped), base_url=LOCAL) as client:
        page = client.get("/")
        assert "connect-src 'self'" in page.text
        assert 'data-live="1"' in page.text
        answer = client.get("/data")
        found = json.loads(gzip.decompress(answer.content))
        assert len(held(found)) == 12
        assert answer.headers["content-type"] == "application/octet-stream"
        assert client.get("/data", params={"known": found["token"]}).status_code == 204
        assert client.get("/docs").status_code == 404


def test_a_name_of_another_machine_is_refused(tmp_path: Path) -> None:
    view = RunsView([run_of(tmp_path)])
    app = application(view.page(live=True), view.since_zipped)
    with TestClient(app, base_url="http://rebound.example") as client:
        assert {client.get(path).status_code for path in ("/", "/data")} == {403}


def test_a_reader_follows_a_running_run(tmp_path: Path) -> None:
    view = RunsView([run_of(tmp_path / "run", steps=1)])
    with serving(application(view.page(live=True), view.since_zipped)) as url:

        def asked(known: str) -> dict[str, Any] | None:
            with urllib.request.urlopen(f"{url}/data?known={known}", timeout=30) as answer:
                body = answer.read()
            return dict(json.loads(gzip.decompress(body))) if body else None

        first = asked("")
        assert first is not None
        assert asked(first["token"]) is None
        store = RecordStore(tmp_path / "run")
        store.cut_unfinished()
        store.append([rollout("grpo", 1, 0)])
        assert [one["step"] for one in held(asked(first["token"]))] == [1]


def test_the_command_prints_its_address_and_ends_when_it_is_told_to(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "kernelwright", "view", str(run_of(tmp_path))]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        with urllib.request.urlopen(url, timeout=30) as answer:
            assert b"kernelwright" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_without_the_extra_an_export_works_and_serving_says_what_to_install(tmp_path: Path) -> None:
    folder = run_of(tmp_path)
    script = (
        "import sys\nfor name in ('fastapi', 'uvicorn'): sys.modules[name] = None\n"
        "from kernelwright.cli import main\nmain()"
    )

    def typed(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", script, "view", str(folder), *words]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert typed("--export", str(tmp_path / "page.html")).returncode == 0
    done = typed()
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "is not installed; run `pip install" in done.stderr
    assert "[server]" in done.stderr


def test_parts_of_the_reward_are_among_the_first_curves_and_other_numbers_are_not() -> None:
    row = {"stage": "grpo", "step": 1, "reward_part/speed": 0.25, "clip_ratio/low": 0.0}
    found = {one.title: (one.part, one.points) for one in run_curves({}, [row])}
    assert found["grpo: reward_part/speed"] == (MAIN, [(1, 0.25)])
    assert found["grpo: clip_ratio/low"] == (LOGGED, [(1, 0.0)])
