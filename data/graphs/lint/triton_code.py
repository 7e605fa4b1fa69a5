"""Triton's Python as statements: what each sets, and the loops that it stands in."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from kernelwright.data.graphs.expr import Expr, name, of
from kernelwright.data.graphs.lint.code import Block, Launch, Loop, Statement
from kernelwright.data.graphs.lint.formulas import (
    FormulaError,
    called,
    everywhere,
    named,
    parts,
    replaced,
)
from kernelwright.data.graphs.lint.gpu import joined
from kernelwright.data.graphs.lint.part import REDUCTIONS

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "/",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.Lt: "<",
    ast.Gt: ">",
    ast.LtE: "<=",
    ast.GtE: ">=",
    ast.Eq: "==",
}
FILLED = ("tl.full", "tl.zeros")


def blocks_of(source: str) -> list[Block]:
    """What each part of a reasoning speaks of, in the order of the launches."""
    return joined(launched(source))


def launched(source: str) -> list[Block]:
    """Each function, as it is launched."""
    tree = ast.parse(source)
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    model = next(one for one in tree.body if getattr(one, "name", "") == "ModelNew")
    assert isinstance(model, ast.ClassDef)
    forward = next(one for one in model.body if getattr(one, "name", "") == "forward")
    assert isinstance(forward, ast.FunctionDef)
    host = Host()
    found = []
    for one in forward.body:
        match one:
            case ast.Assign(targets=[target], value=value):
                host.sets(target, value)
            case ast.Expr(value=ast.Call(func=ast.Subscript(value=ast.Name(id=called))) as call):
                found.append(_function(functions[called], call, host))
    return found


class Host:
    """What the host knows when it launches a function: sizes, and shapes of tensors."""

    def __init__(self) -> None:
        self.sizes: dict[str, Expr] = {}
        self.shapes: dict[str, tuple[Expr, ...]] = {}

    def sets(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(elts=names), ast.Attribute(value=of, attr="shape"):
                self._shape(ast.unparse(of), tuple(map(expr_of, names)))
            case ast.Name() as one, ast.Subscript(value=ast.Attribute(value=of, attr="shape")):
                self.shapes.setdefault(ast.unparse(of), (expr_of(one),))
                self._shape(ast.unparse(of), self.shapes[ast.unparse(of)])
            case ast.Name(id=one), ast.Call(args=args):
                sizes = args[0].elts if args and isinstance(args[0], ast.Tuple) else args
                self._shape(one, tuple(replaced(expr_of(each), self.sizes) for each in sizes))
            case ast.Name(id=one), ast.BinOp():
                self.sizes[one] = replaced(expr_of(value), self.sizes)

    def _shape(self, tensor: str, shape: tuple[Expr, ...]) -> None:
        self.shapes[tensor] = shape
        count = reduce(lambda one, other: Expr("*", (one, other)), shape, of(1.0))
        self.sizes[f"{tensor}.numel"] = count


def _function(function: ast.FunctionDef, call: ast.Call, host: Host) -> Block:
    """A function as one launch of it runs."""
    assert isinstance(call.func, ast.Subscript)
    parameters = [one.arg for one in function.args.args]
    constants = {one.arg for one in function.args.args if one.annotation is not None}
    given = dict(zip(parameters, call.args, strict=False))
    given |= {one.arg: one.value for one in call.keywords if one.arg}
    block = Block(sizes=dict(host.sizes), shapes=dict(host.shapes))
    numbers: dict[str, Expr] = {}
    for one, value in given.items():
        if one.endswith("_ptr"):
            tensor = ast.unparse(value).removeprefix("self.").replace(".", "_")
            block.pointers |= {one[:-4]: tensor} if tensor != one[:-4] else {}
        elif one in constants or one not in parameters:
            numbers[one] = replaced(expr_of(value), host.sizes)
        else:
            block.sizes[one] = replaced(expr_of(value), host.sizes)
    grid = call.func.slice
    sizes = grid.elts if isinstance(grid, ast.Tuple) else [grid]
    block.launches.append(
        Launch(
            name=function.name,
            grid=tuple(replaced(expr_of(one), host.sizes) for one in sizes),
            given=numbers,
        )
    )
    Reader(block, set(parameters)).read(function.body, ())
    block.statements = with_passes(block.statements, block.places)
    return block


class Reader:
    """Goes through the lines of a function. What it loads for a name of a tensor is an element."""

    def __init__(self, block: Block, parameters: set[str]) -> None:
        self.block = block
        self.tensors = {one[:-4] for one in parameters if one.endswith("_ptr")}
        self.elements: dict[str, Expr] = {}

    def read(self, lines: Sequence[ast.stmt], loops: tuple[Loop, ...]) -> None:
        for one in lines:
            match one:
                case ast.Assign(targets=[ast.Name(id=target)], value=value):
                    self._sets(target, value, loops)
                case ast.AugAssign(target=ast.Name(id=target), op=sign, value=value):
                    self._add(f"{SIGNS[type(sign)]}=", name(target), self._expr(value), loops)
                case ast.For(target=ast.Name(id=index), iter=ast.Call() as over, body=body):
                    self.read(body, (*loops, _loop(index, over)))
                case ast.Expr(value=ast.Call(args=[place, value])) if _called(one) == "tl.store":
                    self._add("=", pointed(place), self._expr(value), loops)
                case _:
                    raise FormulaError(f"a line that is not understood: {ast.unparse(one)}")

    def _add(self, op: str, left: Expr, right: Expr, loops: tuple[Loop, ...]) -> None:
        self.block.statements.append(Statement(op, left, right, loops))

    def _expr(self, value: ast.expr) -> Expr:
        """With elements in place of their names; what is loaded once more is no element of one."""
        found = expr_of(value)
        if found.op == "at":
            array, index = parts(found)
            return Expr("at", (array, replaced(index, self.elements)))
        return replaced(found, self.elements)

    def _sets(self, target: str, value: ast.expr, loops: tuple[Loop, ...]) -> None:
        if isinstance(value, ast.Call) and ast.unparse(value.func) in FILLED:
            first = expr_of(value.args[1]) if len(value.args) > 2 else of(0.0)
            one = Statement("fill", name(target), first, loops, is_new=True)
            return self.block.statements.append(one)
        found = self._expr(value)
        if found.op == "at" and target.removesuffix("_here") in self.tensors:
            self.elements[target] = found
            return None
        sizes, names = self.block.sizes, named(found)
        if names and names <= sizes.keys():
            sizes[target] = replaced(found, sizes)
        else:
            self.block.places.setdefault(target, found)
        return self._add("=", name(target), found, loops)


def _called(one: ast.Expr) -> str:
    return ast.unparse(one.value.func) if isinstance(one.value, ast.Call) else ""


def _loop(index: str, over: ast.Call) -> Loop:
    """`range(bound)`, `range(start, bound, step)` or `tl.static_range(bound)`."""
    if len(over.args) == 1:
        return Loop(index, of(0.0), expr_of(over.args[0]))
    start, bound, step = over.args
    return Loop(index, expr_of(start), expr_of(bound), by=ast.unparse(step))


def expr_of(node: ast.expr) -> Expr:
    """The same expression as `formula` makes of a text."""
    match node:
        case ast.Name(id=text):
            return name(text)
        case ast.Constant(value=int() | float() as number):
            return of(float(number))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in SIGNS:
            return Expr(SIGNS[type(sign)], (expr_of(left), expr_of(right)))
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in SIGNS:
            return Expr(SIGNS[type(sign)], (expr_of(left), expr_of(right)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = expr_of(operand)
            if inner.op == "number":
                return of(-float(str(inner.args[0])))
            return Expr("neg", (inner,))
        case ast.Subscript(value=ast.Attribute()) | ast.Attribute():
            return name(ast.unparse(node))
        case ast.Subscript(value=value):
            return expr_of(value)
        case ast.Call():
            return _call(node)
    raise FormulaError(f"no formula: {ast.unparse(node)}")


def _call(node: ast.Call) -> Expr:
    function = ast.unparse(node.func)
    if function.endswith(".numel"):
        return name(function)
    match function, node.args:
        case "float", _:
            return name("INFINITY")
        case "tl.load", [place, *_]:
            return pointed(place)
        case "tl.program_id", [axis]:
            return name(f"program_{ast.unparse(axis)}")
        case "tl.arange", [_, many]:
            return name(f"lane_{ast.unparse(many)}")
        case "triton.cdiv", [one, other]:
            count, each = expr_of(one), expr_of(other)
            return Expr("/", (count + each - 1.0, each))
    return called(function, tuple(map(expr_of, node.args)))


def pointed(place: ast.expr) -> Expr:
    """The element that a pointer points to."""
    tensor, _, index = ast.unparse(place).partition("_ptr")
    at = expr_of(ast.parse(index.removeprefix(" + ") or "0", mode="eval").body)
    return Expr("at", (name(tensor), at))


def with_passes(statements: Sequence[Statement], places: Mapping[str, Expr]) -> list[Statement]:
    """Reductions of a block that has a row as a whole are loops over it: those of one pass, and
    what `v` becomes before them, need no number that another of them makes."""
    found, depth = list[Statement](), dict[str, int]()
    loop, passes = None, 0
    waiting: list[int] = []
    for one in statements:
        needed = max((depth.get(each, 0) for each in named(one.right)), default=0)
        if not one.loops and is_reduction(one.right):
            needed = max(needed, depth["v"]) if waiting else needed
            if loop is None or needed >= passes:
                passes = needed + 1
                loop = Loop("j", of(0.0), _bound(places))
            for at in waiting:
                found[at] = replace(found[at], loops=(loop,))
            waiting, needed = [], passes
            one = replace(one, loops=(loop,))
        elif not one.loops and one.left == name("v"):
            waiting.append(len(found))
        depth[one.base] = needed
        found.append(one)
    return found


def is_reduction(expr: Expr) -> bool:
    """Whether it makes a number of those elements of a block that are in the row."""
    if expr.op not in REDUCTIONS or parts(expr)[0].op != "where":
        return False
    return parts(parts(expr)[0])[0] == name("mask")


def _bound(places: Mapping[str, Expr]) -> Expr:
    """How long a row is, by its mask."""
    for one in everywhere(places.get("mask", of(0.0))):
        if one.op == "<" and parts(one)[0] == name("j"):
            return parts(one)[1]
    raise FormulaError("no mask says how long a row is")
