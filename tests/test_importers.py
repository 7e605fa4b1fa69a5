"""Importers: each public set by its exact columns, modules made problems, exams kept out.

All rows here are of this file's own making.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from kernelwright.data.importers.exams import Exams, refuse_named
from kernelwright.data.importers.item import Found, Item, NotTakenError
from kernelwright.data.importers.module import as_problem
from kernelwright.data.importers.own import items_of
from kernelwright.data.importers.sets.all_sets import NAMES, public_set, set_items
from kernelwright.data.importers.sets.refused import REFUSED
from kernelwright.data.importers.sized import ONE_SIZE, sized
from kernelwright.data.importers.sources import open_source
from kernelwright.data.importers.tables import hub_rows
from kernelwright.data.suites.normalised import normalised
from kernelwright.data.suites.row_folder import Lost
from kernelwright.data.suites.rows import Row, row_line
from kernelwright.envs.reference.on_meta import try_on_meta
from kernelwright.envs.types import Case, Problem
from tests.nouns import RELU_KERNEL, RELU_MODULE

SCALE = """
import torch


class Scale(torch.nn.Module):
    def __init__(self, width, factor=2.0, bias=True):
        super(Scale, self).__init__()
        self.linear = torch.nn.Linear(width, 3, bias=bias)

    def forward(self, x):
        return self.linear(x)


def get_inputs():
    return [torch.rand([4, 4, 8])]


def get_init_inputs():
    return [[], {'width': 8, 'bias': False}]
"""
"""A module as KernelBook writes them."""
TRITON = "import triton\n\n\nclass ModelNew:\n    pass\n"
TURNS = [
    {"role": "user", "content": "Write it."},
    {"role": "assistant", "content": f"<think>One load.</think>Here.\n```python\n{TRITON}```"},
    {"role": "user", "content": "It is wrong."},
    {"role": "assistant", "content": "I have no kernel."},
]
ROWS: dict[str, dict[str, Any]] = {
    "kernelbook": {
        "python_code": SCALE,
        "triton_code": "…",
        "original_triton_code": "…",
        "entry_point": "Scale",
        "uuid": 7,
        "module_name": "Scale",
        "repo_name": "somebody/scales",
        "repo_link": "https://example.org",
        "sha": "0",
        "stars": 1,
        "licenses": ["MIT"],
        "synthetic": False,
    },
    "drkernel-coldstart": {
        "messages": TURNS,
        "uuid": "7",
        "entry_point": "Scale",
        "repo_name": "somebody/scales",
        "module_name": "Scale",
        "final_speedup": 1.0,
        "num_rounds": 2,
        "original_python_code": SCALE,
        "best_round": 1,
        "timestamp": "now",
        "conversion_mode": "all",
        "enable_thinking": True,
    },
    "drkernel-rl": {
        "data_source": "somewhere",
        "prompt": [{"role": "user", "content": "Write it."}],
        "ability": "kernel",
        "reward_model": {"ground_truth": SCALE, "style": "rule"},
        "extra_info": {
            "entry_point": "Scale",
            "level": "1",
            "module_name": "Scale",
            "ops": "[]",
            "original_prompt": "",
            "repo_name": "somebody/scales",
            "type": "",
            "uuid": "7",
        },
    },
    "cuda-agent-ops": {"ops": "['relu']", "data_source": "torch#1", "code": RELU_MODULE},
}


def stored(folder: Path, name: str, *rows: dict[str, Any]) -> str:
    """A spec of a Parquet file with these rows."""
    file = folder / f"{name}.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), file)
    return f"{name}:{file}"


def read(spec: str, limit: int | None = None) -> Sequence[Found]:
    return open_source(spec).first(limit)


def meta(code: str, cases: tuple[Case, ...]) -> list[int | None]:
    problem = Problem(name="a", code=code, cases=cases)
    return [try_on_meta(problem, case).size_bytes for case in cases]


@pytest.mark.parametrize("name", NAMES)
def test_a_row_of_every_public_set_becomes_an_item_by_its_exact_columns(
    tmp_path: Path, name: str
) -> None:
    assert set(ROWS[name]) == set(public_set(name).columns)
    (item,) = read(stored(tmp_path, name, ROWS[name]))
    assert isinstance(item, Item)
    assert item.licence in ("MIT", "CC-BY-4.0")
    assert "class Model" in as_problem(item.code, item.entry)
    if name == "drkernel-coldstart":
        (answer,) = item.answers
        assert (answer.dialect, answer.kernel) == ("triton", TRITON)
        assert answer.reasoning == "One load.\n\nHere."


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_column_is_told_with_file_and_row(tmp_path: Path, name: str) -> None:
    column = public_set(name).columns[-1]
    row = {key: one for key, one in ROWS[name].items() if key != column}
    spec = stored(tmp_path, name, row)
    with pytest.raises(ValueError, match=rf"{name}.parquet:1: has no column {column}; there are"):
        read(spec)


def test_a_row_that_is_not_as_the_others_is_lost_alone() -> None:
    wrong = {**ROWS["kernelbook"], "python_code": None}
    rows = [("f:1", wrong), ("f:2", ROWS["kernelbook"])]
    lost, item = set_items(public_set("kernelbook"), rows)
    assert lost == Lost("row 1", "malformed", "f:1: python_code is NoneType, expects text")
    assert isinstance(item, Item)


@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"speedup": -1.0}, {"cases": "[" * 200_000}],
    ids=["name", "speedup", "cases"],
)
def test_a_row_of_our_own_that_is_none_is_lost_alone(wrong: dict[str, Any]) -> None:
    own = {"name": "a", "code": RELU_MODULE}
    lost, item = items_of([("f:1", own | wrong), ("f:2", own)])
    assert isinstance(lost, Lost)
    assert (lost.id, lost.reason) == ("row 1", "malformed")
    assert isinstance(item, Item)


def test_rows_of_one_id_are_different_items(tmp_path: Path) -> None:
    row = ROWS["kernelbook"]
    found = read(stored(tmp_path, "kernelbook", row, {**row, "uuid": 8}, row))
    assert [one.id for one in found] == ["7", "8", "7#2"]


def test_a_torn_file_is_told_in_a_line(tmp_path: Path) -> None:
    whole = Path(stored(tmp_path, "kernelbook", ROWS["kernelbook"]).partition(":")[2])
    torn = tmp_path / "torn.parquet"
    torn.write_bytes(whole.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"torn.parquet: not a whole Parquet file \(") as told:
        read(f"kernelbook:{torn}")
    assert "\n" not in str(told.value)
    stream = tmp_path / "torn.arrow"
    with pyarrow.OSFile(str(stream), "wb") as file:
        table = pyarrow.Table.from_pylist([ROWS["kernelbook"]])
        with pyarrow.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    assert len(read(f"kernelbook:{stream}")) == 1
    stream.write_bytes(stream.read_bytes()[:-200])
    with pytest.raises(ValueError, match="not a whole Arrow stream"):
        read(f"kernelbook:{stream}")
    lines = tmp_path / "torn.jsonl"
    lines.write_text(row_line(Row(name="a", code=RELU_MODULE)) + '{"name": "b', encoding="utf-8")
    with pytest.raises(ValueError, match=r"torn.jsonl:2: not JSON .*the file may be cut off"):
        read(str(lines))
    assert len(read(str(lines), 1)) == 1


def test_rows_of_our_own_are_read_from_lines_and_from_parquet(tmp_path: Path) -> None:
    row = Row(name="a", code=RELU_MODULE, dialect="cpp", kernel=RELU_KERNEL, licence="MIT")
    lines = tmp_path / "own.jsonl"
    lines.write_text(row_line(row), encoding="utf-8")
    plain = json.loads(row_line(row))
    plain["cases"] = json.dumps([{"name": "time", "sizes": [["N", 8]]}])
    (first,), (second,) = read(str(lines)), read(stored(tmp_path, "rows", plain))
    assert isinstance(first, Item)
    assert isinstance(second, Item)
    assert first.answers == second.answers
    assert second.cases == (Case(name="time", sizes=(("N", 8),)),)


def test_a_data_set_of_the_hub_is_read_by_datasets(tmp_path: Path) -> None:
    stored(tmp_path, "kernelbook", ROWS["kernelbook"])
    rows = hub_rows(str(tmp_path), "", public_set("kernelbook").columns)
    assert [row["entry_point"] for _, row in rows] == ["Scale"]


def test_what_the_hub_has_is_refused_by_name_or_without_a_revision() -> None:
    for hub in REFUSED:
        with pytest.raises(ValueError, match=f"{hub} is refused: it"):
            open_source(f"hub:{hub}@main")
    with pytest.raises(ValueError, match="expects hub:OWNER/NAME@REVISION"):
        open_source("hub:GPUMODE/KernelBook")
    with pytest.raises(ValueError, match="take @1576375b"):
        open_source("hub:GPUMODE/KernelBook@main")
    with pytest.raises(ValueError, match="no source 'nothing'; there are: a folder"):
        open_source("nothing")


def test_a_folder_has_answers_and_reasoning_beside_its_modules(tmp_path: Path) -> None:
    inner = tmp_path / "rows"
    inner.mkdir()
    module = inner / "relu.py"
    module.write_text(f"# SPDX-License-Identifier: BSD-3-Clause\n{RELU_MODULE}", encoding="utf-8")
    endings = {"cpp": "cpp", "fast.cpp": "cpp", "cu": "cuda", "triton.py": "triton"}
    for end in endings:
        (inner / f"relu.{end}").write_text(end, encoding="utf-8")
    (inner / "relu.cpp.md").write_text("One pass.\n", encoding="utf-8")
    (inner / "relu2.cpp").write_text("of no module", encoding="utf-8")
    (item,) = read(str(tmp_path))
    assert isinstance(item, Item)
    assert (item.id, item.licence) == ("rows/relu", "BSD-3-Clause")
    assert {one.kernel.strip(): one.dialect for one in item.answers} == endings
    assert [one.reasoning for one in item.answers if one.reasoning] == ["One pass."]
    empty = tmp_path / "none"
    empty.mkdir()
    with pytest.raises(ValueError, match="has no module: expects NAME"):
        read(str(empty))


def test_the_entry_class_becomes_model_and_named_arguments_positional() -> None:
    code = as_problem(SCALE, "Scale")
    assert "class Model(torch.nn.Module)" in code
    assert "super(Model, self)" in code
    assert "return [8, 2.0, False]" in code


@pytest.mark.parametrize("end", ["\x0c", "\x0b", "\x85", "\u2028", "\r", "\r\n"])
def test_lines_are_those_of_python_whatever_else_ends_one(end: str) -> None:
    line = f"# a{end}# b\n"
    code = as_problem(line + SCALE, "Scale")
    assert "super(Model, self)" in code
    assert "class Scale" not in code
    found = sized(
        line + RELU_MODULE.replace("randn(N)", "randn(40)").replace("N = 4000\n", ""), meta
    )
    assert found.code.endswith(
        "SIZE_0 = 40\n\n\ndef get_inputs():\n    return [torch.randn(SIZE_0)]"
        + RELU_MODULE.partition("randn(N)]")[2]
    )


@pytest.mark.parametrize(
    ("code", "entry", "why"),
    [
        (SCALE, "Weigh", "does not define the class Weigh"),
        (SCALE.replace("'width': 8, ", ""), "Scale", "gives no width"),
        (SCALE.replace("'width'", "'depth'"), "Scale", "gives no width"),
        (
            f"from _paritybench_helpers import _mock_config\n{SCALE}",
            "Scale",
            "_paritybench_helpers",
        ),
        (f"class Model: ...\n{SCALE}", "Scale", "uses the name Model beside Scale"),
        ("def (", "Model", "line 1"),
        (SCALE.replace("get_inputs", "inputs"), "Scale", "does not define get_inputs"),
    ],
)
def test_a_module_that_cannot_be_a_problem_says_why(code: str, entry: str, why: str) -> None:
    with pytest.raises(NotTakenError, match=why) as told:
        as_problem(code, entry)
    assert told.value.reason == "not_a_problem"


def test_literals_become_sizes_where_the_module_runs_with_others() -> None:
    found = sized(as_problem(SCALE, "Scale"), meta)
    assert "torch.rand([SIZE_0, SIZE_1, 8])" in found.code  # 8 is the layer's own width
    problem = Problem(name="a", code=found.code, cases=(Case(name="a", sizes=(("SIZE_0", 9),)),))
    assert None not in meta(found.code, problem.cases)


def test_literals_that_vary_only_together_share_a_name() -> None:
    product = RELU_MODULE.replace("torch.randn(N)", "torch.rand([4, 8]), torch.rand([8, 16])")
    product = product.replace("self, x)", "self, x, y)").replace("torch.relu(x)", "x @ y")
    found = sized(product.replace("N = 4000\n", ""), meta)
    assert "torch.rand([SIZE_0, SIZE_2]), torch.rand([SIZE_2, SIZE_1])" in found.code


def test_cases_that_the_module_does_not_run_in_are_left_out() -> None:
    pooled = RELU_MODULE.replace("torch.relu(x)", "torch.nn.functional.avg_pool1d(x, 5)")
    found = sized(pooled.replace("randn(N)", "randn(2, 3, 7)").replace("N = 4000\n", ""), meta)
    assert found.cases
    assert None not in meta(found.code, found.cases)
    assert len({case.sizes for case in found.cases}) > 1


def test_variables_of_get_inputs_are_sizes_too() -> None:
    code = RELU_MODULE.replace(
        "    return [torch.randn(N)]", "    N = 40\n    return [torch.randn(N)]"
    )
    found = sized(code.replace("N = 4000\n", "", 1), meta)
    assert "SIZE_0 = 40\n" in found.code
    assert "    N = SIZE_0\n" in found.code


def test_lifted_sizes_grow_together_up_to_so_many_bytes() -> None:
    code = as_problem(SCALE, "Scale")
    found = sized(code, meta, 1e5)
    timed = (Case(name="time", sizes=()),)
    (size_bytes,) = meta(found.code, timed)
    assert "SIZE_0 = 32\nSIZE_1 = 32\n" in found.code  # inputs and outputs: 32 * 32 * (8 + 3) * 4
    assert size_bytes is not None
    assert 1e5 / 4 < size_bytes <= 1e5
    assert "SIZE_0 = 4\n" in sized(code, meta, 1.0).code


def test_what_cannot_be_lifted_keeps_one_size_and_says_so() -> None:
    fixed = RELU_MODULE.replace("torch.relu(x)", "x.view(5, 7)").replace("randn(N)", "randn(35)")
    found = sized(fixed.replace("N = 4000\n", ""), meta)
    assert found.note == ONE_SIZE
    assert "SIZE" not in found.code


def test_an_exam_is_known_by_code_whatever_its_names_sizes_and_comments(tmp_path: Path) -> None:
    other = RELU_MODULE.replace("4000", "128").replace("(self, x)", "(self, image: torch.Tensor)")
    other = other.replace("torch.relu(x)", "torch.relu(image)  # the positive part")
    assert normalised(other) == normalised(RELU_MODULE)
    assert normalised(RELU_MODULE.replace("relu", "tanh")) != normalised(RELU_MODULE)
    functional = RELU_MODULE.replace("torch.relu", "torch.nn.functional.relu")
    imported = RELU_MODULE.replace("torch.relu", "fn.relu")
    for line in ("import torch.nn.functional as fn", "from torch.nn import functional as fn"):
        assert normalised(f"{line}\n{imported}") == normalised(functional)
    sized = RELU_MODULE.replace("torch.relu(x)", "x + WIDTH")
    for line in ("WIDTH = 2 * 8\n", "WIDTH = 5\n"):
        assert normalised(line + sized) == normalised(sized.replace("WIDTH", "16"))
    (tmp_path / "rows.jsonl").write_text(row_line(Row(name="exam", code=RELU_MODULE)), "utf-8")
    exams = Exams.of([f"rows:{tmp_path}"])
    for code in (RELU_MODULE, other):
        with pytest.raises(NotTakenError, match="is exam of rows:"):
            exams.refuse_code(code)
    exams.refuse_code(RELU_MODULE.replace("relu", "tanh"))


def test_an_exam_is_known_by_the_name_of_its_source() -> None:
    for origin in ("ScalingIntelligence/KernelBench", "kernel_bench level 1"):
        with pytest.raises(NotTakenError, match="its source names"):
            refuse_named("1", origin)
    refuse_named("1", "somebody/benches")
