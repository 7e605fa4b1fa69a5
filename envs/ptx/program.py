"""Recorded plans, one a case, and the PTX of their kernels, as one C++ file for the jail.

Code is translated once, plans are tables. What an answer wrote is read, never copied: names become
letters and digits, numbers are parsed and printed again, what is unknown is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.ptx.emit import emit
from kernelwright.envs.ptx.lower import lower
from kernelwright.envs.ptx.operands import mangled
from kernelwright.envs.ptx.parse import Kernel, Module, NotEmulatedError, OddPtxError, parse
from kernelwright.envs.replay.assemble import best_for
from kernelwright.envs.replay.plan import Copy, Fill, Launch, Place, Plan, is_empty, sizes_of

ARCHITECTURE = 80
"""Code for later ones may ask for what is not emulated: clusters, wgmma, bulk copies."""
MOST_PTX_BYTES = 4 << 20
MOST_LAUNCHES = 2_000
Cases = Sequence[tuple[CaseSpec, Plan]]


def program(cases: Cases) -> str:
    """C++ that plays the plan of the case that it is called for, with `kernelwright_call`.

    Raises NotEmulatedError, whose message names what cannot be run, and ValueError where a text is
    no PTX or a place is in no tensor.
    """
    modules = {code: parse(ptx) for code, ptx in _code(cases).items()}
    used = {(one.code, one.kernel) for _, plan in cases for one in plan.launches}
    if sum(len(plan.launches) for _, plan in cases) > MOST_LAUNCHES:
        raise NotEmulatedError("many_launches")
    names = {code: f"m{number}" for number, code in enumerate(modules)}
    lines = ['#include "plan.h"']
    known: dict[tuple[str, str], Kernel] = {}
    for code, module in modules.items():
        lines += [f"namespace {names[code]} {{", *_variables(module)]
        for kernel in module.kernels:
            if (code, kernel.name) in used:
                known[code, kernel.name] = kernel
                lines.append(emit(lower(module, kernel)))
        lines.append("}")
    lines += [*_globals(modules, names)]
    for number, (spec, plan) in enumerate(cases):
        lines += _Tables(number, spec, plan, known, names).lines()
    every = ", ".join(f"case{number}" for number in range(len(cases)))
    lines += [f"static const Case cases[] = {{{every}}};", _CALL]
    return "\n".join(lines) + "\n"


_CALL = """extern "C" __attribute__((visibility("default")))
void kernelwright_call(void* const* pointers, const s64* sizes, const double* scalars) {
  play_case(cases, sizeof cases / sizeof *cases, pointers, sizes, scalars, globals, global_count);
}"""


def _code(cases: Cases) -> dict[str, str]:
    """The PTX of each code that is launched."""
    found: dict[str, str] = {}
    for _, plan in cases:
        for code in {one.code for one in plan.launches} - set(found):
            kernel = best_for((one for one in plan.kernels if one.code == code), ARCHITECTURE)
            if len(kernel.ptx) > MOST_PTX_BYTES:
                raise NotEmulatedError("too_much_code")
            found[code] = kernel.ptx
    return found


def _kept(module: Module) -> Iterable[tuple[str, int, int, bytes, bool]]:
    """(C++ name, bytes, alignment, content, whether it may be written) of a module's variables."""
    for one in module.variables:
        if one.space in ("global", "const") and one.size_bytes:
            if one.size_bytes > 64 << 20:
                raise NotEmulatedError("large_variable")
            writable = one.space == "global"
            yield f"g_{mangled(one.name)}", one.size_bytes, one.align, one.content, writable


def _variables(module: Module) -> Iterable[str]:
    for name, size, align, content, _ in _kept(module):
        numbers = ", ".join(map(str, content[:size])) or "0"
        yield f"alignas({max(align, 16)}) static u8 {name}[{size}] = {{{numbers}}};"


def _globals(modules: dict[str, Module], names: dict[str, str]) -> Iterable[str]:
    rows = []
    for code, module in modules.items():
        for name, size, _, _, writable in _kept(module):
            at = f"(u64){names[code]}::{name}"
            rows.append(f'{{{at}, {at} + {size}, "a variable", {"true" if writable else "false"}}}')
    yield f"static const Region globals[] = {{{', '.join(rows) or '{0, 0, nullptr, false}'}}};"
    yield f"static const u32 global_count = {len(rows)};"


class _Tables:
    """One case's plan as tables of native/ptx/plan.h."""

    def __init__(
        self,
        number: int,
        spec: CaseSpec,
        plan: Plan,
        kernels: dict[tuple[str, str], Kernel],
        names: dict[str, str],
    ) -> None:
        self.number, self.spec, self.plan = number, spec, plan
        self.kernels, self.names = kernels, names
        self.bytes = sizes_of(plan, spec)
        self.numbers = {name: number for number, name in enumerate(self.bytes)}

    def lines(self) -> list[str]:
        n, spec, plan = self.number, self.spec, self.plan
        sizes = [str(one) for one in spec.sizes]
        scalars = [_scalar(float(value)) for _, value in spec.scalars]
        writable = {one.name for one in spec.outputs} | set(plan.buffers)
        tensors = []
        for name, size in self.bytes.items():
            how = f"{_bool(name in writable)}, {_bool(name not in plan.buffers)}"
            tensors.append(f'{{"{mangled(name)}", {size}, {how}}}')
        lines: list[str] = []
        steps = [self._step(i, one, lines) for i, one in enumerate(plan.steps) if not is_empty(one)]
        results = plan.outputs or [Place(tensor=one.name, offset=0) for one in spec.outputs]
        to = [self._place(Place(tensor=one.name, offset=0)) for one in spec.outputs]
        sizes_out = [str(one.size_bytes) for one in spec.outputs]
        for one, wanted in zip(results, spec.outputs, strict=True):
            if one.offset + wanted.size_bytes > self.bytes[one.tensor]:
                raise ValueError("an output lies outside its tensor")
        lines += [
            _array("s64", f"sizes{n}", sizes),
            _array("double", f"scalars{n}", scalars),
            _array("Tensor", f"tensors{n}", tensors),
            _array("Step", f"steps{n}", steps),
            _array("Place", f"to{n}", to),
            _array("Place", f"from{n}", [self._place(one) for one in results]),
            _array("u64", f"bytes{n}", sizes_out),
        ]
        counts = [len(sizes), len(scalars), len(tensors), len(steps), len(to)]
        parts = [
            f"{one}{n}" for one in ("sizes", "scalars", "tensors", "steps", "to", "from", "bytes")
        ]
        lines.append(f"static const Case case{n} = {{{', '.join([*map(str, counts), *parts])}}};")
        return lines

    def _place(self, place: Place) -> str:
        return f"{{{self.numbers[place.tensor]}, {place.offset}ull}}"

    def _step(self, number: int, step: Launch | Fill | Copy, lines: list[str]) -> str:
        if isinstance(step, Copy):
            to, source = self._place(step.to), self._place(step.source)
            return _step_row("kCopy", to=to, source=source, bytes_=step.bytes)
        if isinstance(step, Fill):
            pattern = f"pattern{self.number}_{number}"
            content = bytes.fromhex(step.fill)
            lines.append(_array("u8", pattern, [str(one) for one in content]))
            where = self._place(step.at)
            return _step_row(
                "kFill", to=where, bytes_=step.bytes, pattern=pattern, width=len(content)
            )
        return self._launch(number, step, lines)

    def _launch(self, number: int, step: Launch, lines: list[str]) -> str:
        kernel = self.kernels.get((step.code, step.kernel))
        if kernel is None:
            raise OddPtxError(f"no kernel {step.kernel[:80]}")
        if step.cluster > 1:
            raise NotEmulatedError("cluster")
        if len(step.arguments) > len(kernel.parameters):
            raise OddPtxError(f"{step.kernel[:80]} takes fewer arguments")
        x, y, z = step.block
        if not 0 < x * y * z <= 1024 or max(step.grid[1:]) > 65535:
            raise OddPtxError(f"no launch is of {step.grid} blocks of {step.block} threads")
        rows = []
        for i, (one, parameter) in enumerate(zip(step.arguments, kernel.parameters, strict=False)):
            if isinstance(one, Place):
                rows.append(f"{{{parameter.offset}, 8, nullptr, {self._place(one)}}}")
                continue
            content = bytes.fromhex(one)[: parameter.size_bytes]
            name = f"content{self.number}_{number}_{i}"
            lines.append(_array("u8", name, [str(byte) for byte in content]))
            rows.append(f"{{{parameter.offset}, {len(content)}, {name}, {{0, 0}}}}")
        arguments = f"arguments{self.number}_{number}"
        lines.append(_array("Argument", arguments, rows))
        size = max((one.offset + one.size_bytes for one in kernel.parameters), default=0)
        if size > 4096:
            raise NotEmulatedError("large_parameters")
        own = f"&{self.names[step.code]}::kernel{mangled(kernel.name)}"
        return _step_row("kRun", launch=(own, step, size, len(rows), arguments))


def _step_row(
    what: str,
    *,
    to: str = "{0, 0}",
    source: str = "{0, 0}",
    bytes_: int = 0,
    pattern: str = "nullptr",
    width: int = 1,
    launch: tuple[str, Launch, int, int, str] | None = None,
) -> str:
    parts = ["nullptr", "{1, 1, 1}", "{1, 1, 1}", "0", "0", "0", "nullptr"]
    if launch:
        kernel, step, size, count, arguments = launch
        grid, block = (f"{{{', '.join(map(str, one))}}}" for one in (step.grid, step.block))
        parts = [kernel, grid, block, str(step.shared_bytes), str(size), str(count), arguments]
    return f"{{{', '.join([what, *parts, to, source, f'{bytes_}ull', pattern, str(width)])}}}"


def _array(c: str, name: str, rows: Sequence[str]) -> str:
    return f"static const {c} {name}[] = {{{', '.join(rows) or '{}'}}};"


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _scalar(value: float) -> str:
    if math.isnan(value):
        return '__builtin_nan("")'
    return f"{'-' if value < 0 else ''}__builtin_inf()" if math.isinf(value) else value.hex()
