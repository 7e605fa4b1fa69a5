"""The answer of a completion is the last block in the dialect's language that defines what is
called, outside of thoughts (docs/answers.md)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.answer import extract
from kernelwright.envs.dialects import DIALECTS, NAMES
from kernelwright.envs.types import Dialect

PAGE = Path(__file__).parents[1] / "docs" / "answers.md"
PLAIN = st.characters(blacklist_characters="`~<[>\r", blacklist_categories=["Cs"])
PROSE = st.text(PLAIN)
CODE = PROSE.filter(str.strip)
KERNEL = 'extern "C" void kernel(const float* x, int64_t n) {\n  (void)x;\n}\n'
MODULE = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    pass\n"
LATER = (
    "```cpp\nint main() { float x[4]; kernel(x, 4); }\n```",
    '```cpp\nextern "C" void kernel(const float* x, int64_t n);\n```',
    "```cpp\n// void kernel() {\nint i;\n```",
    "```python\nmodel = ModelNew().cuda()\nprint(model(x))\n```",
    "```\n1 2 3\n```",
    "```\n\n```",
    "```bash\ng++ kernel.cpp\n```",
    "~~~text\nvoid kernel() {}\n~~~",
    "<think>\n```cpp\nvoid kernel() { int second; }\n```\n</think>",
    "<think>\n```python\nclass ModelNew: second = 1\n```",
    "Inline `code` and ```three``` of them.",
)
"""What may stand behind an answer and is none."""
EARLIER = (
    *LATER[:-2],
    "<think>\nFirst:\n```cpp\nvoid kernel() { int draft; }\n```\nNo.\n</think>",
    "Thoughts:\n```python\nclass ModelNew: draft = 1\n```\n</think>",
    "A draft:\n```cpp\nvoid kernel() { int draft; }\n```\n",
    "A draft:\n```python\nclass ModelNew: draft = 1\n```\n",
)
DIALECT = st.sampled_from(NAMES)


def whole(dialect: Dialect) -> str:
    return KERNEL if DIALECTS[dialect].entry == "kernel" else MODULE


@st.composite
def fenced(draw: st.DrawFn, source: str, dialect: Dialect, *, tagged: bool = False) -> str:
    """The source as a block, in one of the ways that CommonMark knows."""
    names = [one for one in DIALECTS[dialect].fences if one or not tagged]
    language = draw(st.sampled_from(names))
    language = draw(st.sampled_from([language, language.upper()]))
    said = draw(st.sampled_from(["", " ", ' title="k.cpp"', ":k.cpp"])) if language else ""
    fence = draw(st.sampled_from(["`", "~"])) * draw(st.integers(3, 6))
    lines = [f"{fence}{language}{said}", *source.split("\n")[:-1], fence]
    mark = draw(st.sampled_from(["", "  ", "   ", "- ", "1. ", "> ", "* ```", "````md"]))
    if mark == "````md":
        return "\n".join(["```````md", *lines, "```````"])
    if mark == "* ```":
        return "\n".join(["* The kernel:", "", *(f"  {line}" for line in lines)])
    rest = mark if mark in ("> ", "  ", "   ") else " " * len(mark)
    return "\n".join([mark + lines[0], *(rest + line for line in lines[1:])])


@given(PROSE, CODE, PROSE, DIALECT, st.data())
def test_a_block_between_prose_is_found(
    before: str, code: str, after: str, dialect: Dialect, data: st.DataObject
) -> None:
    tag = data.draw(st.sampled_from(DIALECTS[dialect].fences))
    assert extract(f"{before}\n```{tag}\n{code}\n```\n{after}", dialect) == code + "\n"


@given(CODE, CODE)
def test_the_last_of_two_blocks_counts(first: str, second: str) -> None:
    completion = f"```cpp\n{first}\n```\nBetter:\n```cpp\n{second}\n```"
    assert extract(completion, "cpp") == second + "\n"


@given(st.lists(st.sampled_from(EARLIER), max_size=3), DIALECT, st.data())
def test_what_defines_the_kernel_is_the_answer_whatever_stands_around_it(
    before: list[str], dialect: Dialect, data: st.DataObject
) -> None:
    """A draft before it, usage and output behind it, thoughts on both sides; with CRLF too."""
    source = whole(dialect)
    after = data.draw(st.lists(st.sampled_from(LATER), max_size=3))
    if any("</think>" in one and "<think>" not in one for one in before[1:]):
        before = before[-1:]  # only the first tag of all can have its opening in the prompt
    opened = any("<think>" in one and "</think>" not in one for one in before)
    blocks = [*([] if opened else before), data.draw(fenced(source, dialect)), *after]
    ending = data.draw(st.sampled_from(["\n", "\r\n"]))
    assert extract("\n\n".join(blocks).replace("\n", ending), dialect) == source


@given(DIALECT, st.data())
def test_a_kernel_that_was_only_thought_is_none(dialect: Dialect, data: st.DataObject) -> None:
    block = data.draw(fenced(whole(dialect), dialect))
    ways = ("<think>\n{}\n</think>\nNo.", "<think>{}", "{}\n</think>\n", "[THINK]\n{}[/THINK] No.")
    assert extract(data.draw(st.sampled_from(ways)).format(block), dialect) is None


@given(DIALECT, st.data())
def test_a_block_that_nobody_closes_reaches_to_the_end(
    dialect: Dialect, data: st.DataObject
) -> None:
    tag = data.draw(st.sampled_from(DIALECTS[dialect].fences))
    source = whole(dialect)
    cut = data.draw(st.integers(1, len(source)))
    found = extract(f"So:\n```{tag}\n{source[:cut]}", dialect)
    assert (found or "").rstrip() == source[:cut].rstrip()


@given(DIALECT, st.data())
def test_a_fence_behind_text_opens_a_block_where_there_is_no_other(
    dialect: Dialect, data: st.DataObject
) -> None:
    tag = data.draw(st.sampled_from([one for one in DIALECTS[dialect].fences if one]))
    source = whole(dialect)
    assert extract(f"The kernel: ```{tag}\n{source}```", dialect) == source
    proper = f"I put it into ```{tag}\n\n```{tag}\n{source}```"
    assert extract(proper, dialect) == source


@pytest.mark.parametrize("dialect", NAMES)
@given(text=PROSE)
def test_prose_holds_no_kernel(text: str, dialect: Dialect) -> None:
    assert extract(text, dialect) is None


@given(st.text(st.sampled_from("`~ \n>-<think/>cpp1.\t")), DIALECT)
def test_any_text_has_an_answer_or_none(text: str, dialect: Dialect) -> None:
    found = extract(text, dialect)
    assert found is None or found.strip()


@pytest.mark.parametrize(
    "completion",
    [
        "```cpp\n\n```",
        "```cpp\n \t \n```",
        "```python\nprint(1)\n```",
        "`void kernel() {}`",
        "```void kernel() {}```",
        "",
    ],
    ids=["empty", "blank", "another language", "inline", "three inline", "nothing"],
)
def test_what_is_no_block_in_the_language_is_no_kernel(completion: str) -> None:
    assert extract(completion, "cpp") is None


def test_a_fence_deep_in_a_string_does_not_close_the_block() -> None:
    source = 'class ModelNew:\n    """\n    ```\n    x\n    ```\n    """\n'
    assert extract(f"```python\n{source}```\n", "triton") == source


def test_the_page_names_every_language() -> None:
    rows = re.findall(r"^ +\| `(\w+)` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    told = {dialect: set(names.split(", ")) for dialect, names in rows}
    assert told == {name: set(DIALECTS[name].fences) - {""} for name in NAMES}
