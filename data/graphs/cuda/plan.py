"""The reasoning of a CUDA example: who takes what, and the statements that they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernelwright.data.graphs.cpp.plan import (
    HERE,
    rows_head,
    rows_said,
    steps_said,
)
from kernelwright.data.graphs.cuda.attention import threads_of as attending
from kernelwright.data.graphs.cuda.launch import threads_of
from kernelwright.data.graphs.cuda.products import each_of
from kernelwright.data.graphs.cuda.rows import kept
from kernelwright.data.graphs.cuda.scans import in_pieces, takes_block
from kernelwright.data.graphs.cuda.share import parts_of, share_of
from kernelwright.data.graphs.cuda.words import CUDA, joined
from kernelwright.data.graphs.nests import (
    Attention,
    Elements,
    Move,
    Nest,
    Product,
    Rows,
    Scan,
    Step,
    Window,
    product,
)
from kernelwright.data.graphs.plan import attention_head, move_head, numbered, window_head

BY_THREAD = "A thread takes a row, its neighbour the next."
SHARED_OUT = {
    "warp": "A warp takes a row, its lanes shuffle what they found.",
    "block": "A block takes a row, its warps put together what they found.",
    "column": "A block takes 32 columns, its threads share each and put together what they found.",
    "": "A thread takes a column, its neighbour the next.",
}
ATTENDED = (
    "A block takes a query, and each of its warps a key after another:"
    " v += left[k] * right[j * depth + k]; row[j] = v * scale; m = fmaxf(m, v * scale);"
    " Each thread takes a score after another: row[j] = expf(row[j] - m); s += row[j];"
    " Each thread takes a column after another: v += row[j] * from[j * wide + k]; v /= s;"
)
WHOLE = "All blocks share the row: each leaves what it found, then that is put together."


def reasoning(nests: Sequence[Nest]) -> str:
    """A sentence or two for each nest.

    >>> from kernelwright.data.graphs.expr import V, call
    >>> from kernelwright.data.graphs.nests import Dim
    >>> x = (Dim("x_0", 4),)
    >>> relu = Step("relu", call("max", V, 0.0))
    >>> reasoning([Elements(says="", source="x", taken=x, shape=x, after=[relu])])
    'Plan: A thread takes an element of x. relu: v = fmaxf(v, 0.0f);'
    """
    return numbered(nests, _said)


def _said(nest: Nest, read: str) -> list[str]:
    is_each = isinstance(nest, Elements | Move | Window | Attention) or (
        isinstance(nest, Product) and nest.tiles == "least"
    )
    threads = attending(nest) if isinstance(nest, Attention) else threads_of(nest)
    few = [f"A block has {threads} threads."] if is_each and nest.tiles != "best" else []
    return [*_work(nest, read), *few]


def _steps(steps: Sequence[Step], flat: str = HERE, along: str = "j") -> list[str]:
    return steps_said(steps, flat, along, CUDA)


def _work(nest: Nest, read: str) -> list[str]:
    match nest:
        case Elements():
            return [f"A thread takes an element of {read}.", *_steps(nest.sized("n"), "i")]
        case Rows():
            share = share_of(nest)
            how = WHOLE if share is None else SHARED_OUT[share.join]
            in_one_piece = product(nest.inner) == "1"
            how = BY_THREAD if share and in_one_piece and not share.join else how
            row = _in_one_piece(nest) if in_one_piece else nest
            row = row if row.keep is None else replace(row, keep=kept(row, row.keep))
            return [rows_head(row, read), how, *rows_said(row, CUDA, _taken)]
        case Scan():
            return _scan(nest, read)
        case Window():
            return [window_head(nest, read), *_window(nest)]
        case Move():
            chosen = [f"row = {nest.chosen}[rest];"] if nest.chosen else []
            how = "A thread takes an output."
            return [move_head(nest, read), how, *chosen, *_steps(nest.after, "i")]
        case Attention():
            return [*attention_head(nest, read), ATTENDED, *_steps(nest.after, "at", "k")]
        case Product(tiles="least"):
            head = f"{read} times {nest.other}, summed over {nest.k.text}."
            return [head, "A thread takes one of the outputs.", *_steps(nest.after, "i", "c")]
        case Product():
            each = each_of(nest)
            tile = f"{16 * each} x {16 * each}"
            head = f"{read} times {nest.other}, summed over {nest.k.text}."
            how = f"A block takes {tile} outputs, with tiles in shared memory,"
            return [head, how, f"and a thread {each} x {each}.", *_steps(nest.after, along="c")]
    raise TypeError(type(nest).__name__)


def _in_one_piece(nest: Rows) -> Rows:
    """Rows without dimensions of one element around them."""
    first = nest.first if product(nest.outer) == "1" else 0
    taken = nest.taken[first : nest.last + 1]
    return replace(nest, taken=taken, first=nest.first - first, last=nest.last - first)


def _taken(found: str, kind: str, term: str) -> str:
    if kind.startswith("arg"):
        return f"if (v {'>' if kind == 'argmax' else '<'} {found}) {{ {found} = v; best = j; }}"
    return f"{joined(found, kind, term)};"


def _scan(nest: Scan, read: str) -> list[str]:
    outer, along, inner = parts_of(nest)
    way = " from the end" if nest.reverse else ""
    head = f"{read} in order along {product(along)}{way}."
    if product(inner) != "1":
        how = "Threads take a piece of a column each, and add up those before it."
        how = how if in_pieces(nest) else SHARED_OUT[""]
        running = [how, f"running: {_taken('s', nest.kind, 'v')}"]
    elif nest.tiles == "least" and product(outer) != "1":
        running = [BY_THREAD, f"running: {_taken('s', nest.kind, 'v')}"]
    else:
        who = "block" if takes_block(nest) else "warp"
        running = [f"A {who} takes a row piece by piece: v = {who}_cum{nest.kind}(v, s);"]
    return [head, *_steps(nest.before), *running, *_steps(nest.after)]


def _window(nest: Window) -> list[str]:
    if nest.is_dense:
        how = f"A block keeps the weights of {nest.lanes} channels in w: s[l] += w[{HERE}] * v;"
        return [how, *_steps(nest.after, "at", "c + l")]
    mean = f" v /= {nest.area}.0f;" if nest.kind == "mean" else ""
    place = f"from[{HERE}]"
    term = f"{nest.weight}[{HERE}] * {place}" if nest.kind == "sum" else place
    taken = _taken("v", "max" if nest.kind == "max" else "sum", term)
    return [f"A thread takes an output: {taken}{mean}", *_steps(nest.after, "i", "c")]
