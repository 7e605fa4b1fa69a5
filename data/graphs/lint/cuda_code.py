"""CUDA's functions as statements: what each sets, and the loops that it stands in."""

from __future__ import annotations

import re

from kernelwright.data.graphs.expr import Expr, name
from kernelwright.data.graphs.lint.code import (
    Block,
    Launch,
    Loop,
    Reader,
    Statement,
    without_comments,
)
from kernelwright.data.graphs.lint.formulas import formula
from kernelwright.data.graphs.lint.gpu import joined

FUNCTION = re.compile(r"__global__ void (\w+)\((.*?)\) \{(.*?)\n\}", re.S)
HELPER = re.compile(r"__device__ \w+ (\w+)\(.*?\n\}", re.S)
LAUNCH = re.compile(r"(\w+)<<<(.*)>>>\((.*)\);")
DECLARED = re.compile(r"(?:int|float) ")
SHARED = re.compile(r"(\w+)((?:\[\d*\])+)")


def blocks_of(source: str) -> list[Block]:
    """What each part of a reasoning speaks of, in the order of the launches."""
    return joined(launched(source))


def launched(source: str) -> list[Block]:
    """Each function, as it is launched."""
    text = without_comments(source)
    functions = {one[1]: (one[2], one[3]) for one in FUNCTION.finditer(text)}
    helpers = {one[1]: one[0] for one in HELPER.finditer(text)}
    found = []
    for launch in LAUNCH.finditer(text[text.index('extern "C"') :]):
        parameters, body = functions[launch[1]]
        names = [re.split(r"[ *]", one)[-1] for one in parameters.split(", ")]
        given = _parted(launch[3])
        pointers = {
            one for one, its in zip(names, parameters.split(", "), strict=True) if "*" in its
        }
        reader = CudaReader(body)
        block = reader.blocks[0]
        for one, its in zip(names, given, strict=True):
            if one in pointers:
                block.pointers |= {one: its} if one != its else {}
            else:
                block.sizes[one] = formula(its)
        reader.read()
        block.helpers = helpers
        block.launches = [_launch(launch)]
        found.append(block)
    return found


def _launch(found: re.Match[str]) -> Launch:
    grid, threads, shared, _ = _parted(found[2])
    across, _, down = threads.removeprefix("dim3(").removesuffix(")").partition(", ")
    three = _parted(grid.removeprefix("dim3(")[:-1]) if grid.startswith("dim3(") else [grid]
    given = {"x": across, "y": down or "1", "bytes": shared.replace("sizeof(float)", "4")}
    return Launch(
        name=found[1],
        grid=tuple(map(formula, three)),
        given={one: formula(text) for one, text in given.items()},
    )


def _parted(text: str) -> list[str]:
    """What stands between commas that are in no brackets."""
    found, depth = [""], 0
    for one in text:
        depth += {"(": 1, ")": -1, "[": 1, "]": -1}.get(one, 0)
        if one == "," and not depth:
            found.append("")
        else:
            found[-1] += one
    return [one.strip() for one in found]


class CudaReader(Reader):
    """Goes through the text of a function on the device."""

    def _line(self, text: str, loops: tuple[Loop, ...]) -> None:
        block = self.blocks[-1]
        declared = _parted(text)
        if text == "__syncthreads()":
            self._add(Statement("barrier", name("barrier"), name("barrier"), loops))
        elif "__shared__" in text:
            for array in SHARED.finditer(text):
                block.arrays[array[1]] = tuple(map(int, re.findall(r"\d+", array[2])))
                block.shared.add(array[1])
        elif (kind := DECLARED.match(text)) and len(declared) > 1:
            for one in declared:
                super()._line(f"{kind[0]}{one.removeprefix(kind[0])}", loops)
        elif called := re.fullmatch(r"(\w+)\(.*\)", text):
            self._add(Statement("call", name(called[1]), formula(text), loops))
        else:
            super()._line(text, loops)

    def _number(self, name: str, value: Expr) -> None:
        self.blocks[-1].places[name] = value
