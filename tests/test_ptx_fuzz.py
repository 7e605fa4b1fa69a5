"""Whatever stands in a text of PTX, the translator gives C++ or one of two errors."""

from __future__ import annotations

import random
import re
import time
from contextlib import suppress

import pytest

from kernelwright.envs.ptx.lower import HANDLERS
from kernelwright.envs.ptx.parse import BITS, NotEmulatedError, parse
from kernelwright.envs.ptx.program import program
from tests.ptx_rows import rows
from tests.ptx_tools import HEAD, launch, plan_of, spec_of
from tests.test_ptx_faults import FAULTS, FINE, START
from tests.test_ptx_opcodes import kernel

FILES = 1_000
WORDS = re.compile(r"%?\w+|[^\w\s]")
SPEC = spec_of(["x"], {"out": 9}, 9)


def texts() -> list[str]:
    bodies = {name: body for name, (_, body) in FAULTS.items()} | FINE
    found = [START.format(name="k", body=body) for body in bodies.values()]
    return found + [kernel(0, row).replace("k0(", "k(") for row in rows()]


def kind_of(word: str) -> str:
    """A register's letter, a number, a type, or what else a word is."""
    if word[:1] == "%":
        return word[:2]
    return "number" if word[:1].isdigit() else "type" if word in BITS else word[:1]


def changed(text: str, draw: random.Random) -> str:
    """The text with a few of its words taken away, doubled, exchanged or made others."""
    words = re.split(r"(%?\w+|[^\w\s])", text)
    places = [i for i, word in enumerate(words) if WORDS.fullmatch(word)]
    places = places[len(places) // 3 :]  # what is declared comes first, and breaks everything
    others = [
        *HANDLERS,
        *BITS,
        "%r1",
        "%d9",
        "0",
        "-1",
        "0f7FC00000",
        "bra",
        "x",
        "s",
        "{",
        "}",
        ";",
    ]
    for _ in range(draw.randint(1, 2)):
        at, other = draw.choice(places), draw.choice(places)
        match draw.randrange(8):
            case 0:
                words[at] = ""
            case 1:
                words[at] = words[at] * 2
            case 2:
                words[at], words[other] = words[other], words[at]
            case 3:
                words[at] = draw.choice(others)
            case _:  # by one of its kind: most of these make sense
                alike = [one for one in places if kind_of(words[one]) == kind_of(words[at])]
                words[at] = words[draw.choice(alike)]
    return "".join(words)


def test_a_text_is_translated_or_refused_and_nothing_else_happens() -> None:
    draw, parsed, translated = random.Random(7), 0, 0
    sources = texts()
    for _ in range(FILES):
        text = HEAD + changed(draw.choice(sources), draw)
        try:
            parse(text)
            parsed += 1
            program([(SPEC, plan_of(text, [launch("k", ["x", "out"])]))])
            translated += 1
        except (NotEmulatedError, ValueError):
            continue
    assert parsed > FILES / 2
    assert translated > FILES / 10


@pytest.mark.parametrize(
    "text",
    [
        "/*" * 500_000,
        ".section x\n" * 100_000,
        " " * 1_000_000 + "x",
        ".entry k(.param .u64 .ptr " + "a " * 30_000 + ") { ret; }",
        ".entry k() {" + "{" * 500_000,
        ".entry k() { @p " + " " * 300_000 + ";}",
        ".global .u32 x" + "[1]" * 200_000 + ";",
    ],
    ids=["comments", "sections", "spaces", "parameters", "braces", "guard", "sizes"],
)
def test_no_text_keeps_the_parser_busy(text: str) -> None:
    started = time.process_time()
    with suppress(NotEmulatedError, ValueError):
        parse(text)
    assert time.process_time() - started < 20
