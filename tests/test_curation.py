"""Which of several right kernels of a problem are taught, and how many tokens of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.exports import statistics
from kernelwright.data.exports.contents import read_contents
from kernelwright.data.exports.tables import prefs, sft
from kernelwright.data.exports.write import card
from kernelwright.data.suites.built import split_of
from kernelwright.data.suites.curate import MUCH_FASTER, RULES, curated
from kernelwright.data.suites.load import SuiteError, load_suite
from kernelwright.data.suites.row_folder import Done, RowFolder
from kernelwright.data.suites.rows import Row
from kernelwright.data.triples.templates import triples_of
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.types import Verdict
from kernelwright.rl.train.chat_rows import of_tokens
from tests.command import kernelwright
from tests.nouns import RELU_MODULE

ONE_EACH = ("fastest", "shortest", "first", "random")


def family_in(split: str) -> str:
    """A family whose problems are in this split."""
    problem = Row(name="a", code=RELU_MODULE).problem
    names = (f"family{number}" for number in range(100))
    return next(one for one in names if split in split_of(replace(problem, family=one)))


def row(size: int, kernel: str, speedup: float | None, reasoning: str, dialect: str = "cpp") -> Row:
    interval = None if speedup is None else (speedup * 0.99, speedup * 1.01)
    return Row(
        name=f"relu{size}",
        code=RELU_MODULE.replace("4000", str(size)),
        dialect=dialect,
        kernel=f"// {kernel}\n",
        reasoning=reasoning,
        source=f"own:{size}",
        licence="MIT",
        family=family_in("sft"),
        verdict=Verdict.CORRECT,
        reason="ok",
        speedup=speedup,
        speedup_interval=interval,
    )


LONG_FAST, SHORT = row(10, "a", 3.0, "long words"), row(10, "b", 2.0, "short")
BOTH, SLOW = row(20, "c", 4.0, "brief"), row(20, "d", 1.0, "not so brief")
UNTIMED = row(30, "e", None, "some", "cuda"), row(30, "f", None, "so", "cuda")
ROWS = [SHORT, LONG_FAST, SLOW, BOTH, *UNTIMED]


def test_each_rule_teaches_what_its_name_says() -> None:
    assert curated(ROWS, "fastest").kept == [LONG_FAST, BOTH, UNTIMED[0]]
    assert curated(ROWS, "shortest").kept == [SHORT, BOTH, UNTIMED[1]]
    assert curated(ROWS, "first").kept == [SHORT, SLOW, UNTIMED[0]]
    assert curated(ROWS, "concur").kept == [BOTH]
    assert curated(ROWS, "concur").dropped == {
        "not the fastest with the shortest reasoning": 3,
        "no speed": 2,
    }


def test_concur_teaches_what_is_much_faster_whatever_its_reasoning() -> None:
    much = replace(LONG_FAST, speedup=MUCH_FASTER + 1)
    assert curated([SHORT, much], "concur").kept == [much]


def test_a_random_choice_goes_by_its_seed_alone() -> None:
    found = {seed: curated(ROWS, "random", seed).kept for seed in range(20)}
    assert {one.kernel for its in found.values() for one in its} == {one.kernel for one in ROWS}
    for rows in permutations(ROWS):
        again = curated(rows, "random", 3).kept
        assert sorted(map(repr, again)) == sorted(map(repr, found[3]))


@given(st.sets(st.sampled_from(range(len(ROWS)))), st.sampled_from(list(RULES)))
def test_what_is_not_taught_is_counted_with_why(numbers: set[int], rule: str) -> None:
    rows = [ROWS[number] for number in sorted(numbers)]
    found = curated(rows, rule)
    assert len(found.kept) + found.dropped.total() == len(rows)
    assert found.kept == [one for one in rows if one in found.kept]
    groups = {(one.name, one.dialect) for one in rows}
    taught = [(one.name, one.dialect) for one in found.kept]
    assert len(set(taught)) == len(taught)
    assert rule not in ONE_EACH or set(taught) == groups


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("rows")
    out = RowFolder(where)
    out.open({"command": "data build", "seed": 0})
    for rows in (ROWS[:2], ROWS[2:4], ROWS[4:]):
        out.add([Done(id=rows[0].source.partition(":")[2], rows=tuple(rows))])
    return where


def test_a_spec_names_the_rule_by_which_a_folder_is_taught(folder: Path) -> None:
    def taught(options: str) -> list[str]:
        return [one.source for one in triples_of(f"data:{folder}{options}", "cpp")]

    assert taught("") == ["// c\n", "// a\n", "// b\n", "// d\n"], "all, the fastest first"
    assert taught("?curate=fastest") == ["// c\n", "// a\n"]
    assert taught("?curate=shortest&speedup=2.5") == ["// c\n", "// a\n"]
    assert taught("?curate=concur") == ["// c\n"]
    assert taught("?curate=random&seed=1") == taught("?curate=random&seed=1")
    assert len(load_suite(f"data:{folder}?curate=concur").problems) == 3
    for wrong, why in (("curate=best", "there are fastest"), ("seed=a", "expects a number")):
        with pytest.raises(SuiteError, match=why):
            load_suite(f"data:{folder}?{wrong}")


def test_slower_kernels_are_the_worse_ones_of_pairs(folder: Path) -> None:
    contents = read_contents(folder)
    learn_shapes(one.problem for one in contents.entries)
    trained = {one.problem.name for one in contents.of_split("train", "sft")}
    pairs = [
        (one["chosen"][0]["content"], one["rejected"][0]["content"]) for one in prefs(contents)
    ]
    assert len(pairs) == len(trained & {"relu10", "relu20"})
    kernels = {("// a\n", "// b\n"), ("// c\n", "// d\n")}
    assert all(any(a in one and b in other for a, b in kernels) for one, other in pairs)
    assert len(list(sft(contents))) == len(list(contents.of_split("sft")))


def test_statistics_and_card_say_what_each_rule_leaves_out(folder: Path) -> None:
    contents = read_contents(folder)
    rules = {rule: (kept, dropped) for rule, kept, dropped in statistics.by_rule(contents)}
    assert rules.keys() == RULES.keys()
    assert rules["concur"] == (1, curated(ROWS, "concur").dropped)
    assert "| `fastest` | 3 | 3 not the fastest |" in card(contents, {"problems": 3})
    said = kernelwright("data", "stats", str(folder)).stdout
    assert "curate=concur teaches 1 and leaves out · " in said


def test_a_rule_is_counted_over_what_it_would_teach(tmp_path: Path) -> None:
    """Over `data:FOLDER:sft?curate=RULE`; a card knows judged answers alone."""
    other = [replace(one, family=family_in("rl"), code=f"# rl\n{one.code}") for one in ROWS[2:4]]
    unjudged = replace(BOTH, kernel="// g\n", verdict=None, speedup=None, speedup_interval=None)
    out = RowFolder(tmp_path)
    out.open({})
    out.add([Done(id=str(at), rows=(one,)) for at, one in enumerate([*ROWS, *other, unjudged])])
    contents = read_contents(tmp_path)
    for judged, dropped in ((True, 3), (False, 4)):
        found = {
            rule: (kept, why) for rule, kept, why in statistics.by_rule(contents, judged=judged)
        }
        assert found["fastest"] == (3, {"not the fastest": dropped})
    assert "| `fastest` | 3 | 3 not the fastest |" in card(contents, {"problems": 3})


def test_one_answer_a_problem_leaves_nothing_to_curate(tmp_path: Path) -> None:
    out = RowFolder(tmp_path)
    out.open({})
    out.add([Done(id="10", rows=(SHORT,))])
    contents = read_contents(tmp_path)
    assert statistics.by_rule(contents) == []
    assert statistics.by_schedule(contents) == []
    assert "curation" not in card(contents, {"problems": 1})


def test_statistics_have_speeds_by_schedule(tmp_path: Path) -> None:
    out = RowFolder(tmp_path)
    out.open({})
    out.add([Done(id="10", rows=(LONG_FAST, replace(SHORT, schedule="unfused")))])
    found = dict(statistics.by_schedule(read_contents(tmp_path)))
    assert found["first"]["cpp"].mean == pytest.approx(3.0)
    assert found["unfused"]["cpp"].mean == pytest.approx(2.0)


class Words:
    """A tokenizer by words."""

    def __call__(self, texts: list[str], **_: bool) -> Words:
        self.input_ids = [one.split() for one in texts]
        return self


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 60))
def test_as_many_tokens_are_learned_from_whatever_the_examples(sizes: list[int], many: int) -> None:
    rows = [
        {"prompt": [], "completion": [{"role": "assistant", "content": f"{at} " * size}]}
        for at, size in enumerate(sizes)
    ]
    found = of_tokens(rows, Words(), many)
    lengths = [len(one["completion"][0]["content"].split()) for one in found]
    assert sum(lengths) - lengths[-1] < many <= sum(lengths)
    assert found == [rows[at % len(rows)] for at in range(len(found))]
