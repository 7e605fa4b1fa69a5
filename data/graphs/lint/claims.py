"""What a reasoning may say of C++ loops, and how the code shows that it is so."""

from __future__ import annotations

import re
from collections.abc import Callable

from kernelwright.data.graphs.expr import Expr, of
from kernelwright.data.graphs.lint.code import Loop, Statement
from kernelwright.data.graphs.lint.formulas import (
    FormulaError,
    base_of,
    formula,
    grows_by,
    named,
    parts,
    value,
)
from kernelwright.data.graphs.lint.moves import ATTENTION_CLAIMS, HEAD, moved
from kernelwright.data.graphs.lint.part import Part, elements, is_total

Claim = Callable[[Part, re.Match[str]], None]
ONE = of(1.0)
TURNED = "{} is read transposed"


def target(part: Part, said: re.Match[str]) -> None:
    stores = part.stores()
    found = part.block.origin(stores[-1].base) if stores else ""
    part.expect(found == said[1], f"it writes {found}, not {said[1]}")


def by_itself(part: Part, said: re.Match[str]) -> None:
    """No value is taken into another, and each is written where it was read."""
    part.expect(not part.accumulations(), "elements are added up")
    part.expect(part.block.statements[-1].loops, "there is no loop over elements")
    read = [index for _, array, index in part.loads() if array == said[1]]
    written = [part.block.full(parts(one.left)[1]) for one in part.stores()]
    part.expect(read[:1] == written[:1] != [], f"no element of {said[1]} is written where it was")
    reads_first(part, said[1])


def reads_first(part: Part, tensor: str) -> None:
    """Expects that a part reads this tensor before any other."""
    first = next((array for _, array, _ in part.loads()), "")
    part.expect(first == tensor, f"it reads {first} first, not {tensor}")


def rows(part: Part, said: re.Match[str]) -> None:
    part.size = size_of(part, said["size"])
    reads_first(part, said["read"])
    loops = part.pass_loops()
    if not loops:
        return part.deny(f"no loop over {said['size']} values adds them up")
    index, outside = first_read(part, loops[0], said["read"])
    if index is None:
        return part.deny(f"its row is not {said['read']}")
    if said["way"] == "columns":
        return _columns(part, said, loops[0], index)
    part.expect(said["inner"] is None, "rows do not lie side by side")
    part.expect(bool(outside) == (said["way"] == "rows"), "there is one row, or there are several")
    part.expect(grows_by(index, loops[0].index, ONE), "values of a row are not next to each other")
    if outside:
        full = part.block.full(part.size)
        part.expect(grows_by(index, outside[-1].index, full), "rows are not one after the other")
    return None


def size_of(part: Part, text: str) -> Expr:
    """A size that a text names; `size` itself says none."""
    part.expect(text != "size", "it does not say how large size is")
    try:
        return formula(text)
    except FormulaError:
        part.deny(f"{text} is no size")
        return ONE


def first_read(part: Part, loop: Loop, tensor: str) -> tuple[Expr | None, tuple[Loop, ...]]:
    """(the index at which a loop reads a tensor, the loops around it)."""
    for one, array, index in part.loads():
        if array == tensor and loop in one.loops:
            return index, one.loops[: one.loops.index(loop)]
    return None, ()


def _columns(part: Part, said: re.Match[str], loop: Loop, index: Expr) -> None:
    if said["inner"] is None:
        return part.deny("it does not say how many columns lie side by side")
    inner = size_of(part, said["inner"])
    full = part.block.full(inner)
    part.expect(grows_by(index, loop.index, full), f"no {said['inner']} columns lie side by side")
    inside = [one for one in part.block.loops() if part.is_size(inner, one.bound)]
    part.expect(
        any(grows_by(index, one.index, ONE) for one in inside), "columns are not side by side"
    )
    return None


def in_order(part: Part, said: re.Match[str]) -> None:
    part.size = size_of(part, said["size"])
    reads_first(part, said["read"])
    loops = part.pass_loops()
    if not loops:
        return part.deny(f"nothing runs along {said['size']}")
    part.expect(loops[0].down == bool(said["down"]), "it runs the other way")
    return None


def window(part: Part, said: re.Match[str]) -> None:
    shape = [int(one) for one in said["shape"].split(" x ")]
    loops = {one.index: one for one in part.block.loops() if one.index in ("kx", "ky", "kd")}
    found = [int(value(one.bound, {})) for one in loops.values()]
    part.expect(found == shape, f"its window is {found}, not {shape}")
    image = [one for one in part.block.statements if one.base == "p" and one.op == "="]
    if said["way"] == "spread from":
        strides, far = {one.step for one in loops.values()}, {1}
        padding = _spread(part, image, loops)
    else:
        strides, padding, far = _moves(part, image)
    part.expect(strides == {int(said["stride"])}, f"its stride is {strides}, not {said['stride']}")
    part.expect(padding == {int(said["padding"])}, f"its padding is {padding}")
    part.expect(far == {int(said["dilation"] or 1)}, f"its dilation is {far}")
    read = part.block.origin(base_of(image[0].right) if image else "from")
    part.expect(read == said["read"], f"it reads {read}, not {said['read']}")


AXES = (("z", {"wide": 0}), ("r", {"wide": 1, "high": 0}), ("d", {"wide": 1, "high": 1, "deep": 0}))
"""An axis of an image, and the sizes that leave it and those behind it in an index."""
BEFORE = {"z": "wide", "r": "high", "d": "deep"}
"""The size of an axis: an index has it where what lies before that axis is in it, too."""
NOTHING = dict.fromkeys(("c", "d", "r", "z", "q", "x", "kd", "ky", "kx"), 0)


def _offsets(index: Expr) -> list[int]:
    """Where an index into an image begins along each of its axes, the last one first."""
    known = named(index)
    found = [value(index, NOTHING | sizes) for axis, sizes in AXES if BEFORE[axis] in known]
    return [one - before for one, before in zip(found, [0, *found], strict=False)]


def _tapped(part: Part) -> list[Expr]:
    return [
        index
        for one in part.block.statements
        for _, index in elements(one.right)
        if {"z", "kx"} <= named(index)
    ]


def _moves(part: Part, image: list[Statement]) -> tuple[set[int], set[int], set[int]]:
    """(strides, paddings, dilations) by which a window moves over rows and columns."""
    copied = [parts(one.left)[1] for one in image if one.left.op == "at"]
    padding = {offset for index in copied for offset in _offsets(index)}
    strides, far = set(), set()
    for index in _tapped(part):
        if not copied:
            padding.add(-value(index, NOTHING))
        for (axis, sizes), tap in zip(AXES, ("kx", "ky", "kd"), strict=True):
            if tap in named(index):
                strides.add(_step(index, axis, sizes))
                far.add(_step(index, tap, sizes))
    for axis, tap, row in (("r", "ky", "iy"), ("d", "kd", "id")):
        if not copied and (index_of := part.block.sizes.get(row)) is not None:
            strides.add(_step(index_of, axis, {}))
            far.add(_step(index_of, tap, {}))
            padding.add(-value(index_of, NOTHING))
    return strides, padding, far


def _step(index: Expr, name: str, sizes: dict[str, int]) -> int:
    given = NOTHING | sizes
    return value(index, given | {name: 1}) - value(index, given)


def _spread(part: Part, image: list[Statement], loops: dict[str, Loop]) -> set[int]:
    """The paddings of a transposed convolution: where taps begin, and what they read then."""
    found = set()
    for index in _tapped(part):
        for copied in image:
            ahead = zip(_offsets(index), _offsets(parts(copied.left)[1]), strict=False)
            for (read, lead), tap in zip(ahead, ("kx", "ky", "kd"), strict=False):
                if tap in loops:
                    first = value(loops[tap].start, NOTHING)
                    found.add(loops[tap].step * (read - lead) + first)
    return found


def together(part: Part, said: re.Match[str]) -> None:
    """Outputs that lie apart take the same taps."""
    written = [parts(one.left)[1] for one in part.stores()]
    apart = int(said[1])
    held = [one for one in written if grows_by(one, "j", of(float(apart)))]
    part.expect(held, f"no columns lie {apart} apart")
    part.expect(any(one.index == "x" for one in part.block.loops()), "there is no loop over x")


def taps(part: Part, said: re.Match[str]) -> None:
    """Loops over places of a window stand outside the loop over a row of outputs."""
    found = [one for one in part.accumulations() if one.base == "to"]
    order = [loop.index for one in found for loop in one.loops]
    held = "kx" in order and "z" in order and order.index("kx") < order.index("z")
    part.expect(held, "a row of outputs does not take in tap after tap")


def image(part: Part, said: re.Match[str]) -> None:
    part.expect("p" in part.block.arrays, "there is no image p")
    kept = part.block.arrays.get("s", ())
    wanted = (int(said["channels"]), int(said["columns"]))
    part.expect(kept == wanted, f"s keeps {kept}, not {wanted}")
    steps = {one.index: one.step for one in part.block.loops() if one.step > 1 or one.index == "c"}
    part.expect(wanted[1] == steps.get("z"), "z does not go by tiles")
    part.expect(wanted[0] in (steps.get("c"), *_steps_of(part, "c")), "c does not go by tiles")


def _steps_of(part: Part, index: str) -> list[int]:
    return [one.step for one in part.block.loops() if one.index == index]


def product(part: Part, said: re.Match[str]) -> None:
    in_tiles = said["columns"] is not None
    sums = "s" if in_tiles else "v"
    taken = [one for one in part.accumulations() if one.base == sums and one.right.op == "*"]
    if not taken:
        return part.deny("it is no such product")
    one = taken[0]
    left, right = parts(one.right)
    tile = base_of(right)
    copied = [each for each in part.block.statements if each.base == tile and each.op == "="]
    right = copied[0].right if in_tiles and copied else right
    names = [part.block.origin(base_of(each)) for each in (left, right)]
    for wanted, real in zip((said["left"], said["right"]), names, strict=True):
        part.expect(wanted == real, f"a factor is {real}, not {wanted}")
    size = size_of(part, said["size"])
    depth = [loop for loop in one.loops if part.is_size(size, loop.bound)]
    part.expect(
        any(loop.index in named(left) for loop in depth), f"it does not sum over {said['size']}"
    )
    if in_tiles:
        tile_columns(part, said)
    else:
        part.expect(depth and one.loops[-1] is depth[-1], "outputs are summed together")
    for factor, turned, real in zip((left, right), (False, True), names, strict=True):
        if grows_by(part.block.full(parts(factor)[1]), "k", ONE) == turned:
            part.unsaid.add(TURNED.format(real))
    return None


def tile_columns(part: Part, said: re.Match[str]) -> None:
    tile = int(said["columns"])
    part.expect(part.block.arrays.get("s") == (tile,), f"a tile has no {tile} columns")
    part.expect(tile in {loop.step for loop in part.block.loops()}, f"no loop goes by {tile}")


def no_vectors(part: Part, said: re.Match[str]) -> None:
    part.expect(not part.block.has_vectors, "a loop is told to use vectors")


def by_column(part: Part, said: re.Match[str]) -> None:
    """A column is gone along to its end before the next one."""
    loops = part.pass_loops()
    around = [
        [each.index for each in one.loops[: one.loops.index(loop)]]
        for loop in loops
        for one in part.accumulations()
        if loop in one.loops
    ]
    part.expect(around and all(its[-1:] == ["q"] for its in around), "columns are side by side")


def transposed(part: Part, said: re.Match[str]) -> None:
    turned = TURNED.format(said[1])
    part.expect(turned in part.unsaid, f"{said[1]} is not read transposed")
    part.unsaid.discard(turned)


def numbered_pass(part: Part, said: re.Match[str]) -> None:
    number = int(said[1])
    before = part.now if isinstance(part.now, int) else 0
    part.expect(number == before + 1, f"pass {number} comes after pass {before}")
    part.expect(number <= len(part.pass_loops()), f"there is no pass {number}")
    part.now = number


def last(part: Part, said: re.Match[str]) -> None:
    many = len(part.pass_loops())
    part.expect(0 < many == part.now, f"there are {many} passes before the last loop")
    part.now = "last"


def mean_of_rows(part: Part, said: re.Match[str]) -> None:
    totals = [one for one in part.block.statements if is_total(one)]
    divided = [one.right for one in part.block.statements if base_of_divided(one.right) == "total"]
    held = totals and divided and part.is_size(totals[0].loops[0].bound, parts(divided[0])[1])
    part.expect(held, "there is no mean of all rows")


def base_of_divided(expr: Expr) -> str:
    return base_of(parts(expr)[0]) if expr.op == "/" else ""


def first_place(part: Part, said: re.Match[str]) -> None:
    """The index of the largest or smallest value: of equal ones the first."""
    part.expect(part.now, "it does not say in which pass")
    row = [one for one in part.block.statements if one.op == "while" and one.right.op in "<>"]
    columns = [one for one in part.stores() if one.right.op == "where"]
    columns = [one for one in columns if parts(one.right)[0].op in "<>"]
    of_row = any(base_of(each) == said[1] for one in row for each in parts(one.right))
    of_column = any(said[1] in named(parts(one.right)[0]) for one in columns)
    is_found = said[1] in {one.base for one in part.accumulations()}
    part.expect(
        is_found and (of_row or of_column), f"nothing looks for the first place of {said[1]}"
    )


SIZE = r"[\w *+/()-]+?"
ROWS = (
    rf"(?P<label>\w+): (?P<read>\w+) in (?:(?P<way>rows|columns) of|one row of) "
    rf"(?P<size>{SIZE})(?:, (?P<inner>{SIZE}) side by side)?\."
)
IN_ORDER = rf"(?P<read>\w+) in order along (?P<size>{SIZE})(?P<down> from the end)?\."
WINDOW = (
    r"(?P<label>\w+): (?P<shape>\d+(?: x \d+)*) (?P<way>over|spread from) (?P<read>\w+), "
    r"stride (?P<stride>\d+), padding (?P<padding>\d+)(?:, dilation (?P<dilation>\d+))?\."
)
TARGET: tuple[str, Claim] = (r"-> (\w+)\.", target)
PASSES: tuple[tuple[str, Claim], ...] = ((r"Pass (\d+):", numbered_pass), (r"Last:", last))
CLAIMS: tuple[tuple[str, Claim], ...] = (
    TARGET,
    (r"Each element of (\w+) by itself\.", by_itself),
    (ROWS, rows),
    (IN_ORDER, in_order),
    (WINDOW, window),
    (r"Columns x \+ j \* (\d+) together\.", together),
    (HEAD, moved),
    *ATTENTION_CLAIMS,
    (r"A row of outputs takes one tap after another:", taps),
    (
        r"p is an image with zeros around it; "
        r"s keeps (?P<channels>\d+) channels and (?P<columns>\d+) columns:",
        image,
    ),
    (
        rf"(?P<left>\w+) times (?P<right>\w+), summed over (?P<size>{SIZE}): "
        r"(?:tiles of a row, (?P<columns>\d+) columns|one output after another)\.",
        product,
    ),
    (r"Tiles have (?P<columns>\d+) columns\.", tile_columns),
    (r"One column after another\.", by_column),
    (r"No loop is told to use vectors\.", no_vectors),
    (r"(\w+) is read transposed\.", transposed),
    *PASSES,
    (r"their mean\.", mean_of_rows),
    (r"out = the first place of (\w+);", first_place),
)
