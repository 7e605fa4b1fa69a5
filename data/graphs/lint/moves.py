"""What a reasoning may say of values that come from other places, and of attention."""

from __future__ import annotations

import re
from collections.abc import Callable

from kernelwright.data.graphs.expr import Expr, name
from kernelwright.data.graphs.lint.formulas import base_of, everywhere, formula, parts
from kernelwright.data.graphs.lint.part import Part, elements

OWN_PLACE = "a row ends at its own place"
ANY = "size_"
"""Names that stand for any size."""


def moved(part: Part, said: re.Match[str]) -> None:
    """Loops and places are those of the code, but for sizes."""
    loops = said["loops"].split(", ")
    found = [one.index for one in part.block.loops()]
    part.expect(found == loops, f"its loops are {found}")
    written = [parts(one.left)[1] for one in part.stores()]
    part.expect(written and _lies_at(written[-1], loops), f"it does not write at {loops}")
    expect_read(part, said)


def expect_read(part: Part, said: re.Match[str]) -> None:
    """Expects that a tensor is read at these places."""
    read = [
        index
        for one in part.block.statements
        for array, index in elements(one.right)
        if part.block.origin(array) == said["read"]
    ]
    places = said["places"].split(", ")
    part.expect(read and _lies_at(read[0], places), f"it does not read {said['read']} at {places}")


def _lies_at(index: Expr, places: list[str]) -> bool:
    """Whether an index is that of an element at these places, whatever the sizes."""
    first, *rest = (formula(one) for one in places)
    wanted = first
    for number, one in enumerate(rest):
        wanted = Expr("+", (Expr("*", (wanted, name(f"{ANY}{number}"))), one))
    return _alike(wanted, index)


def _alike(wanted: Expr, found: Expr) -> bool:
    if wanted.op == "name" and str(wanted.args[0]).startswith(ANY):
        return True
    if {wanted.op, found.op} & {"+", "-"}:
        ours, theirs = _terms(wanted), _terms(found)
        return len(ours) == len(theirs) and all(
            sign == other and _alike(one, its)
            for (sign, one), (other, its) in zip(ours, theirs, strict=True)
        )
    if wanted.op != found.op or len(wanted.args) != len(found.args):
        return False
    if wanted.op in ("name", "number"):
        return wanted.args == found.args
    return all(map(_alike, parts(wanted), parts(found)))


def _terms(expr: Expr, sign: int = 1) -> list[tuple[int, Expr]]:
    """What a sum adds up, each with its sign."""
    if expr.op not in ("+", "-"):
        return [(sign, expr)]
    one, other = parts(expr)
    return [*_terms(one, sign), *_terms(other, sign if expr.op == "+" else -sign)]


def attended(part: Part, said: re.Match[str]) -> None:
    for local, wanted in (("left", "queries"), ("right", "keys"), ("from", "values")):
        found = _held(part, local)
        part.expect(found == said[wanted], f"its {wanted} are {found}, not {said[wanted]}")
    if _is_causal(part):
        part.unsaid.add(OWN_PLACE)


def _held(part: Part, local: str) -> str:
    """The tensor that a pointer points into, or that a block of elements was read from."""
    if local in part.block.pointers:
        return part.block.origin(local)
    read = [one.right for one in part.block.statements if one.base.rstrip("_") == local]
    return part.block.origin(base_of(read[0])) if read else "nothing"


def _is_causal(part: Part) -> bool:
    end = part.block.sizes.get("end") or part.block.places.get("end")
    kept = formula("j <= i")
    return end == formula("i + 1") or any(
        one == kept for each in part.block.statements for one in everywhere(each.right)
    )


def own_place(part: Part, said: re.Match[str]) -> None:
    part.expect(OWN_PLACE in part.unsaid, "a row does not end at its own place")
    part.unsaid.discard(OWN_PLACE)


HEAD = (
    r"(?P<label>\w+): for (?P<loops>\w(?:, \w)*) the value at (?P<places>[^.;]+) "
    r"of (?P<read>\w+)\."
)
ATTENTION_CLAIMS: tuple[tuple[str, Callable[[Part, re.Match[str]], None]], ...] = (
    (
        r"(?P<label>\w+): queries (?P<queries>\w+), keys (?P<keys>\w+), "
        r"values (?P<values>\w+)\.",
        attended,
    ),
    (r"A row ends at its own place\.", own_place),
)
