"""True reasoning with one false number, sign, function, name, label, claim or order in it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from kernelwright.data.graphs.phrases import PHRASES, SLOT

SIGNS = {"+": "-", "-": "+", "*": "/", "/": "*", "<": ">", ">": "<", "+=": "*=", "*=": "+="}
SIGN = re.compile(r"(?<= )(\+=|\*=|[-+*/<>])(?= )")
FUNCTIONS = ("max", "min", "exp", "log", "sqrt", "fabs", "tanh", "erf", "log1p", "expm1", "sin")
OF_CUDA = ("fmaxf", "fminf", "expf", "logf", "sqrtf", "fabsf", "tanhf", "erff", "log1pf", "sinf")
OF_TRITON = (
    "tl.maximum",
    "tl.minimum",
    "tl.exp",
    "tl.log",
    "tl.sqrt",
    "tl.abs",
    "tl.sum",
    "tl.max",
)
FUNCTION = re.compile(r"(?<=std::)\w+(?=\()|\b\w+f(?=\()|\b(?:tl|libdevice)\.(?!where)\w+(?=\()")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-\d+)?")
NAME = re.compile(r"(?<![\w:.])[A-Za-z_]\w*(?![\w:(])")
LABEL = re.compile(r"(?<![\w.:])[a-z]\w*(?=(?: \w+)?: )")
PROSE = """Plan. Each element of a by itself. In rows of one row of columns side by side. In order
along, from the end. A times a, summed over: tiles of a row, columns. Is read transposed. Pass.
Last. Their mean. First place of. Over, stride, padding. A row of outputs takes one tap after
another: an image with zeros around it keeps channels and columns. running. A warp takes an element,
its lanes shuffle what they found. Block, warps put together. Threads share each and thread takes,
neighbour next. All blocks leaves what it, then that. Piece by piece of, add up those before. Keeps
weights in w. Outputs, with tiles in shared memory. if. Each program has goes elements neighbouring
positions high long whole block after begins at end goes parts another function adds up rows numbers
inf float"""
OF_PHRASES = " ".join(SLOT.sub("", form) for forms in PHRASES for form in forms)
WORDS = {each for one in re.findall(r"\w+", PROSE + OF_PHRASES) for each in (one, one.lower())}
"""No names, but words of claims."""
CLAIMS = (
    ("in rows of", "in one row of"),
    ("in one row of", "in rows of"),
    ("in rows of", "in columns of"),
    ("in columns of", "in rows of"),
    (" side by side", ""),
    (" from the end.", "."),
    (" in order along", " in order, from the end, along"),
    ("Pass 1:", "Pass 2:"),
    ("Pass 2:", "Pass 1:"),
    ("Last:", "Pass 3:"),
    ("Pass 2:", "Last:"),
    ("summed over", "divided over"),
    ("-> out.", "-> h0."),
    ("-> h0.", "-> out."),
    ("-> h1.", "-> h0."),
    ("A warp takes a row,", "A block takes a row,"),
    ("A warp takes a row, its lanes shuffle", "A block takes a row, its warps put together"),
    ("A block takes a row, its warps put together", "A warp takes a row, its lanes shuffle"),
    ("A warp takes a row piece", "A block takes a row piece"),
    ("A block takes a row piece", "A warp takes a row piece"),
    ("its threads share each and put together what they found", "each thread has one of them"),
    ("A thread takes a column, its neighbour the next.", "A block takes a column."),
    (
        "A thread takes a column, its neighbour the next.",
        "A block takes 32 columns, its threads share each and put together what they found.",
    ),
    (
        "All blocks share the row: each leaves what it found, then that is put together.",
        "A block takes a row, its warps put together what they found.",
    ),
    ("A thread takes an element", "A thread takes four elements"),
    ("A thread takes an output:", "A block keeps the weights of 4 channels in w:"),
    ("with tiles in shared memory", "with tiles in registers"),
    ("add up those before it", "add up those after it"),
    ("Each program has a row of", "Each program goes along a row of"),
    ("as a whole in a block", "block after block"),
    ("block after block", "as a whole in a block"),
    (" long,", " high,"),
    (" high,", " long,"),
    ("a row of", "32 neighbouring columns of"),
    (" It begins at the end.", ""),
    ("as a whole in a block.", "as a whole in a block. It begins at the end."),
    ("the number of each goes to parts", "the number of each goes to out"),
    ("Another function adds up the rows' numbers:", "The same function adds them up:"),
    ("all channels of", "one channel of"),
    ("neighbouring outputs", "distant outputs"),
    (" in tiles:", ":"),
    ("It writes out.", "It writes h0."),
    ("It writes h0.", "It writes out."),
    ("The result goes to out.", "The result goes to h0."),
    ("Read 1:", "Read 2:"),
    ("Round 2:", "Round 1:"),
    ("In the end:", "Read 9:"),
    ("Finally:", "Round 9:"),
    ("Go over", "Add up"),
    ("row by row,", "column by column,"),
    ("are one row", "are several rows"),
    ("first to last", "last to first"),
    ("last to first", "first to last"),
    ("One thread for each", "One block for each"),
    ("Give each element", "Give each row"),
    ("element by element", "row by row"),
    ("The product of", "The sum of"),
    ("stands the value of", "stands the sum of"),
    ("goes to a warp, whose lanes shuffle", "goes to a thread, which adds up"),
    ("goes to a warp, whose lanes shuffle", "goes to a block, whose warps put together"),
    ("goes to a block, whose warps put together", "goes to a warp, whose lanes shuffle"),
    ("Each column goes to a thread, and", "Each row goes to a thread, and"),
    ("A program holds a row of", "A program walks along a row of"),
    ("A program walks along a row of", "A program holds a row of"),
    (" are read across its rows.", " are read along its rows."),
)
PLAIN_PRODUCT = re.compile(
    r"(\w+) times (\w+),[^:]*: (?:tiles of a row, 64 columns\.|v = tl\.dot\(left, right, v\);)"
    r"(?! \w+ is read)"
)
TURNED = re.compile(r" \w+ is read transposed\.")
STATEMENT = r"[\w\[\]]+ [-+*/]?= [^;]+;"
SWAPPED = re.compile(
    rf"(?P<one>(?:\w+(?: \w+)?: )?{STATEMENT}) (?P<other>(?:\w+(?: \w+)?: )?{STATEMENT})"
)


def falsehoods(
    reasoning: str, labels: dict[str, frozenset[str]], seed: str
) -> Iterator[tuple[str, str]]:
    """(kind, false text), each with one change. `labels` are the names of operators, each with
    those that may take its place where both say the same."""
    rng = random.Random(seed)
    for one in NUMBER.finditer(reasoning):
        yield "number", _with(reasoning, one, _other_number(one[0]))
    for one in SIGN.finditer(reasoning):
        yield "sign", _with(reasoning, one, SIGNS[one[0]])
    for one in FUNCTION.finditer(reasoning):
        other = rng.choice([each for each in _functions(one[0]) if each != one[0]])
        yield "function", _with(reasoning, one, other)
    yield from _of_names(reasoning, labels, rng)
    yield from _of_claims(reasoning)


def _functions(one: str) -> tuple[str, ...]:
    """Those of the language that has this one."""
    if "." in one:
        return OF_TRITON
    return OF_CUDA if one not in FUNCTIONS and one.endswith("f") else FUNCTIONS


def _of_names(
    reasoning: str, labels: dict[str, frozenset[str]], rng: random.Random
) -> Iterator[tuple[str, str]]:
    for one in LABEL.finditer(reasoning):
        if one[0] in labels:
            others = sorted(set(labels) - labels[one[0]])
            yield "label", _with(reasoning, one, rng.choice(others))
    names = sorted({one[0] for one in NAME.finditer(reasoning)} - WORDS)
    for one in NAME.finditer(reasoning):
        if one[0] in names:
            others = [each for each in names if each != one[0]] or [f"{one[0]}_9"]
            yield "name", _with(reasoning, one, rng.choice(others))


def _of_claims(reasoning: str) -> Iterator[tuple[str, str]]:
    for was, now in CLAIMS:
        if was in reasoning:
            yield "claim", reasoning.replace(was, now, 1)
    for one in SWAPPED.finditer(reasoning):
        yield "order", _with(reasoning, one, f"{one['other']} {one['one']}")
    for one in TURNED.finditer(reasoning):
        yield "claim", _with(reasoning, one, "")
    if turned := PLAIN_PRODUCT.search(reasoning):
        yield "claim", reasoning.replace(turned[0], f"{turned[0]} {turned[2]} is read transposed.")


def _with(text: str, found: re.Match[str], new: str) -> str:
    return text[: found.start()] + new + text[found.end() :]


def _other_number(text: str) -> str:
    if "." in text or "e" in text:
        return f"{float(text) * 2 + (not float(text)):.6g}" if "e" in text else f"{float(text) + 1}"
    return str(int(text) + 1)
