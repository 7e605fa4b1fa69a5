"""Writes a case's plan as tables for the player in native/plan/plan.h.

What an answer wrote is read, never copied: names become letters and digits, numbers are printed
again.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.plan.plan import Plan, sizes_of
from kernelwright.envs.plan.steps import (
    TORCH,
    Argument,
    Call,
    Copy,
    Fill,
    Launch,
    Move,
    Place,
    Result,
    Step,
    View,
    is_empty,
    made_by_calls,
)
from kernelwright.envs.sandbox.rootfs import OPERATORS

TYPES = {
    "uint8": 0,
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "float16": 5,
    "float32": 6,
    "float64": 7,
    "bool": 11,
    "bfloat16": 15,
}
"""The numbers of native/include/kernelwright/move.h, which are torch's."""
NONE, TENSOR, WHOLE, REAL, TRUTH, WHOLES, TENSORS, TEXT, LEFT_OUT, REALS = range(10)
"""Kinds of values (native/include/kernelwright/value.h)."""
MOST_VIEWS, MOST_LENT = 256, 64
"""Of one call (native/plan/call.h)."""
Launched = Callable[["Tables", int, Launch], str]


class Tables:
    """The lines of one case: first the data of its steps, then `caseN`."""

    def __init__(
        self,
        number: int,
        spec: CaseSpec,
        plan: Plan,
        *,
        file: bytearray,
        launched: Launched | None = None,
        libraries: Mapping[str, int] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """`file` grows by the case's constants, `launched` adds a launch's tables and names the
        last, `libraries` are the numbers of those with functions in C++, `variables` what those
        of the device code are called in C++.

        Raises ValueError where the plan is none of this case."""
        self.number, self.spec, self.plan, self.file = number, spec, plan, file
        self.launched, self.libraries = launched, libraries or {}
        self.variables = variables or {}
        self.bytes = sizes_of(plan, spec)
        self.numbers = {name: number for number, name in enumerate(self.bytes)}
        self.lines: list[str] = []
        self.results = plan.outputs or [Place(tensor=one.name, offset=0) for one in spec.outputs]
        firsts = plan.first.outputs if plan.first else []
        self.firsts = firsts or [Place(tensor=one.name, offset=0) for one in spec.outputs]
        for results in (self.results, self.firsts):
            for one, wanted in zip(results, spec.outputs, strict=True):
                if one.offset + wanted.size_bytes > self.bytes[one.tensor]:
                    raise ValueError("an output lies outside its tensor")
        self.made = made_by_calls(plan.all_steps) & plan.buffers.keys()
        self.once = set(plan.buffers) - plan.mentioned if plan.first else set[str]()
        self.lent = {} if launched else self._lent()
        self.contents = plan.contents()
        self.constants: dict[str, int] = {}

    def _lent(self) -> dict[str, str]:
        """Buffer → the output that it is, whole and alone: it can lie where that belongs."""
        places = [place.tensor for place in self.results]
        return {
            place.tensor: one.name
            for place, one in zip(self.results, self.spec.outputs, strict=True)
            if place.tensor in self.plan.buffers
            and place.tensor not in self.plan.kept | self.plan.constants.keys()
            and places.count(place.tensor) == 1
            and self.bytes[place.tensor] == one.size_bytes
        }

    def written(self) -> list[str]:
        n, spec, plan = self.number, self.spec, self.plan
        rows = [
            self._constant(name) for name in (*self.contents, *plan.variables, *sorted(plan.kept))
        ]
        self.lines.append(f"static Constant constants{n}[] = {{{', '.join(rows) or '{}'}}};")
        firsts = len(plan.first.steps) if plan.first else 0
        made = [
            (number, self._step(f"{n}_{number}", number, one))
            for number, one in enumerate(plan.all_steps)
            if not is_empty(one)
        ]
        steps = [row for number, row in made if number >= firsts]
        first = self._first([row for number, row in made if number < firsts])
        to = [self.place(Place(tensor=one.name, offset=0)) for one in spec.outputs]
        counts = [
            self.array("int64_t", f"sizes{n}", map(str, spec.sizes)),
            self.array("double", f"scalars{n}", [_real(float(one)) for _, one in spec.scalars]),
            self.array("Tensor", f"tensors{n}", [self._tensor(one) for one in self.bytes]),
            self.array("Step", f"steps{n}", steps),
            self.array("Place", f"outputs{n}", to),
        ]
        self.array("Place", f"results{n}", [self.place(one) for one in self.results])
        self.array("uint64_t", f"bytes{n}", [str(one.size_bytes) for one in spec.outputs])
        parts = ["sizes", "scalars", "tensors", "steps", "outputs", "results", "bytes"]
        names = [f"{one}{n}" for one in parts]
        odd = "true" if self.launched else "false"
        same = [
            f"{{{self.place(one.at)}, {self.place(one.copied)}, {one.bytes}ull}}"
            for one in plan.results
        ]
        watched = [self.array("Watched", f"watched{n}", same), f"watched{n}"]
        row = ", ".join([*counts, *names, odd, first, *watched])
        self.lines.append(f"static const Case case{n} = {{{row}}};")
        return self.lines

    def _first(self, steps: list[str]) -> str:
        """Adds the tables of the first call; where they are."""
        n, plan = self.number, self.plan
        if plan.first is None:
            return "nullptr"
        count = self.array("Step", f"first_steps{n}", steps)
        self.array("Place", f"first_results{n}", [self.place(one) for one in self.firsts])
        row = f"{count}, first_steps{n}, first_results{n}, false"
        self.lines.append(f"static First first{n} = {{{row}}};")
        return f"&first{n}"

    def array(
        self, c: str, name: str, rows: Sequence[str] | map[str], how: str = "static const"
    ) -> str:
        """Adds a table; how many rows it has."""
        kept = list(rows)
        self.lines.append(f"{how} {c} {name}[] = {{{', '.join(kept) or '{}'}}};")
        return str(len(kept))

    def place(self, place: Place) -> str:
        return f"{{{self.numbers[place.tensor]}, {place.offset}ull}}"

    def _tensor(self, name: str) -> str:
        buffer = name in self.plan.buffers
        writable = (
            buffer
            or name in self.plan.variables
            or any(one.name == name for one in self.spec.outputs)
        )
        source = "kNew" if buffer else "kGiven"
        kept = "nullptr"
        if name in self.plan.kept:
            source = "kKeptResult" if name in self.made else "kKept"
            kept = f"constants{self.number} + {self.constants[name]}"
        elif name in self.constants:
            source, kept = "kConstant", f"constants{self.number} + {self.constants[name]}"
        elif name in self.made:
            source = "kResult"
        elif name in self.once:
            source = "kOnce"
        elif name in self.lent:
            source = str(self.numbers[self.lent[name]])
        how = f"{str(writable).lower()}, {source}, {kept}"
        return f'{{"{mangled(name)}", {self.bytes[name]}, {how}}}'

    def _constant(self, name: str) -> str:
        """What is in a buffer before the call: one byte everywhere, or a part of the file; or a
        variable of the device code, or what the first call leaves, as it is."""
        self.constants[name] = len(self.constants)
        if name in self.plan.variables:
            return f"{{-2, 0, (uint8_t*){self.variables[name]}}}"
        if name in self.plan.kept:
            return "{-2, 0, nullptr}"
        content = self.contents[name]
        if len(set(content)) <= 1:
            return f"{{-1, {content[0] if content else 0}, nullptr}}"
        self.file += content
        return f"{{{len(self.file) - len(content)}, 0, nullptr}}"

    def _step(self, name: str, number: int, step: Step) -> str:
        """Adds the tables of a step; its row."""
        match step:
            case Launch():
                if self.launched is None:
                    raise ValueError("a launch without a kernel")
                return f"{{play_run, &{self.launched(self, number, step)}}}"
            case Fill():
                content = bytes.fromhex(step.fill)
                self.array("uint8_t", f"pattern{name}", map(str, content))
                row = f"{self.place(step.at)}, {step.bytes}ull, pattern{name}, {len(content)}"
                return self._one("Fill", name, row)
            case Copy():
                row = f"{self.place(step.to)}, {self.place(step.source)}, {step.bytes}ull"
                return self._one("Copy", name, row)
            case Move():
                return self._move(name, step)
            case Call():
                return self._call(name, step)

    def _one(self, kind: str, name: str, row: str) -> str:
        self.lines.append(f"static const {kind} step{name} = {{{row}}};")
        return f"{{play_{kind.lower()}, &step{name}}}"

    def _move(self, name: str, step: Move) -> str:
        sides = []
        for word, side in (("to", step.to), ("from", step.source)):
            self.array("int64_t", f"{word}{name}", map(str, side.strides))
            sides.append(f"{{{self.place(side.at)}, {TYPES[side.dtype]}, {word}{name}}}")
        dim = self.array("int64_t", f"shape{name}", map(str, step.shape))
        return self._one("Move", name, f"{', '.join(sides)}, {dim}, shape{name}")

    def _call(self, name: str, step: Call) -> str:
        gaps = sum((one.tensors or []).count(None) for one in step.arguments)
        if len(list(step.views)) + gaps > MOST_VIEWS:
            raise ValueError(f"{step.function} is given more than {MOST_VIEWS} tensors")
        given = [
            self._argument(f"{name}_{number}", one) for number, one in enumerate(step.arguments)
        ]
        results = [self._result(one) for one in step.results]
        lent = [
            f"{{{one.made}, {{{self.numbers[output]}, 0}}, {self.bytes[output]}, {at}}}"
            for at, one in enumerate(step.results)
            if one and one.made is not None and one.made < MOST_LENT
            for output in [self.lent.get(one.view.storage)]
            if output
        ]
        counts = [
            self.array("Argument", f"arguments{name}", given),
            self.array("Result", f"given_back{name}", results),
            self.array("Lent", f"lent{name}", lent, "static"),
        ]
        library = f"&libraries[{self.libraries[step.library]}]"
        tables = [f"arguments{name}", f"given_back{name}", f"lent{name}"]
        return self._one("Call", name, ", ".join([library, f'"{step.function}"', *counts, *tables]))

    def _argument(self, name: str, one: Argument) -> str:
        if one.tensor is not None or one.tensors is not None:
            views = one.tensors if one.tensors is not None else [one.tensor] if one.tensor else []
            self.array("View", f"views{name}", map(self._view, views))
            kind = TENSORS if one.tensors is not None else TENSOR
            return f"{{{kind}, {len(views)}, views{name}, nullptr}}"
        if one.wholes is not None:
            count = self.array("int64_t", f"wholes{name}", map(_whole, one.wholes))
            return f"{{{WHOLES}, {count}, nullptr, wholes{name}}}"
        if one.reals is not None:
            numbers = [_real(float.fromhex(real)) for real in one.reals]
            count = self.array("double", f"reals{name}", numbers)
            return f"{{{REALS}, {count}, nullptr, reals{name}}}"
        if one.text is not None:
            count = self.array("uint8_t", f"text{name}", map(str, one.text.encode()))
            return f"{{{TEXT}, {count}, nullptr, text{name}}}"
        if one.real is not None:
            bits = struct.unpack("<q", struct.pack("<d", float.fromhex(one.real)))[0]
            return f"{{{REAL}, {_whole(bits)}, nullptr, nullptr}}"
        if one.truth is not None:
            return f"{{{TRUTH}, {int(one.truth)}, nullptr, nullptr}}"
        kind = LEFT_OUT if one.left_out else NONE if one.whole is None else WHOLE
        return f"{{{kind}, {_whole(one.whole or 0)}, nullptr, nullptr}}"

    def _result(self, one: Result | None) -> str:
        if one is None:
            return f"{{{NONE}, {{}}, -1}}"
        owner = self.numbers[one.view.storage] if one.view.storage in self.made else -1
        return f"{{{TENSOR}, {self._view(one.view)}, {owner}}}"

    def _view(self, one: View | None) -> str:
        if one is None:
            return "{{0, 0}, {nullptr, 0, -1, 0, 0, 0, -1, {}, {}}}"
        whole = [self.bytes[one.storage], -1, TYPES[one.dtype], 0, one.offset, len(one.shape)]
        dims = [f"{{{', '.join(map(str, some))}}}" for some in (one.shape, one.strides)]
        wire = ", ".join(["nullptr", *map(str, whole), *dims])
        return f"{{{self.place(Place(tensor=one.storage, offset=0))}, {{{wire}}}}}"


def program_of_calls(
    cases: Sequence[tuple[CaseSpec, Plan]], libraries: Sequence[str]
) -> tuple[str, bytes]:
    """C++ that plays the plan of the case that it is called for, with `kernelwright_call`, and its
    file of constants. Only functions of these libraries compute, in files as `library_file` names
    them, and where a plan calls it, PyTorch."""
    paths = [f"/scratch/{library_file(number)}" for number in range(len(libraries))]
    numbers = {name: number for number, name in enumerate((*libraries, TORCH))}
    lines, file = [*libraries_of(paths)], bytearray()
    for number, (spec, plan) in enumerate(cases):
        lines += Tables(number, spec, plan, file=file, libraries=numbers).written()
    return "\n".join([*lines, all_cases(len(cases), END_ROUND)]), bytes(file)


END_ROUND = "end_round(libraries, sizeof libraries / sizeof *libraries);"
"""What comes last where libraries were called."""


def libraries_of(paths: Sequence[str]) -> list[str]:
    """What calls functions, and the libraries that it finds them in: PyTorch's comes last."""
    rows = ", ".join(f'{{"{path}"}}' for path in (*paths, OPERATORS))
    return ['#include "call.h"', f"static Library libraries[] = {{{rows}}};"]


def library_file(number: int) -> str:
    """What the number-th library is called where it is played."""
    return f"extension{number}.so"


def all_cases(count: int, last: str = "") -> str:
    """C++ that replays the case it is called for, one of `count`."""
    every = ", ".join(f"case{number}" for number in range(count))
    return f"""static const Case cases[] = {{{every}}};
extern "C" __attribute__((visibility("default")))
void kernelwright_call(void* const* pointers, const int64_t* sizes, const double* scalars) {{
  play_case(cases, {count}, pointers, sizes, scalars);
  {last}
}}
"""


def mangled(name: str) -> str:
    """A name as letters, digits and underscores, no two of them alike."""
    return re.sub(r"[^A-Za-z0-9]", lambda found: f"_{ord(found[0]):x}_", name)


def _whole(value: int) -> str:
    """As C++ writes it: the least number has no literal of its own."""
    return "INT64_MIN" if value == -(1 << 63) else f"{value}ll"


def _real(value: float) -> str:
    if math.isnan(value):
        return '__builtin_nan("")'
    return f"{'-' if value < 0 else ''}__builtin_inf()" if math.isinf(value) else value.hex()
