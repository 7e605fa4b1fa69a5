"""Recorded plans, one a case, and the PTX of their kernels, as one C++ file for the jail.

Code is translated once, plans are tables. What an answer wrote is read, never copied: names become
letters and digits, numbers are parsed and printed again, what is unknown is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.ptx.emit import emit
from kernelwright.envs.ptx.functions import inline_calls
from kernelwright.envs.ptx.lower import lower
from kernelwright.envs.ptx.parse import Kernel, Module, NotEmulatedError, OddPtxError, parse
from kernelwright.envs.replay.assemble import best_for
from kernelwright.envs.replay.plan import Plan, Variable
from kernelwright.envs.replay.steps import TORCH, Launch, Place, Struct
from kernelwright.envs.replay.tables import (
    END_ROUND,
    Tables,
    all_cases,
    libraries_of,
    mangled,
)

ARCHITECTURE = 80
"""Code for later ones may ask for what is not emulated: clusters, wgmma, bulk copies."""
MOST_PTX_BYTES = 4 << 20
MOST_LAUNCHES = 2_000
MOST_STATEMENTS = 30_000
"""Of all kernels that are launched, with what they call: g++ takes about a second for 1,500."""
Cases = Sequence[tuple[CaseSpec, Plan]]


def program(cases: Cases) -> tuple[str, bytes]:
    """C++ that plays the plan of the case that it is called for, with `kernelwright_call`, and its
    file of constants.

    Raises NotEmulatedError, whose message names what cannot be run, and ValueError where a text is
    no PTX or a place is in no tensor.
    """
    modules = {code: parse(ptx) for code, ptx in _code(cases).items()}
    used = {(one.code, one.kernel) for _, plan in cases for one in plan.all_launches}
    for code, module in modules.items():
        inline_calls(module, {kernel for of, kernel in used if of == code})
    if sum(len(plan.all_launches) for _, plan in cases) > MOST_LAUNCHES:
        raise NotEmulatedError("many_launches")
    bodies = (one for code, it in modules.items() for one in it.kernels if (code, one.name) in used)
    if sum(len(one.body) for one in bodies) > MOST_STATEMENTS:
        raise NotEmulatedError("too_much_code")
    names = {code: f"m{number}" for number, code in enumerate(modules)}
    asks_torch = any(plan.asks_torch for _, plan in cases)
    lines = [*(libraries_of([]) if asks_torch else []), '#include "launch.h"']
    known: dict[tuple[str, str], Kernel] = {}
    for code, module in modules.items():
        lines += [f"namespace {names[code]} {{", *_variables(module)]
        for kernel in module.kernels:
            if (code, kernel.name) in used:
                known[code, kernel.name] = kernel
                lines.append(emit(lower(module, kernel)))
        lines.append("}")
    lines += [*_globals(modules, names)]
    file, launched = bytearray(), _launched(known, names)
    for number, (spec, plan) in enumerate(cases):
        variables = {name: _variable(modules, names, one) for name, one in plan.variables.items()}
        tables = Tables(
            number,
            spec,
            plan,
            file=file,
            launched=launched,
            libraries={TORCH: 0},
            variables=variables,
        )
        lines += tables.written()
    last = f"tell_counts(); {END_ROUND}" if asks_torch else "tell_counts();"
    return "\n".join([*lines, all_cases(len(cases), last)]), bytes(file)


def _code(cases: Cases) -> dict[str, str]:
    """The PTX of each code that is launched."""
    found: dict[str, str] = {}
    for _, plan in cases:
        for code in {one.code for one in plan.all_launches} - set(found):
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


def _variable(modules: dict[str, Module], names: dict[str, str], wanted: Variable) -> str:
    """What a variable is called in C++, if the code has it so large."""
    for name, size, _, _, _ in _kept(modules[wanted.code]) if wanted.code in modules else ():
        if name == f"g_{mangled(wanted.symbol)}" and size == wanted.bytes:
            return f"{names[wanted.code]}::{name}"
    raise OddPtxError(f"no variable {wanted.symbol[:80]}")


def _globals(modules: dict[str, Module], names: dict[str, str]) -> Iterable[str]:
    rows = []
    for code, module in modules.items():
        for name, size, _, _, writable in _kept(module):
            at = f"(u64){names[code]}::{name}"
            rows.append(f'{{{at}, {at} + {size}, "a variable", {"true" if writable else "false"}}}')
    yield f"extern const Region globals[] = {{{', '.join(rows) or '{0, 0, nullptr, false}'}}};"
    yield f"extern const u32 global_count = {len(rows)};"


def _launched(
    kernels: dict[tuple[str, str], Kernel], names: dict[str, str]
) -> Callable[[Tables, int, Launch], str]:
    """How a launch of these kernels becomes tables (native/ptx/launch.h)."""

    def launched(to: Tables, number: int, step: Launch) -> str:
        kernel = _fits(kernels.get((step.code, step.kernel)), step)
        suffix, rows = f"{to.number}_{number}", []
        for i, (one, parameter) in enumerate(zip(step.arguments, kernel.parameters, strict=False)):
            if isinstance(one, Place):
                rows.append(f"{{{parameter.offset}, 8, nullptr, {to.place(one)}}}")
                continue
            text = one.bytes if isinstance(one, Struct) else one
            content = bytes.fromhex(text)[: parameter.size_bytes]
            to.array("u8", f"content{suffix}_{i}", map(str, content))
            at = f"{parameter.offset}, {len(content)}, content{suffix}_{i}"
            rows.append(f"{{{at}, {{0, 0}}}}")
            for pointer in one.pointers if isinstance(one, Struct) else ():
                inside = parameter.offset + pointer.at
                if pointer.at + 8 <= parameter.size_bytes:
                    rows.append(f"{{{inside}, 8, nullptr, {to.place(pointer.place)}}}")
        count = to.array("Parameter", f"arguments{suffix}", rows)
        grid, block = (f"{{{', '.join(map(str, one))}}}" for one in (step.grid, step.block))
        own = f"&{names[step.code]}::kernel{mangled(kernel.name)}"
        parts = [own, grid, block, step.shared_bytes, kernel.parameter_bytes, count]
        row = ", ".join(map(str, [*parts, f"arguments{suffix}"]))
        to.lines.append(f"static const Run step{suffix} = {{{row}}};")
        return f"step{suffix}"

    return launched


def _fits(kernel: Kernel | None, step: Launch) -> Kernel:
    """The kernel, if it can be launched so."""
    if kernel is None:
        raise OddPtxError(f"no kernel {step.kernel[:80]}")
    if step.cluster > 1:
        raise NotEmulatedError("cluster")
    if len(step.arguments) > len(kernel.parameters):
        raise OddPtxError(f"{step.kernel[:80]} takes fewer arguments")
    x, y, z = step.block
    if not 0 < x * y * z <= 1024 or max(step.grid[1:]) > 65535:
        raise OddPtxError(f"no launch is of {step.grid} blocks of {step.block} threads")
    if kernel.parameter_bytes > 4096:
        raise NotEmulatedError("large_parameters")
    return kernel
