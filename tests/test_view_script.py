"""The script of the viewer's page, run by node: what it finds, sorts, draws and follows."""

from __future__ import annotations

import base64
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.runs.records import RecordStore, answer_of
from kernelwright.envs.types import Verdict
from kernelwright.evals.page.charts import moving_mean, nice_ticks, short, step_ticks
from kernelwright.evals.page.script import zipped
from kernelwright.evals.page.view import SCRIPT, RunsView, names_of
from tests.nouns import verdict
from tests.page_script import on_a_page, value_of
from tests.view_runs import EVIL, SHOWN, held, rollout, run_of


def by_script(call: str) -> Any:
    """What a call of the page's script gives."""
    return value_of(call, SCRIPT.text)


def runs_in_script(*folders: Path) -> str:
    return f"merged([], {json.dumps(RunsView(folders).since())})"


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
    assert said["compared"].startswith("A: ")
    assert not {"script", "img", "iframe", "object", "style"} & set(tags)
    assert said["detail"].count(SHOWN) == 2, "as the prompt and as the kernel"
    assert SHOWN in said["compared"]
    assert "off by one" in said["detail"]
    assert "1–2 of 2" in said["problems"]
    assert "correct grpo/2/0" in said["history"]
    assert "GRPO: mean reward" in said["curves"]
    assert said["place"] == "6 of 12"


@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString"])
def test_names_that_every_object_of_javascript_has_are_names_like_others(
    tmp_path: Path, name: str
) -> None:
    odd = {"problem": name, "problem_key": name, "dialect": name, "skill": name, "parent": name}
    RecordStore(tmp_path).append([rollout(name, 0, row, **odd) for row in range(2)])
    (data,) = re.findall(r'id="data">(.*?)</script>', RunsView([tmp_path]).page(live=False))
    hashes = ["#problems", f"#problem/0/{name}/{name}", f"#rollout/0/{name}/0/1", f"#{name}"]
    route = f"for (const one of {json.dumps(hashes)}) {{ location.hash = one; route(); }}"
    said = on_a_page(
        SCRIPT.text,
        before=f"document.getElementById('data').textContent = '{data}';",
        ready="view.runs.length",
        gives=f"(() => {{ {route} return shown() }})()",
    )
    assert f"2 rollouts of this group: {name}, step 0" in said["detail"]
    assert "int x = 1;" in said["detail"]
    assert f"{name}other{name}2" in said["problems"].replace("\n", "")
    assert f"{tmp_path.name}{name}02" in said["history"], "run, stage, step, asked"


def test_a_rollout_shows_what_its_rounds_took_beside_pytorch_and_the_speed_of_light(
    tmp_path: Path,
) -> None:
    times = [[1500, 2000, 2400, 2800, 4000], [500, 600, 800, 900, 1000]]
    assert by_script(f"timesSaid({times}, 200)") == (
        "median of PyTorch 2.4 ms, of the kernel 800 µs; the work takes 200 µs at least "
        "(speed of light, the thin line): 25 % of the kernel's"
    )
    (data,) = re.findall(r'id="data">(.*?)</script>', RunsView([run_of(tmp_path)]).page(live=False))
    kinds = "timesDrawn(times, floor).kids.map(one => one.attributes.class)"
    page, with_floor, without = on_a_page(
        SCRIPT.text,
        before=f"document.getElementById('data').textContent = '{data}';",
        ready="view.runs.length",
        gives="(() => { location.hash = '#rollout/0/grpo/1/0'; route(); "
        f"const both = {times}, at = (times, floor) => {kinds}; "
        "return [shown().detail, at(both, 200), at(both, null)] })()",
    )
    assert "Timed rounds" in page
    assert "median of PyTorch" in page
    assert [with_floor.count(one) for one in ("whisker", "dot r0", "thin")] == [4, 2, 1]
    assert without.count("thin") == 0


def test_one_slow_round_does_not_press_the_others_together() -> None:
    even, odd = [90, 95, 100, 105, 110], [90, 95, 100, 105, 9000]
    assert by_script(f"edgeOf([{even}, {even}])") == 110
    assert by_script(f"edgeOf([{even}, {odd}])") == 210
    assert "longest" not in by_script(f"timesSaid([{even}, {even}], null)")
    assert ", longest 110 µs and 9 ms" in by_script(f"timesSaid([{even}, {odd}], null)")


def test_the_best_speed_is_of_the_kernel_that_is_surest_to_be_fast() -> None:
    rows = [
        {"verdict": "correct", "reward": None, "speed": speed, "low": low}
        for speed, low in ((2.19, 0.3), (1.14, 0.92), (0.8, 0.5), (None, None))
    ]
    assert by_script(f"tally({json.dumps(rows)}).best") == 1.14
    assert by_script(f"{json.dumps(rows)}.reduce((a, b) => rank(b) > rank(a) ? b : a).low") == 0.92


@pytest.mark.parametrize(("count", "dots", "unseen"), [(60, 60, 0), (61, 31, 31), (600, 60, 60)])
def test_a_curve_tells_the_pointer_its_values_also_where_dots_would_be_too_many(
    count: int, dots: int, unseen: int
) -> None:
    points = [[step, 0.5] for step in range(count)]
    kinds = on_a_page(
        SCRIPT.text,
        before="",
        ready="true",
        gives=f"drawn([{{ name: 'a', colour: 0, points: {points} }}], 'b', false).kids"
        ".filter(one => one.attributes.cx).map(one => one.attributes.class)",
    )
    assert len(kinds) == dots
    assert sum("unseen" in one for one in kinds) == unseen


def test_a_rollout_leads_to_what_it_was_made_from_and_shown_and_to_what_came_of_it(
    tmp_path: Path,
) -> None:
    first, second = rollout("grpo", 0, 0), rollout("grpo", 0, 1)
    keys = answer_of(first).key, answer_of(second).key
    child = rollout("grpo", 1, 0, parent=keys[0], exemplars=(*keys, "another run's"))
    later = rollout("grpo", 1, 1, turn=1, parent=answer_of(child).key)
    RecordStore(tmp_path).append([first, second, child, later])
    (data,) = re.findall(r'id="data">(.*?)</script>', RunsView([tmp_path]).page(live=False))
    said = on_a_page(
        SCRIPT.text,
        before=f"document.getElementById('data').textContent = '{data}';",
        ready="view.runs.length",
        gives="[0, 1].map(step => { location.hash = `#rollout/0/grpo/${step}/0`; route(); "
        "return shown().detail })",
    )
    assert "made from it: grpo/1/0 2.00×" in said[0]
    assert "made from: " not in said[0]
    assert "made from: grpo/0/0 2.00×" in said[1]
    assert "its prompt showed: grpo/0/0 2.00× grpo/0/1 a kernel of no rollout here" in said[1]
    assert "turns of its trajectory: grpo/1/0 2.00× grpo/1/1" in said[1]


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


def test_a_problems_line_counts_what_was_asked_for(tmp_path: Path) -> None:
    runs = runs_in_script(run_of(tmp_path))
    shown = "({ name, asked, correct, best, stages }) => [name, asked, correct, best, stages]"

    def lines(**wanted: str) -> Any:
        return by_script(f"problemTable({runs}, {json.dumps({'text': ''} | wanted)}).map({shown})")

    assert lines() == [["p0", 6, 0.5, 2, "grpo"], ["p1", 6, 0.5, 2, "grpo"]]
    assert [one[0] for one in lines(text="P1")] == ["p1"]
    assert len(lines(verdict="wrong")) == 2
    assert lines(verdict="crashed") == lines(dialect="cuda") == lines(stage="sft") == []


def test_no_figure_of_a_problem_is_of_what_its_model_did_not_write(tmp_path: Path) -> None:
    others = ("triples", "search_start", "search_again")
    RecordStore(tmp_path).append(
        [
            *(rollout(one, 0, 0) for one in others),
            *(rollout("search", 0, row) for row in (0, 1)),
            rollout("triples", 1, 2),
        ]
    )
    runs = runs_in_script(tmp_path)
    shown = "({ name, asked, correct }) => [name, asked, correct]"
    lines = f"problemTable({runs}, {{ text: '', stage: STAGE }}).map({shown})"
    assert by_script(lines.replace("STAGE", "''")) == [["p0", 2, 0.5], ["p1", 0, None]]
    assert by_script(lines.replace("STAGE", "'triples'")) == [["p0", 1, 1], ["p1", 1, 1]]


def test_rows_are_found_by_stage_verdict_language_and_text(tmp_path: Path) -> None:
    runs = runs_in_script(run_of(tmp_path))

    def many(**wanted: str) -> Any:
        return by_script(f"chosenRows({runs}, {json.dumps({'text': ''} | wanted)}).length")

    assert (many(), many(verdict="wrong"), many(dialect="cpp"), many(stage="x")) == (12, 6, 12, 0)
    assert (many(text="OFF BY"), many(text="int x = 3"), many(text=".*")) == (6, 3, 0)


def test_an_address_names_two_kernels(tmp_path: Path) -> None:
    (data,) = re.findall(r'id="data">(.*?)</script>', RunsView([run_of(tmp_path)]).page(live=False))
    said = on_a_page(
        SCRIPT.text,
        before=f"document.getElementById('data').textContent = '{data}';"
        "location.hash = '#compare/0/grpo/0/0/0/grpo/2/3';",
        ready="view.runs.length",
        gives="shown().compared",
    )
    assert "grpo/0/0 p0" in said
    assert "int x = 0;int x = 3;" in said


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


def test_large_and_small_numbers_fit_beside_an_axis() -> None:
    found = by_script("[0, -0.25, 12345, 250000, 8e9, 7.5e13, 2e18, 0.00015, -5e-5].map(short)")
    assert found == ["0", "-0.25", "12345", "250 k", "8 G", "75 T", "2000000 T", "1.5e-4", "-5e-5"]
    assert [short(0.00015), short(-5e-5)] == found[-2:]


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


def test_a_rollout_that_is_judged_again_is_shown_as_it_is_now(tmp_path: Path) -> None:
    lost = {"evaluation": verdict(Verdict.UNJUDGED), "reward": None}
    store = RecordStore(tmp_path)
    store.append([rollout("grpo", 0, 0, **lost)])
    view = RunsView([tmp_path])
    (data,) = re.findall(r'id="data">(.*?)</script>', view.page(live=False))
    before = view.since()
    assert before is not None
    store.take_back_unjudged()
    store.append([rollout("grpo", 0, 0)])
    first, second = on_a_page(
        SCRIPT.text,
        before=f"document.getElementById('data').textContent = '{data}';",
        ready="view.runs.length",
        gives="(() => { location.hash = '#rollout/0/grpo/0/0'; route(); "
        f"const first = shown().detail; take({json.dumps(view.since(before['token']))}); "
        "return [first, shown().detail] })()",
    )
    assert "unjudged" in first
    assert "unjudged" not in second
    assert "correct" in second


def test_of_a_group_and_of_children_beyond_a_page_the_number_is_said(tmp_path: Path) -> None:
    start = rollout("search", 0, 0)
    made = {"problem": "p0", "problem_key": "k0", "parent": answer_of(start).key}
    RecordStore(tmp_path).append([start, *(rollout("search", 0, n, **made) for n in range(1, 251))])
    (data,) = re.findall(r'id="data">(.*?)</script>', RunsView([tmp_path]).page(live=False))
    first, later = on_a_page(
        SCRIPT.text,
        before=f"document.getElementById('data').textContent = '{data}';",
        ready="view.runs.length",
        gives="[0, 230].map(row => { location.hash = `#rollout/0/search/0/${row}`; route(); "
        "return shown().detail })",
    )
    assert "251 rollouts of this group, of which 1 to 100: " in first
    assert "and 150 more" in first
    assert "251 rollouts of this group, of which 201 to 251: " in later
    assert "230 (this)" in later
