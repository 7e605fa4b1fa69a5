"""Code as statements: what each sets, and the loops that it stands in. The reader is for C++."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kernelwright.data.graphs.expr import Expr, name, of
from kernelwright.data.graphs.lint.formulas import FormulaError, base_of, formula, replaced

TYPES = r"(?:const )?(?:int64_t|int|float|double|size_t|auto)"
LOOP = re.compile(rf"{TYPES} (\w+) = (.*); \1 < (.*?)(?: && [^;]*)?; (?:\+\+\1|\1 \+= (.+))$")
DOWN = re.compile(rf"{TYPES} (\w+) = (.*); \1-- > 0;$")
SETS = re.compile(
    rf"(?:(?P<type>{TYPES})(?P<pointer>\*)? )?(?P<left>[^=]+?) (?P<op>[-+*/]?=) (?P<right>.*)$",
    re.S,
)
ARRAY = re.compile(r"(?:__shared__ )?float (\w+)((?:\[\d+\])+)(?: = \{\})?$")
VECTOR = re.compile(r"std::vector<float> (\w+)\((.*?)(?:, ([-\w.]+))?\)$")
FILL = re.compile(r"std::fill\((\w+)\.begin\(\), \w+\.end\(\), (.*)\)$")
HEAD = re.compile(r"\s*(for|while|if) \(")


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """`for` over an index; two loops are never equal."""

    index: str
    start: Expr
    bound: Expr
    step: int = 1
    down: bool = False
    by: str = ""
    """A step that is no number."""


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """`left op right`; `op` may be `=`, `+=`, `*=`, `if`, `while` or `fill`."""

    op: str
    left: Expr
    right: Expr
    loops: tuple[Loop, ...]
    is_new: bool = False
    """Whether it declares what it sets."""
    is_pointer: bool = False

    @property
    def base(self) -> str:
        return base_of(self.left)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A function of a GPU, and what the host gives it."""

    name: str
    grid: tuple[Expr, ...]
    """How many blocks or programs it has in each direction."""
    given: dict[str, Expr]
    """By name, what the host says of how many threads there are, and how long blocks are."""


@dataclass
class Block:
    """Statements in order, and what arrays of its own it has."""

    statements: list[Statement] = field(default_factory=list)
    sizes: dict[str, Expr] = field(default_factory=dict)
    """Numbers of elements that have a name, written out."""
    pointers: dict[str, str] = field(default_factory=dict)
    """What a pointer points into."""
    arrays: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Local arrays, and the vectors, whose sizes are not known."""
    places: dict[str, Expr] = field(default_factory=dict)
    """Numbers of threads, programs and elements that have a name."""
    shapes: dict[str, tuple[Expr, ...]] = field(default_factory=dict)
    """Of tensors, as the host knows them."""
    shared: set[str] = field(default_factory=set)
    """Arrays that all threads of a block have together."""
    helpers: dict[str, str] = field(default_factory=dict)
    """The text of functions that it calls."""
    launches: list[Launch] = field(default_factory=list)
    """The functions of a GPU that it is made of."""
    has_vectors: bool = False
    """Whether a loop of the code is told to use vectors."""

    def inner(self) -> Block:
        """A block in this one."""
        return Block([], dict(self.sizes), dict(self.pointers), dict(self.arrays))

    def full(self, expr: Expr) -> Expr:
        """With sizes written out."""
        return replaced(expr, self.sizes)

    def origin(self, array: str) -> str:
        seen = set()
        while array in self.pointers and array not in seen:
            seen.add(array)
            array = self.pointers[array]
        return array

    def loops(self) -> list[Loop]:
        return list(dict.fromkeys(one for each in self.statements for one in each.loops))


def blocks_of(source: str) -> list[Block]:
    """The blocks of a function in order; the whole of it where it has none of its own."""
    text = without_comments(source)
    start = text.index("{", text.index(") {")) + 1
    found = Reader(text[start : text.rindex("}")]).read()
    for one in found:
        one.has_vectors = "#pragma omp simd" in source
    return found


def without_comments(source: str) -> str:
    """C without comments, and what is for its preprocessor."""
    text = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
    return re.sub(r"//.*|^\s*#.*$", "", text, flags=re.M)


class Reader:
    """Goes through the text of a function once."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0
        self.blocks = [Block()]

    def read(self) -> list[Block]:
        outer = self.blocks[0]
        own = []
        while self._rest():
            if self._rest().startswith("{"):
                own.append(outer.inner())
            self.blocks.append(own[-1] if self._rest().startswith("{") else outer)
            self._statement(())
            self.blocks.pop()
        return own or [outer]

    def _rest(self) -> str:
        return self.text[self.place :].lstrip()

    def _statement(self, loops: tuple[Loop, ...]) -> None:
        self.place = len(self.text) - len(self._rest())
        if self.text.startswith("{", self.place):
            self.place += 1
            while not self._rest().startswith("}"):
                if not self._rest():
                    raise FormulaError("a block without end")
                self._statement(loops)
            self.place = self.text.index("}", self.place) + 1
        elif head := HEAD.match(self.text, self.place):
            self.place = head.end()
            inside = self._brackets()
            self._statement((*loops, *self._head(head[1], inside, loops)))
        else:
            end = self.text.index(";", self.place)
            self._line(" ".join(self.text[self.place : end].split()), loops)
            self.place = end + 1

    def _brackets(self) -> str:
        """What is in the brackets that are open."""
        depth, start = 1, self.place
        while depth:
            depth += {"(": 1, ")": -1}.get(self.text[self.place], 0)
            self.place += 1
        return " ".join(self.text[start : self.place - 1].split())

    def _head(self, kind: str, inside: str, loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
        if kind != "for":
            self._add(Statement(kind, name(kind), formula(inside), loops))
            return ()
        if down := DOWN.match(inside):
            return (Loop(down[1], of(0), formula(down[2]), down=True),)
        if up := LOOP.match(inside):
            step, by = (1, up[4]) if up[4] and not up[4].isdecimal() else (int(up[4] or 1), "")
            return (Loop(up[1], formula(up[2]), formula(up[3]), step, by=by),)
        raise FormulaError(f"a loop that is not understood: {inside}")

    def _add(self, one: Statement) -> None:
        self.blocks[-1].statements.append(one)

    def _line(self, text: str, loops: tuple[Loop, ...]) -> None:
        block = self.blocks[-1]
        if found := ARRAY.match(text):
            block.arrays[found[1]] = tuple(map(int, re.findall(r"\d+", found[2])))
        elif found := VECTOR.match(text):
            block.arrays[found[1]] = ()
            first = formula(found[3] or "0")
            self._add(Statement("fill", name(found[1]), first, loops, is_new=True))
        elif found := FILL.match(text):
            self._add(Statement("fill", name(found[1]), formula(found[2]), loops))
        elif found := SETS.match(text):
            self._sets(found, loops)
        elif not re.match(r"\+\+\w+$|continue$|return", text):
            raise FormulaError(f"a statement that is not understood: {text}")

    def _sets(self, found: re.Match[str], loops: tuple[Loop, ...]) -> None:
        block, right = self.blocks[-1], found["right"]
        if found["pointer"]:
            into = re.match(r"&?(\w+)(?!\w|\.)", right)
            block.pointers[found["left"]] = into[1] if into else found["left"]
            return self._add_pointer(found, loops)
        value = formula(right)
        left = formula(found["left"])
        if found["type"] and "int" in found["type"]:
            self._number(found["left"], value)
        return self._add(Statement(found["op"], left, value, loops, is_new=bool(found["type"])))

    def _number(self, name: str, value: Expr) -> None:
        """A whole number that has a name: a number of elements."""
        self.blocks[-1].sizes[name] = self.blocks[-1].full(value)

    def _add_pointer(self, found: re.Match[str], loops: tuple[Loop, ...]) -> None:
        right = re.sub(r"\.data\(\)$", "", found["right"])
        left = name(found["left"])
        self._add(Statement("=", left, formula(right), loops, is_new=True, is_pointer=True))
