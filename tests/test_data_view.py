"""`kernelwright data view`: one page that holds all rows, and runs nothing that a row brings."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.exports.contents import read_contents
from kernelwright.data.suites.row_folder import Done, Lost, RowFolder
from kernelwright.data.suites.rows import Row
from kernelwright.envs.types import Verdict
from kernelwright.evals.page.rows import SCRIPT, fates, packed, write_rows_page
from tests.command import kernelwright
from tests.page_script import assert_one_script_may_run_and_makes_no_markup, value_of
from tests.test_data_diff import right

EVIL = "</script><img src=x onerror=alert(1)>\u202e"


def wrong(index: int) -> Row:
    row = replace(right(index), speedup=None, speedup_interval=None, verdict=Verdict.WRONG)
    return replace(row, kernel=f"// {EVIL}", reasoning=EVIL, reason="mismatch", error=EVIL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    out = RowFolder(tmp_path)
    out.open({"command": "data build", "seed": 0})
    for index in range(4):
        bad = (wrong(index),) * (index == 1)
        out.add([Done(id=f"{index:05d}", rows=(right(index),), wrong=bad)])
    out.add([Done(id=f"x{n}", lost=Lost(f"x{n}", "refused", f"accepts {EVIL}")) for n in (1, 2)])
    return tmp_path


def held(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """What the page's data says, table by table."""
    data = json.loads(gzip.decompress(base64.b64decode(packed(read_contents(folder)))))
    return {
        name: [dict(zip(table["names"], row, strict=True)) for row in table["rows"]]
        for name, table in data.items()
    }


def test_the_page_holds_every_row_once_and_each_problem_once(folder: Path) -> None:
    data, rows = held(folder), RowFolder(folder).rows()
    assert [one["name"] for one in data["problems"]] == [row.name for row in rows]
    assert len(data["rows"]) == 5
    first, row = data["rows"][0], rows[0]
    assert (first["kernel"], first["reasoning"]) == (row.kernel, row.reasoning)
    assert (first["speed"], first["low"], first["high"]) == (2.0, 1.9, 2.1)
    (bad,) = [one for one in data["rows"] if one["verdict"] == "wrong"]
    assert (bad["problem"], bad["reason"], bad["speed"]) == (1, "mismatch", None)
    sizes = dict(rows[0].cases[0].sizes)
    shown = data["problems"][0]["cases"][0][2]
    assert shown == ", ".join(f"{name} {size}" for name, size in sizes.items())


def test_nothing_of_a_row_is_markup_and_one_script_may_run(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_rows_page(read_contents(folder), path)
    page = path.read_text(encoding="utf-8")
    assert "onerror=alert(1)>" not in page
    assert "onerror=alert(1)&gt;" in page
    assert "\u202e" not in page
    assert_one_script_may_run_and_makes_no_markup(page)
    assert not re.findall(r"(?:src|href)=\"(?!#)", page)


def test_reasons_count_by_result_the_commonest_first(folder: Path) -> None:
    found = {one.result: one for one in fates(read_contents(folder))}
    assert (found["kept"].items, found["kept"].whys) == (4, [])
    assert found["refused"].items == 2
    assert found["refused"].whys[0][1] == 2


def test_the_command_says_where_the_page_is(folder: Path) -> None:
    done = kernelwright("data", "view", str(folder))
    assert done.stdout.strip() == str(folder / "rows.html")
    assert (folder / "rows.html").is_file()


def by_script(call: str) -> Any:
    """What a call of the page's script gives."""
    return value_of(call, SCRIPT.text)


def test_a_highlighted_text_is_that_text() -> None:
    text = '#include <cmath>\n// a "b\nfloat f(int n) { return n * 2.5f; } /* c */ "s\\"t" <b>'
    found = by_script(f"tokens({json.dumps(text)}, 'c')")
    assert "".join(part for _, part in found) == text
    kinds = {part: kind for kind, part in found}
    assert kinds["#include <cmath>"] == "cp"
    assert kinds['// a "b'] == kinds["/* c */"] == "c1"
    assert (kinds["float"], kinds["return"], kinds["2.5f"]) == ("kt", "k", "mi")
    assert kinds['"s\\"t"'] == "s1"
    python = 'def f(x):  # no\n    """two\nlines"""\n    return "#"'
    found = by_script(f"tokens({json.dumps(python)}, 'python')")
    assert "".join(part for _, part in found) == python
    assert ["s1", '"""two\nlines"""'] in found


def test_filters_choose_by_category_language_verdict_speed_and_text(folder: Path) -> None:
    data = gzip.decompress(base64.b64decode(packed(read_contents(folder)))).decode()

    def chosen(**wanted: str) -> int:
        rows = f"unpacked({data}).filter(row => matches(row, {json.dumps(wanted)}))"
        return int(by_script(f"{rows}.length"))

    rows = RowFolder(folder).rows()
    category = rows[0].category
    assert chosen() == 5
    assert chosen(verdict="wrong") == chosen(pace="not timed") == chosen(text="ONERROR") == 1
    assert chosen(pace="faster") == 4
    assert chosen(dialect="cuda") == chosen(pace="slower") == 0
    assert chosen(category=category, verdict="correct") == sum(
        row.category == category for row in rows
    )
    assert chosen(text=rows[2].name) == 1
