"""Other words for what a plan says: each example has one of several phrasings.

A plan is made in the first form of each sentence. The linter brings others back to it, so that
every phrasing is checked by the same claims.
"""

from __future__ import annotations

import re
from functools import cache

from kernelwright.envs.types import content_hash

PHRASES: tuple[tuple[str, ...], ...] = (
    ("-> {target}.", "It writes {target}.", "The result goes to {target}."),
    ("Pass {number}:", "Read {number}:", "Round {number}:"),
    ("Last:", "In the end:", "Finally:"),
    (
        "Each element of {read} by itself.",
        "Go over {read}, each element on its own.",
        "One loop over {read}, element by element.",
    ),
    (
        "{label}: {read} in rows of {size}.",
        "{label}: take {read} row by row, {size} values in each.",
        "{label}: each of the rows of {read} has {size} values.",
    ),
    ("{label}: {read} in one row of {size}.", "{label}: all {size} values of {read} are one row."),
    (
        "{label}: {read} in columns of {size}, {inner} side by side.",
        "{label}: take columns of {read}, {size} values in each and {inner} side by side.",
    ),
    ("{read} in order along {size}.", "Go along {size} of {read}, first to last."),
    ("{read} in order along {size} from the end.", "Go along {size} of {read}, last to first."),
    (
        "{label}: {shape} over {read}, stride {stride}, padding {padding}.",
        "{label}: windows of {shape} on {read}, padding {padding}, stride {stride}.",
        "{label}: slide {shape} along {read}, stride {stride}, padding {padding}.",
    ),
    (
        "{read} times {other}, summed over",
        "Multiply {read} by {other}, summed over",
        "The product of {read} and {other}, summed over",
    ),
    ("{read} is read transposed.", "Values of {read} are read across its rows."),
    (
        "A row of outputs takes one tap after another:",
        "Taps go one after another, each to a row of outputs:",
    ),
    (
        "A thread takes an element of {read}.",
        "One thread for each element of {read}.",
        "Give each element of {read} a thread.",
    ),
    ("A thread takes an output:", "One thread for each output:", "Give each output a thread:"),
    (
        "A warp takes a row, its lanes shuffle what they found.",
        "Each row goes to a warp, whose lanes shuffle what they found.",
    ),
    (
        "A block takes a row, its warps put together what they found.",
        "Each row goes to a block, whose warps put together what they found.",
    ),
    (
        "A thread takes a column, its neighbour the next.",
        "Each column goes to a thread, and the next one to its neighbour.",
    ),
    (
        "Each program takes {many} elements of {read}.",
        "A program handles {many} elements of {read}.",
        "Give each program {many} elements of {read}.",
    ),
    (
        "{label}: for {loops} the value at {places} of {read}.",
        "{label}: at {loops} stands the value of {read} at {places}.",
    ),
    (
        "{label}: queries {queries}, keys {keys}, values {values}.",
        "{label}: {queries} has the queries, {keys} the keys, {values} the values.",
    ),
    ("Each program has a row of {read},", "A program holds a row of {read},"),
    ("Each program goes along a row of {read},", "A program walks along a row of {read},"),
    ("Each program has {many} neighbouring", "A program holds {many} neighbouring"),
)
"""Forms of a sentence that say the same, the plan's own first. Slots are names, sizes, numbers."""
SLOT = re.compile(r"\{(\w+)\}")
NAME, SIZE = r"\w+", r"[\w *+/()-]+?"
SLOTS = dict.fromkeys(("number", "many", "stride", "padding"), r"\d+")
SLOTS |= {"loops": r"\w(?:, \w)*", "places": r"[^.;]+"}
SLOTS |= {"shape": r"\d+(?: x \d+)*", "size": SIZE, "inner": SIZE}
"""What stands in a slot; in others a name does."""


def phrased(text: str, key: str) -> str:
    """A plan in other words, which the key chooses.

    >>> phrased("Plan: Each element of x by itself. relu: v = std::max(v, 0.0f);", "d")
    'Plan: Go over x, each element on its own. relu: v = std::max(v, 0.0f);'
    """
    for own, *others in PHRASES:
        number = int(content_hash("phrasing", key, own), 16) % (1 + len(others))
        if number:
            text = _pattern(own).sub(_filled(others[number - 1]), text)
    return text


def plain(text: str) -> str:
    """A text with each sentence in the form that the plan has it in.

    >>> plain("Read 2: s += v; In the end: v = v - s;")
    'Pass 2: s += v; Last: v = v - s;'
    """
    for own, *others in PHRASES:
        for one in others:
            text = _pattern(one).sub(_filled(own), text)
    return text


@cache
def _pattern(form: str) -> re.Pattern[str]:
    parts = SLOT.split(form)
    texts = (_slot(one) if at % 2 else re.escape(one) for at, one in enumerate(parts))
    return re.compile(rf"(?<!\w){''.join(texts)}")


def _slot(name: str) -> str:
    return f"(?P<{name}>{SLOTS.get(name, NAME)})"


def _filled(form: str) -> str:
    """What `re.sub` puts in place of another form."""
    return SLOT.sub(r"\\g<\1>", form)
