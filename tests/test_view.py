"""`kernelwright view`: runs as a page of text, whose one script only draws what records say."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import random
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
from kernelwright.envs.types import CaseCheck, Check, Evaluation, Record, Reward, Verdict
from kernelwright.evals.numbers.unfinished import readable_records
from kernelwright.evals.page.charts import moving_mean, nice_ticks, step_ticks
from kernelwright.evals.page.report import LONGEST
from kernelwright.evals.page.script import zipped
from kernelwright.evals.page.view import SCRIPT, RunsView, names_of
from kernelwright.evals.page.view_curves import run_curves
from kernelwright.evals.page.view_rows import Place, Table, around_the_kernel
from kernelwright.service.viewer import application
from tests.command import ROOT, kernelwright
from tests.http_server import serving
from tests.nouns import RECORDS, correct, record, timing
from tests.page_script import on_a_page, value_of

EVIL = "</script><img src=x onerror=alert(1)>\u202e\x00\ud800"
BODY = "// lines\nint x = {};\nreturn;\n"
LOCAL = "http://127.0.0.1"


def rollout(stage: str, step: int, row: int, **changed: Any) -> Record:
    """Even rows are correct and twice as fast, odd ones wrong; rows 0 and 1 are a group."""
    source = BODY.format(row)
    wrong = Evaluation(
        verdict=Verdict.WRONG,
        reason="mismatch",
        log="off by one",
        seconds=1.5,
        check=Check(rounds=(CaseCheck(case="odd", passed=False, error=2.0, note="3 values"),)),
    )
    fields: dict[str, Any] = {
        "problem": f"p{row // 2}",
        "problem_key": f"k{row // 2}",
        "prompt": f"do p{row // 2}",
        "completion": f"It adds.\n```cpp\n{source}```\nDone.",
        "source": source,
        "evaluation": wrong if row % 2 else correct(timing()),
        "reward": Reward(parts={"correct": float(row % 2 == 0)}),
        "credit": 0.5 - row % 2,
    }
    return record(stage, step, row, **fields | changed)


def run_of(folder: Path, steps: int = 3, text: str = "") -> Path:
    """A run of two problems, asked twice a step, with metrics and a line that is being written."""
    folder.mkdir(parents=True, exist_ok=True)
    changed = {"completion": text, "source": text, "prompt": text} if text else {}
    rows = [rollout("grpo", step, row, **changed) for step in range(steps) for row in range(4)]
    RecordStore(folder).append(rows)
    metrics = [
        {"stage": "grpo", "step": step + 1, "sampled/tokens": 10.0, "seconds/generate": 4.0}
        | {"groups/live": 1, "groups/dead": 1, "entropy": 0.5, "gpu/memory_bytes": 7, "new": "x"}
        for step in range(steps)
    ]
    lines = "".join(json.dumps(one) + "\n" for one in metrics)
    (folder / "metrics.jsonl").write_text(lines + '{"stage": "grpo", "st', encoding="utf-8")
    with (folder / "records.jsonl").open("a") as file:
        file.write('{"stage":"grpo","step":9,')
    return folder


def held(found: dict[str, Any] | None, run: int = 0) -> list[dict[str, Any]]:
    """The rows that a payload has of a run."""
    assert found is not None
    table = found["runs"][run]["rows"]
    return [dict(zip(table["names"], row, strict=True)) for row in table["rows"]]


def data_of(page: str) -> dict[str, Any]:
    (data,) = re.findall(r'id="data">([A-Za-z0-9+/=]*)</script>', page)
    return dict(json.loads(gzip.decompress(base64.b64decode(data))))


def by_script(call: str) -> Any:
    """What a call of the page's script gives."""
    return value_of(call, SCRIPT.text)


def runs_in_script(*folders: Path) -> str:
    return f"merged([], {json.dumps(RunsView(folders).since())})"


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
    whole.add(records)
    parted.add(records[:cut])
    end = parted.end
    first = parted.since(Place())
    parted.add(records[cut:])
    second = parted.since(end)
    text = json.dumps(whole.since(Place()), allow_nan=False)
    text.encode("ascii")
    for name in ("rows", "problems"):
        assert first[name]["rows"] + second[name]["rows"] == whole.since(Place())[name]["rows"]
    assert first["prompts"] + second["prompts"] == whole.since(Place())["prompts"]


def test_nothing_that_a_model_wrote_is_markup_and_one_script_may_run(tmp_path: Path) -> None:
    folder, out = run_of(tmp_path / "<img onerror=x>", text=EVIL), tmp_path / "page.html"
    done = kernelwright("view", str(folder), "--export", str(out))
    assert (done.returncode, done.stdout.strip()) == (0, str(out)), done.stderr
    page = out.read_text(encoding="utf-8")
    assert "<img" not in page
    assert "\u202e" not in page
    assert page.count("<script") == page.count("</script>") == 2
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert f'content="{policy}"' in page
    unsafe = (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "eval(",
        "document.write",
        "Function(",
    )
    assert not [one for one in (*unsafe, "srcdoc", "DOMParser", "setHTML") if one in script]
    row = held(data_of(page))[0]
    assert "onerror=alert(1)" in row["kernel"]
    assert "\\u202e\\u0000\\ud800" in row["kernel"]


def test_every_part_of_the_page_shows_hostile_texts_as_texts(tmp_path: Path) -> None:
    folder = run_of(tmp_path, text=EVIL)
    (data,) = re.findall(r'id="data">(.*?)</script>', RunsView([folder]).page(live=False))
    hashes = ["#curves", "#problems", "#rollouts", "#problem/0/k0/p0", "#nothing", "#%"]
    hashes.append("#rollout/0/grpo/1/1")
    route = f"for (const one of {json.dumps(hashes)}) {{ location.hash = one; route(); }}"
    choose = "choose(0, view.runs[0].rows[0]); choose(1, view.runs[0].rows[1]);"
    said, tags = on_a_page(
        SCRIPT.text,
        before=f"document.getElementById('data').textContent = '{data}';",
        ready="view.runs.length",
        gives=f"(() => {{ {route} {choose} return [shown(), [...MADE]] }})()",
    )
    assert not {"script", "img", "iframe", "object", "style"} & set(tags)
    told = "</script><img src=x onerror=alert(1)>\\u202e\\u0000\\ud800"
    assert said["detail"].count(told) == 2, "as the prompt and as the kernel"
    assert told in said["compared"]
    assert "off by one" in said["detail"]
    assert "1–2 of 2" in said["problems"]
    assert "correct grpo/2/0" in said["history"]
    assert "GRPO: mean reward" in said["curves"]
    assert said["place"] == "6 of 12"


def test_a_page_follows_until_the_server_is_gone(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    store.append([rollout("grpo", 0, 0)])
    view = RunsView([tmp_path])
    first = view.since()
    store.append([rollout("grpo", 1, 1)])
    second = view.since((first or {})["token"])
    answers = [base64.b64encode(zipped(one)).decode() for one in (first, second)]
    before = (
        f"document.body.dataset.live = '1'; const answers = {json.dumps(answers)};"
        "const said = []; const asked = [];"
        "globalThis.fetch = async url => { asked.push(url);"
        " if (asked.length > 3) throw new TypeError('gone');"
        " if (asked.length === 3) return { status: 204, ok: true };"
        " return { status: 200, ok: true,"
        " arrayBuffer: async () => Buffer.from(answers[asked.length - 1], 'base64') } };"
        "globalThis.setTimeout = act => { said.push(shown().state); if (said.length < 4) act() };"
    )
    said, asked = on_a_page(
        SCRIPT.text, before=before, ready="said.length > 3", gives="[said, asked]"
    )
    assert said == [
        "following: 1 rollouts",
        "following: 2 rollouts",
        "following: 2 rollouts",
        "the server does not answer",
    ]
    assert [one.partition("known=")[2] for one in asked[:2]] == ["", (first or {})["token"]]


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
    assert found["runs"][0]["remark"].startswith("1 lines are no records")
    assert readable_records(folder)[1] == [5]


def test_what_was_taken_back_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path
    store = RecordStore(folder)
    rows = [rollout("grpo", 0, row) for row in range(4)]
    store.append(rows)
    view = RunsView([folder])
    before = view.since()
    assert len(held(before)) == 4
    store.void(rows[1:2])
    after = view.since((before or {})["token"])
    assert after is not None
    assert [one["row"] for one in held(after)] == [0, 2, 3]
    assert after["runs"][0]["anew"]


def test_a_reader_gets_only_what_was_appended(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    store.append([rollout("grpo", 0, 0)])
    view = RunsView([tmp_path])
    first = view.since()
    assert first is not None
    assert view.since(first["token"]) is None
    store.append([rollout("grpo", 1, 2)])
    second = view.since(first["token"])
    assert second is not None
    assert [one["step"] for one in held(second)] == [1]
    assert not second["runs"][0]["anew"]
    for broken in ("", "x", "1.2.3.4.5", first["token"].replace(".1", ".-1"), "_" * 9):
        assert len(held(view.since(broken))) == 2
    merged = f"merged(merged([], {json.dumps(first)}), {json.dumps(second)})"
    assert by_script(f"{merged}.map(run => run.rows.map(row => row.problem.name))") == [
        ["p0", "p1"]
    ]


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


def test_without_metrics_groups_are_live_where_their_rewards_differ(tmp_path: Path) -> None:
    alike = replace(rollout("grpo", 0, 3), reward=Reward(parts={"correct": 1.0}))
    records = [*(rollout("grpo", 0, row) for row in range(3)), alike]
    (found,) = [one for one in run_curves(records, []) if one.title.endswith("are live")]
    assert list(found.points) == [(1, 0.5)]


def test_a_problems_line_counts_what_was_asked_for(tmp_path: Path) -> None:
    runs = runs_in_script(run_of(tmp_path))
    shown = "({ name, asked, correct, best, stages }) => [name, asked, correct, best, stages]"

    def lines(**wanted: str) -> Any:
        return by_script(f"problemTable({runs}, {json.dumps({'text': ''} | wanted)}).map({shown})")

    assert lines() == [["p0", 6, 0.5, 2, "grpo"], ["p1", 6, 0.5, 2, "grpo"]]
    assert [one[0] for one in lines(text="P1")] == ["p1"]
    assert len(lines(verdict="wrong")) == 2
    assert lines(verdict="crashed") == lines(dialect="cuda") == lines(stage="sft") == []


def test_rows_are_found_by_stage_verdict_language_and_text(tmp_path: Path) -> None:
    runs = runs_in_script(run_of(tmp_path))

    def many(**wanted: str) -> Any:
        return by_script(f"chosenRows({runs}, {json.dumps({'text': ''} | wanted)}).length")

    assert (many(), many(verdict="wrong"), many(dialect="cpp"), many(stage="x")) == (12, 6, 12, 0)
    assert (many(text="OFF BY"), many(text="int x = 3"), many(text=".*")) == (6, 3, 0)


def test_columns_sort_both_ways_and_what_is_unknown_comes_last() -> None:
    lines = '[{"a": 2}, {"a": null}, {"a": 10}]'
    assert by_script(f"sorted({lines}, 'a', false)") == [{"a": 2}, {"a": 10}, {"a": None}]
    assert by_script(f"sorted({lines}, 'a', true)") == [{"a": 10}, {"a": 2}, {"a": None}]


def test_a_rollout_knows_its_group_and_a_problem_its_steps(tmp_path: Path) -> None:
    runs = runs_in_script(run_of(tmp_path))
    assert by_script(f"{runs}[0].rows[5].group.map(one => one.id)") == ["grpo/1/0", "grpo/1/1"]
    steps = by_script(
        f"stepsOf({runs}[0].problems[1]).map(one => [one.step, one.asked, one.reward, one.top.id])"
    )
    assert steps == [[step, 2, 0.5, f"grpo/{step}/2"] for step in range(3)]


def test_each_side_of_a_diff_is_its_text_and_what_is_alike_is_on_both() -> None:
    rng = random.Random(0)
    drawn = [["\n".join(rng.choices("abc", k=rng.randrange(9))) for _ in "ab"] for _ in range(200)]
    texts = [json.dumps(one) for one in drawn]
    found = by_script(f"[{', '.join(texts)}].map(([a, b]) => lineDiff(a, b))")
    for text, lines in zip(texts, found, strict=True):
        sides = ["\n".join(one[side] for one in lines if one[side] is not None) for side in (0, 1)]
        assert sides == json.loads(text)
        assert all(one[2] == (one[0] == one[1]) for one in lines)
    assert by_script("lineDiff('a\\nb', 'a\\nc\\nd')") == [
        ["a", "a", True],
        ["b", "c", False],
        [None, "d", False],
    ]
    long = "Array.from({ length: 30 }, (_, at) => String(at)).join('\\n')"
    assert by_script(f"folded(lineDiff({long}, {long} + '\\nx'))")[0] == 27


@pytest.mark.parametrize("span", [(0.0, 1.0), (0.0, 0.03), (-2.0, 7.0), (0.0, 12345.0), (3.0, 3.0)])
def test_axes_are_those_of_the_report(span: tuple[float, float]) -> None:
    low, high = span
    found = by_script(f"[niceTicks({low}, {high}), stepTicks({max(low, 0)}, {high})]")
    assert found[0] == pytest.approx(nice_ticks(low, high))
    assert found[1] == step_ticks(max(low, 0), high)
    values = [0.0, 3.0, 3.0, 1.0, 7.0]
    assert by_script(f"movingMean({values}, 1)") == pytest.approx(moving_mean(values, 1))


def test_several_runs_are_laid_over_each_other(tmp_path: Path) -> None:
    folders = [run_of(tmp_path / one / "run", steps) for one, steps in (("a", 2), ("b", 3))]
    assert names_of(folders) == ["a/run", "b/run"]
    curve = f"overlaid({runs_in_script(*folders)}).find(one => one.title === 'GRPO: mean reward')"
    lines = by_script(f"{curve}.lines.map(one => [one.name, one.colour, one.points.length])")
    assert lines == [["a/run", 0, 2], ["b/run", 1, 3]]


def test_pages_show_a_hundred_of_twenty_thousand() -> None:
    items = "Array.from({ length: 20000 }, (_, at) => at)"
    assert by_script(
        f"(({{ at, last, items }}) => [at, last, items.length])(pageOf({items}, 500, 100))"
    ) == [199, 199, 100]
    assert by_script("pageOf([], 3, 100)") == {"at": 0, "last": 0, "first": 0, "items": []}


def test_an_address_comes_back_as_it_was() -> None:
    words = ["problem", "0", "a/b#é %", "</script>"]
    assert by_script(f"parts(address(...{json.dumps(words)}))") == words
    assert by_script("parts('#%')") == [""]


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


def test_a_run_that_has_only_begun_is_shown(tmp_path: Path) -> None:
    (tmp_path / "recipe.resolved.yaml").write_text("name: new\n")
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
