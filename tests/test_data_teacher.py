"""A teacher's reasoning: taken where it is true, counted either way."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kernelwright.data.graphs.build import Build, Draw, Recipe, Wanted, _done
from kernelwright.data.graphs.problem import problem_of
from kernelwright.data.graphs.sample import draw
from kernelwright.data.graphs.teacher import Teacher, taught
from kernelwright.data.suites.row_folder import RowFolder
from kernelwright.data.suites.rows import Row
from kernelwright.envs.types import Verdict
from kernelwright.recipe.data_recipe import resolve_data
from kernelwright.recipe.yaml_tree import RecipeError
from kernelwright.run.data_build import recipe_of

KEY = "sk-of-the-tests"
MORE = " The rest follows from the module."


class Model(BaseHTTPRequestHandler):
    """Says the plan again with one more sentence; as `liar` with another number in it."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = body["messages"][0]["content"]
        plan = asked.rpartition("Plan of its loops:\n")[2].strip()
        said = {"true": plan + MORE, "liar": f"{plan} It takes 12345 steps.", "mute": ""}
        refused = self.headers["Authorization"] != f"Bearer {KEY}" or body["model"] == "broken"
        self.send_response(500 if refused else 200)
        self.end_headers()
        text = said.get(body["model"], "")
        found = {"choices": [{"message": {"role": "assistant", "content": text}}]}
        self.wfile.write(json.dumps(found).encode())

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/"
    server.shutdown()
    server.server_close()
    thread.join()


def drawn(index: int) -> Draw:
    graph = draw(3, index)
    return Draw(id=f"{index:05d}", graph=graph, problem=problem_of(graph, 3, index))


def right(index: int, dialect: str = "cpp") -> Row:
    return replace(drawn(index).rows(dialect)[0], verdict=Verdict.CORRECT, reason="ok")


def test_true_texts_are_taken_and_others_are_not(endpoint: str) -> None:
    rows = [right(index) for index in range(4)]
    said = {
        name: taught(rows, Teacher(endpoint=endpoint, model=name, key=KEY))
        for name in ("true", "liar", "mute", "broken")
    }
    assert [one.row.reasoning for one in said["true"]] == [row.reasoning + MORE for row in rows]
    assert {one.why for one in said["true"]} == {"taken"}
    for name in ("liar", "mute", "broken"):
        assert [one.row for one in said[name]] == rows
    assert all(one.why.startswith("false: ") and "12345" in one.why for one in said["liar"])
    assert all(one.why.startswith("false: empty") for one in said["mute"])
    assert all(one.why.startswith("no answer: HTTP Error 500") for one in said["broken"])
    (alone,) = taught(rows[:1], Teacher(endpoint=endpoint, model="true"))
    assert alone.why.startswith("no answer: ")


def test_a_build_counts_what_became_of_the_texts(endpoint: str, tmp_path: Path) -> None:
    build = Build.begin(tmp_path, Recipe(seed=3, teacher="true"))
    build.wanted = Wanted(count=2, teacher=Teacher(endpoint=endpoint, model="true", key=KEY))
    rows = {row.name: [row] for row in map(right, (0, 1))}
    told = build._teach(rows)
    build._write([_done(drawn(index), rows[right(index).name], told) for index in (0, 1)])
    assert [line["teacher"] for line in RowFolder(tmp_path).funnel()] == [["taken"], ["taken"]]
    assert all(row.reasoning.endswith(MORE) for row in RowFolder(tmp_path).rows())
    assert build.said().endswith("; the teacher's texts: 2 taken")


def test_a_recipe_names_the_teacher_and_no_key(endpoint: str) -> None:
    words = [f"teacher.endpoint={endpoint}", "teacher.model=big"]
    recipe = resolve_data("rows", words).recipe
    assert recipe_of(recipe).teacher == "big"
    assert recipe.teacher is not None
    assert recipe.teacher.key_env == "OPENAI_API_KEY"
    with pytest.raises(RecipeError, match=r"teacher\.model"):
        resolve_data("rows", words[:1])
