"""What a reasoning may say of threads in CUDA, and how the code shows that it is so."""

from __future__ import annotations

import re

from kernelwright.data.graphs.expr import Expr, name
from kernelwright.data.graphs.lint.claims import (
    IN_ORDER,
    ONE,
    PASSES,
    ROWS,
    SIZE,
    TARGET,
    WINDOW,
    Claim,
    first_read,
    reads_first,
    size_of,
)
from kernelwright.data.graphs.lint.cuda_attention import ATTENDED
from kernelwright.data.graphs.lint.cuda_threads import (
    OF_BLOCKS,
    OF_COLUMNS,
    THREAD,
    is_thread,
    put_together,
    starts,
    threads_of,
)
from kernelwright.data.graphs.lint.formulas import (
    base_of,
    formula,
    grows_by,
    named,
    parts,
    replaced,
    value,
)
from kernelwright.data.graphs.lint.gpu import is_grid, is_place, moved, window
from kernelwright.data.graphs.lint.moves import ATTENTION_CLAIMS, HEAD
from kernelwright.data.graphs.lint.part import Part, elements


def element(part: Part, said: re.Match[str]) -> None:
    is_thread(part, "i", "n")
    part.expect(not part.accumulations(), "elements are added up")
    reads_first(part, said["read"])
    read = [index for _, array, index in part.loads() if array == said["read"]]
    written = [parts(one.left)[1] for one in part.stores()]
    part.expect(read[:1] == written[:1] == [name("i")], "an element is not written where it was")


def rows(part: Part, said: re.Match[str]) -> None:
    part.size = size_of(part, said["size"])
    reads_first(part, said["read"])
    loops = part.pass_loops()
    if not loops:
        return part.deny(f"no loop over {said['size']} values adds them up")
    index, _ = first_read(part, loops[0], said["read"])
    if index is None:
        return part.deny(f"its row is not {said['read']}")
    inner = ONE if said["inner"] is None else part.block.full(size_of(part, said["inner"]))
    side_by_side = said["way"] == "columns"
    part.expect(side_by_side == (said["inner"] is not None), "only columns lie side by side")
    part.expect(side_by_side == ("q" in named(index)), "rows are no columns")
    part.expect(grows_by(index, loops[0].index, inner), "values of a row lie elsewhere")
    if side_by_side:
        part.expect(grows_by(index, "q", ONE), "columns are not side by side")
    else:
        many = said["way"] == "rows"
        part.expect(many == ("i" in named(index)), "there is one row, or there are several")
        full = part.block.full(part.size)
        part.expect(not many or grows_by(index, "i", full), "rows are not one after the other")
    return None


def by_warp(part: Part, said: re.Match[str]) -> None:
    starts(part, "lane", "32")
    _is_warp(part)
    put_together(part, "warp", "__shfl_xor_sync", "k = 16")


def _is_warp(part: Part) -> None:
    each = threads_of(part) // 32
    row = is_place(part, "i", f"blockIdx.x * {each} + threadIdx.x / 32")
    part.expect(row and is_place(part, "lane", "threadIdx.x % 32"), "a warp takes no row")
    part.expect(is_grid(part, f"(outer + {each - 1}) / {each}"), "there are not enough warps")


def by_block(part: Part, said: re.Match[str]) -> None:
    starts(part, "threadIdx.x", "blockDim.x")
    _is_block(part)
    put_together(part, "block", *OF_BLOCKS)


def _is_block(part: Part) -> None:
    alone = "i" not in part.block.places
    part.expect(alone or is_place(part, "i", "blockIdx.x"), "a block takes no row")
    part.expect(is_grid(part, "1" if alone else _rows_of(part)), "there is not a block for each")


def _rows_of(part: Part) -> str:
    """How many rows there are: what the host gives, as it may be no parameter."""
    return "outer" if "outer" in part.block.sizes else _shown(part.block.launches[0].grid[0])


def _shown(expr: Expr) -> str:
    if expr.op in ("name", "number"):
        return str(expr.args[0])
    one, other = map(_shown, parts(expr))
    return f"({one} {expr.op} {other})"


def all_blocks(part: Part, said: re.Match[str]) -> None:
    starts(part, THREAD, "gridDim.x * blockDim.x")
    put_together(part, "block", *OF_BLOCKS)
    left = [one for one in part.stores() if one.base.startswith("part")]
    place = [parts(one.left)[1] for one in left]
    part.expect(place == [name("blockIdx.x")], "no block leaves what it found")
    joins = [
        one
        for one in part.block.statements
        for array, index in elements(one.right)
        if left and array == left[0].base and index == name("threadIdx.x")
    ]
    many = value(part.block.launches[0].grid[0], {})
    last = part.block.launches[-1]
    held = joins and value(last.given["x"], {}) == many == threads_of(part)
    part.expect(held, "what blocks found is not put together")


def column_block(part: Part, said: re.Match[str]) -> None:
    columns = int(said["columns"])
    starts(part, "threadIdx.y", "blockDim.y")
    found = [
        each for each in "xy" if is_place(part, "q", f"blockIdx.{each} * {columns} + threadIdx.x")
    ]
    part.expect(found and threads_of(part) == columns, f"a block has no {columns} columns")
    part.expect(threads_of(part, "y") > 1, "no threads share a column")
    put_together(part, "column", *OF_COLUMNS)


def column_thread(part: Part, said: re.Match[str]) -> None:
    is_own = is_place(part, "q", THREAD) or (
        is_place(part, "p", THREAD) and is_place(part, "q", "p % inner")
    )
    part.expect(is_own, "a thread takes no column")
    threads = threads_of(part)
    count = "inner" if is_place(part, "q", THREAD) else "outer * inner"
    part.expect(
        is_grid(part, f"({count} + {threads - 1}) / {threads}"), "there are too few threads"
    )
    read = next((index for _, _, index in part.loads()), name("none"))
    part.expect(grows_by(read, "q", ONE), "neighbours do not read neighbouring columns")


def row_thread(part: Part, said: re.Match[str]) -> None:
    """A thread has a row from its first value to its last."""
    part.expect(is_place(part, "i", THREAD), "a thread takes no row")
    threads = threads_of(part)
    enough = is_grid(part, f"(outer + {threads - 1}) / {threads}")
    part.expect(enough, "there are too few threads")
    starts(part, "0", "1")


def few_threads(part: Part, said: re.Match[str]) -> None:
    part.expect(threads_of(part) == int(said["many"]), f"a block has {threads_of(part)} threads")


def mean_of_rows(part: Part, said: re.Match[str]) -> None:
    left = [one.base for one in part.stores() if one.base.startswith("part")]
    held = False
    for one in part.accumulations():
        read = [array for array, _ in elements(one.right)]
        if left and read == left and one.op == "+=":
            divided = [each.right for each in part.stores() if each.right.op == "/"]
            held = any(
                base_of(parts(each)[0]) == one.base
                and part.is_size(parts(each)[1], one.loops[0].bound)
                for each in divided
            )
            held = held and part.is_size(one.loops[0].bound, formula(_rows_of(part)))
    part.expect(held, "there is no mean of all rows")


def in_order(part: Part, said: re.Match[str]) -> None:
    size = size_of(part, said["size"])
    reads_first(part, said["read"])
    along = [one for one in part.block.loops() if part.is_size(size, one.bound)]
    pieces = part.block.places.get("span")
    in_pieces = pieces is not None and part.is_size(
        pieces, formula(f"({said['size']} + blockDim.y - 1) / blockDim.y")
    )
    part.expect(along or in_pieces, f"nothing runs along {said['size']}")
    place = part.block.places.get("j")
    falls = place is not None and any(
        grows_by(part.block.full(place), one.index, formula("0 - 1")) for one in part.block.loops()
    )
    part.expect(
        (falls or any(one.down for one in along)) == bool(said["down"]), "it runs the other way"
    )


def pieces(part: Part, said: re.Match[str]) -> None:
    held = [
        one
        for one in part.accumulations()
        if any(array in part.block.shared for array, _ in elements(one.right))
        and any(part.is_size(loop.bound, name("threadIdx.y")) for loop in one.loops)
    ]
    part.expect(held, "nobody adds up the pieces before its own")
    part.expect(is_place(part, "first", "threadIdx.y * span"), "a thread has no piece")
    part.expect(threads_of(part, "y") > 1, "one thread has all pieces")


def piece_by_piece(part: Part, said: re.Match[str]) -> None:
    who = said["who"]
    steps = {one.step for one in part.block.loops() if one.index == "first"}
    part.expect(steps == {32 if who == "warp" else threads_of(part)}, f"a {who} takes other pieces")
    if who == "warp":
        _is_warp(part)
    else:
        _is_block(part)
    calls = [one.right.op for one in part.block.statements if one.right.op.startswith(f"{who}_cum")]
    part.expect(calls, f"no {who} runs along a row")


def first_place(part: Part, said: re.Match[str]) -> None:
    """The index of the largest or smallest value: of equal ones the first."""
    part.expect(part.now, "it does not say in which pass")
    of, test = said["of"], formula(f"v {said['sign']} {said['of']}")
    inner = [one for one in part.block.statements if one.op == "if" and one.right == test]
    part.expect(inner and inner[0].loops, f"nothing looks for {said[0]}")
    set_to = {
        one.base: one.right
        for one in part.block.statements
        if inner and one.loops == inner[0].loops
    }
    part.expect(set_to.get(of) == name("v") and set_to.get("best") == name("j"), "it keeps others")
    kind = "max" if said["sign"] == ">" else "min"
    calls = [one.right for one in part.block.statements if one.right.op.endswith(f"_arg{kind}")]
    threads = all(
        "place < best" in part.block.helpers.get(each.op.replace("block_", "warp_"), "")
        for each in calls
    )
    alone = not calls and any(is_place(part, one, THREAD) for one in "ipq")
    part.expect(threads and (calls or alone), "of equal values it takes any")
    part.expect(part.stores()[-1].right == name("best"), "it writes no place")


def one_output(part: Part, said: re.Match[str]) -> None:
    is_thread(part, "i", "count")
    written = [parts(one.left)[1] for one in part.stores()]
    part.expect(written == [name("i")], "a thread does not write its own output")
    part.expect(not part.block.shared, "tiles are shared")


def product(part: Part, said: re.Match[str]) -> None:
    taken = [one for one in part.accumulations() if one.base in ("s", "v") and one.right.op == "*"]
    if not taken:
        return part.deny("it is no product")
    depth = [
        one
        for one in taken[0].loops
        if one.index == "k" and part.is_size(size_of(part, said["size"]), one.bound)
    ]
    part.expect(depth, f"it does not sum over {said['size']}")
    for tile, wanted in zip(
        map(base_of, parts(taken[0].right)), (said["left"], said["right"]), strict=True
    ):
        copied = [one for one in part.block.statements if one.base == tile and one.op == "="]
        copied = copied if tile in part.block.shared else []
        read = {part.block.origin(array) for one in copied for array, _ in elements(one.right)}
        read = read or {part.block.origin(tile)}
        part.expect(read == {wanted}, f"a factor is {read}, not {wanted}")
    return None


def tiles(part: Part, said: re.Match[str]) -> None:
    high, wide, down, across = (int(said[one]) for one in ("high", "wide", "down", "across"))
    part.expect(part.block.arrays.get("s") == (down, across), f"a thread has no {down} x {across}")
    part.expect(is_place(part, "row", f"blockIdx.y * {high}"), f"a block has no {high} rows")
    part.expect(is_place(part, "column", f"blockIdx.x * {wide}"), f"a block has no {wide} columns")
    part.expect(high * wide == down * across * threads_of(part), "threads have more, or fewer")
    grid = part.block.launches[0].grid
    sizes = (f"(n + {wide - 1}) / {wide}", f"(m + {high - 1}) / {high}")
    held = all(part.is_size(formula(one), real) for one, real in zip(sizes, grid, strict=False))
    part.expect(held, "there are not enough blocks")
    barriers = [one for one in part.block.statements if one.op == "barrier" and one.loops]
    held = part.block.shared == {"p", "w"} and len(barriers) == 2
    part.expect(held, "there are no tiles in shared memory")


def weights(part: Part, said: re.Match[str]) -> None:
    many = int(said["channels"])
    part.expect(is_place(part, "c", f"blockIdx.y * {many}"), f"a block has no {many} channels")
    part.expect(part.block.arrays.get("s") == (many,), f"a thread has no {many} sums")
    lanes = [one for one in part.block.loops() if one.index == "l"]
    part.expect(all(part.is_size(one.bound, formula(str(many))) for one in lanes), "l is another")
    grid = part.block.launches[0].grid
    channels = len(grid) == 2 and grid[1].op == "/" and parts(grid[1])[1] == formula(str(many))
    part.expect(channels, "there are other blocks")
    kept = [one for one in part.block.statements if one.base == "w" and "w" in part.block.shared]
    has_room = kept and part.is_size(
        part.block.launches[0].given["bytes"],
        replaced(kept[0].loops[0].bound, part.block.places) * 4.0,
    )
    part.expect(has_room, "shared memory has no room for w")
    part.expect(any(one.op == "barrier" for one in part.block.statements), "nobody waits for w")


def own_output(part: Part, said: re.Match[str]) -> None:
    is_thread(part, "i", "count")
    part.expect(not part.block.loops(), "there are loops")


def output(part: Part, said: re.Match[str]) -> None:
    is_thread(part, "i", "n")
    written = [parts(one.left)[1] for one in part.stores()]
    part.expect(written == [name("i")], "a thread does not write its own output")


WHO = r"(?P<who>warp|block)"
CLAIMS: tuple[tuple[str, Claim], ...] = (
    TARGET,
    (r"A thread takes an element of (?P<read>\w+)\.", element),
    (ROWS, rows),
    (r"A warp takes a row, its lanes shuffle what they found\.", by_warp),
    (r"A block takes a row, its warps put together what they found\.", by_block),
    (
        r"A block takes (?P<columns>\d+) columns, "
        r"its threads share each and put together what they found\.",
        column_block,
    ),
    (r"A thread takes a column, its neighbour the next\.", column_thread),
    (r"A thread takes a row, its neighbour the next\.", row_thread),
    (r"A thread takes one of the outputs\.", one_output),
    (r"A block has (?P<many>\d+) threads\.", few_threads),
    (
        r"All blocks share the row: each leaves what it found, then that is put together\.",
        all_blocks,
    ),
    (IN_ORDER, in_order),
    (r"Threads take a piece of a column each, and add up those before it\.", pieces),
    (rf"A {WHO} takes a row piece by piece:", piece_by_piece),
    (WINDOW, window),
    (r"A block keeps the weights of (?P<channels>\d+) channels in w:", weights),
    (r"A thread takes an output:", output),
    (HEAD, moved),
    (r"A thread takes an output\.", own_output),
    *ATTENTION_CLAIMS,
    *ATTENDED,
    (
        rf"(?P<left>\w+) times (?P<right>\w+), summed over (?P<size>{SIZE})\.",
        product,
    ),
    (
        r"A block takes (?P<high>\d+) x (?P<wide>\d+) outputs, with tiles in shared memory, "
        r"and a thread (?P<down>\d+) x (?P<across>\d+)\.",
        tiles,
    ),
    *PASSES,
    (r"their mean\.", mean_of_rows),
    (
        r"if \(v (?P<sign>[<>]) (?P<of>\w+)\) \{ (?P=of) = v; best = j; \} "
        r"out = the first place of (?P=of);",
        first_place,
    ),
)
