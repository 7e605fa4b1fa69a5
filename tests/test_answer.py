"""The kernel of an answer is its last closed code block in the dialect's language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.answer import extract
from kernelwright.envs.dialects import DIALECTS, NAMES
from kernelwright.envs.types import Dialect

PROSE = st.text(st.characters(blacklist_characters="`", blacklist_categories=["Cs"]))
CODE = PROSE.filter(str.strip)


@given(PROSE, CODE, PROSE, st.sampled_from(NAMES), st.data())
def test_a_block_between_prose_is_found(
    before: str, code: str, after: str, dialect: Dialect, data: st.DataObject
) -> None:
    tag = data.draw(st.sampled_from(DIALECTS[dialect].fences))
    assert extract(f"{before}\n```{tag}\n{code}\n```\n{after}", dialect) == code + "\n"


@given(CODE, CODE)
def test_the_last_of_two_blocks_counts(first: str, second: str) -> None:
    completion = f"```cpp\n{first}\n```\nBetter:\n```cpp\n{second}\n```"
    assert extract(completion, "cpp") == second + "\n"


@pytest.mark.parametrize("dialect", NAMES)
@given(text=PROSE)
def test_prose_holds_no_kernel(text: str, dialect: Dialect) -> None:
    assert extract(text, dialect) is None


@pytest.mark.parametrize(
    "completion",
    [
        "```cpp\nvoid kernel() {}\n",
        "```cpp\n\n```",
        "```cpp\n \t \n```",
        "```python\nprint(1)\n```",
        "`void kernel() {}`",
        "",
    ],
    ids=["cut off", "empty", "blank", "another language", "inline", "nothing"],
)
def test_what_is_no_closed_block_in_the_language_is_no_kernel(completion: str) -> None:
    assert extract(completion, "cpp") is None


def test_a_block_in_another_language_does_not_hide_the_kernel() -> None:
    completion = "```cpp\nint x;\n```\nCompile it:\n```sh\ng++ x.cpp\n```\n"
    assert extract(completion, "cpp") == "int x;\n"


def test_the_language_may_be_written_in_capitals() -> None:
    assert extract("```CPP\nint x;\n```", "cpp") == "int x;\n"
