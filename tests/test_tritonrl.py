"""TritonRL's credit: the plan's tokens are paid for speed, the code's for being right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.answer import extract
from kernelwright.envs.types import Evaluation, Verdict
from kernelwright.rl.methods.base import Row, RunView
from kernelwright.rl.methods.tritonrl import Method, Options, code_begins
from tests.nouns import correct, timing, verdict
from tests.one_step import one_step
from tests.rollouts import block, row, sampled
from tests.tiny_model import save_tiny, tiny_tokenizer

WORDS = ["right 4", "wrong", "right 2", "right 1"]
TEXTS = [f"Plan {number}.\n{block(one)}" for number, one in enumerate(WORDS)]


def method(folder: Path, decode: Any = None, **options: Any) -> Method:
    view = RunView(seed=0, store=RecordStore(folder), decode=decode)
    return Method(Options(**options), view)


def chars(tokens: Sequence[int]) -> str:
    return "".join(map(chr, tokens))


def answered(text: str, evaluation: Evaluation) -> Row:
    source = extract(text, "cpp")
    ids = tuple(map(ord, text))
    return replace(row(1.0, tokens=ids), completion=text, source=source, evaluation=evaluation)


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        (TEXTS[0], "Plan 0.\n"),
        ("One:\n```cpp\nint x;\n```\nNo:\n```cpp\nint y;\n```", "One:\n```cpp\nint x;\n```\nNo:\n"),
        ("```cpp\nint x;\n```", ""),
        ("No kernel at all.", ""),
    ],
)
def test_the_plan_is_what_stands_before_the_block_of_the_kernel(text: str, plan: str) -> None:
    assert text[: code_begins(text, extract(text, "cpp"))] == plan


@given(st.text(alphabet="abc .\n\u00e9\u4e2d", max_size=30))
def test_tokens_are_split_where_the_text_is(plan: str) -> None:
    text = f"{plan}\n```cpp\nint x;\n```"
    tokenizer = tiny_tokenizer()
    ids = tuple(tokenizer(text, add_special_tokens=False)["input_ids"])
    one = replace(answered(text, correct(timing())), token_ids=ids)
    count = method(Path(), tokenizer.decode).plan_tokens(one)
    assert tokenizer.decode(ids[:count]) == f"{plan}\n"
    assert tokenizer.decode(ids[count:]).startswith("```cpp")


def test_a_row_without_credit_has_no_advantage_and_no_say(tmp_path: Path) -> None:
    fast = answered(TEXTS[0], correct(timing(4_000, 1_000)))
    odd = answered(TEXTS[1], verdict(Verdict.UNJUDGED))
    wrong = answered(TEXTS[2], verdict(Verdict.WRONG))
    found = method(tmp_path, chars, plan_weight=0.5).advantages([fast, odd, wrong], [1, None, 0])
    assert [one[0] for one in found if isinstance(one, tuple)] == [0.5, 0.0, -0.5]
    assert [one[-1] for one in found if isinstance(one, tuple)] == [0.5, 0.0, -0.5]


def test_an_unknown_speed_says_nothing_of_the_plan(tmp_path: Path) -> None:
    rows = [answered(TEXTS[0], correct()), answered(TEXTS[1], verdict(Verdict.WRONG))]
    found = method(tmp_path, chars).advantages(rows, [1.0, 0.0])
    assert [(one[0], one[-1]) for one in found if isinstance(one, tuple)] == [(0, 0.5), (0, -0.5)]


@pytest.mark.model
def test_each_token_is_trained_with_the_advantage_of_its_part(tmp_path: Path) -> None:
    answers = [sampled(one) for one in TEXTS]
    model = save_tiny(tmp_path / "model")
    found = one_step(model, tmp_path, answers, method="tritonrl", group_size=4)
    fast, right = [2.0, 0.0, 2.0, 1.0], [1.0, 0.0, 1.0, 1.0]
    assert found.trainer.fast
    for place, text in enumerate(TEXTS):
        plan = text.index("```")
        wanted = [fast[place] - fmean(fast)] * plan
        wanted += [right[place] - fmean(right)] * (len(text) - plan)
        assert found.advantages[place][: len(text)] == pytest.approx(wanted, abs=1e-6)
        assert not any(found.advantages[place][len(text) :])
