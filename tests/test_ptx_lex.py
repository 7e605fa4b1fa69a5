"""What is a comment in PTX and what is not, as its assembler reads it."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from kernelwright.envs.plan.ptx_text import statements_of, uncommented

PARTS = st.sampled_from(['"', "//", "/*", "*/", "\n", "\\", "/", "*", "a", ";", " "])


def read_letter_by_letter(text: str) -> str:
    """The same, naively: one letter after the other, and what it is part of."""
    kept, inside, begun = "", "", 0
    at = 0
    while at < len(text):
        two = text[at : at + 2]
        if not inside:
            inside = two if two in ("//", "/*") else '"' if text[at] == '"' else ""
            if inside:
                begun = at
                at += len(inside)
                continue
            kept += text[at]
        elif inside == "//" and text[at] == "\n":
            kept, inside = kept + " \n", ""
        elif inside == "/*" and two == "*/":
            kept, inside = kept + " ", ""
            at += 1
        elif inside == '"' and text[at] == '"':
            kept, inside = kept + '""', ""
        at += 1
    return kept + {"": "", "//": " "}.get(inside, text[begun:])


@given(st.lists(PARTS).map("".join))
@example('/* " */ a " // */ " //')
def test_comments_and_strings_end_as_a_reader_of_one_letter_at_a_time_finds(text: str) -> None:
    assert uncommented(text) == read_letter_by_letter(text)


@given(st.lists(PARTS).map("".join))
def test_what_is_uncommented_has_nothing_to_uncomment(text: str) -> None:
    assert uncommented(uncommented(text)) == uncommented(text)


def test_a_directive_hides_nothing_behind_it_on_its_line() -> None:
    for head in (".loc 1 2 3", ".target sm_80, debug", '.file 1 "a.cu", 5, 6', ".address_size 64"):
        assert statements_of(f"{head} add.s32 %r1, %r1, 1;").strip() == "add.s32 %r1, %r1, 1;"
