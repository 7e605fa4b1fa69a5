"""Emits basic blocks as C++ that runs a warp at a time (native/ptx/warp.h).

Plain arithmetic is one loop over 32 lanes, which the compiler turns into vectors; what reaches
memory or other lanes is a call on whole arrays. Arithmetic moves up before calls that it does not
depend on, so that loops are few and long. Registers that live across blocks lie in a structure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from kernelwright.envs.plan.device_code import INSTRUCTIONS
from kernelwright.envs.plan.tables import mangled
from kernelwright.envs.ptx.lower import Basic, Lowered
from kernelwright.envs.ptx.operands import HOLDS, Step, variable


@dataclass(frozen=True, slots=True)
class Row:
    """`register` or, without one, a `place` is given the expression, where the guard holds."""

    register: str
    place: str
    expression: str
    guard: str = ""
    reads: frozenset[str] = frozenset()


@dataclass(slots=True)
class Segment:
    """The arithmetic between two calls: one loop."""

    rows: list[Row] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)
    sets: set[str] = field(default_factory=set)
    early: set[str] = field(default_factory=set)
    """Registers that are read before they are set here."""

    def put(self, row: Row) -> None:
        self.early |= row.reads - self.sets
        self.uses |= row.reads
        self.rows.append(row)
        if row.register:
            if row.guard and row.register not in self.sets:
                self.early.add(row.register)
            self.sets.add(row.register)

    def parts(self) -> list[Segment]:
        """The same as loops that a compiler can still make vectors of."""
        if len(self.rows) <= MOST_ROWS:
            return [self]
        found = [Segment() for _ in range(0, len(self.rows), MOST_ROWS)]
        for number, row in enumerate(self.rows):
            found[number // MOST_ROWS].put(row)
        return found


MOST_ROWS = 256
"""Of a loop: what a compiler takes for one grows faster than its rows."""


class Segments:
    """A block's arithmetic, with each row moved up as far as its dependencies allow."""

    def __init__(self, block: Basic) -> None:
        self.all = [Segment(), *(Segment() for step in block.steps if step.call)]
        self.set_at: dict[str, int] = {}
        self.used_at: dict[str, int] = {}
        self.arrays: dict[str, str] = {}
        """Array, with its size perhaps → type."""
        self.lines: list[str] = []
        """Of the calls."""
        for step in block.steps:
            if step.call:
                self._call(step)
            else:
                self._put(self._after(0, step.needs, step.sets), _rows(step), step.needs)
        if block.condition:
            self._condition("taken_", block.condition[0])
        if block.index:
            self._condition("index_", block.index)

    def _after(self, least: int, reads: Iterable[str], sets: Iterable[str]) -> int:
        """The first segment in which this may stand."""
        found = [least, *(self.set_at.get(one, 0) for one in reads)]
        for one in sets:
            found += [self.set_at.get(one, 0), self.used_at.get(one, 0)]
        return max(found)

    def _put(self, at: int, rows: list[Row], reads: set[str]) -> None:
        segment = self.all[at]
        for name in reads:
            self.used_at[name] = max(self.used_at.get(name, 0), at)
        for row in rows:
            segment.put(replace(row, reads=frozenset(reads)))
            if row.register:
                self.set_at[row.register] = at

    def _call(self, step: Step) -> None:
        """What lanes fill for a call, the call, and what they read after it."""
        number, guard = len(self.lines), _guard(step)
        fills = []
        for c, name, expression in step.inputs:
            array, _, index = name.partition("@")
            self.arrays[array] = c
            fills.append(
                Row("", f"{array.partition('[')[0]}[{index}]" if index else array, expression)
            )
        on = "mask"
        if guard:
            array = f"g{number}_"
            self.arrays[array] = "u32"
            fills.append(Row("", array, f"{guard} ? 1u : 0u"))
            on = f"mask & taken({array})"
        self._put(min(self._after(0, step.needs, ()), number), fills, step.needs)
        for c, name in step.outputs:
            self.arrays[name] = c
        self.lines.append(f"{{ const u32 on_ = {on}; (void)on_; {step.call} }}")
        again = {step.guard} if guard else set()
        self._put(self._after(number + 1, again, step.sets), _rows(step), again)

    def _condition(self, array: str, register: str) -> None:
        self.arrays[array] = "u32"
        self._put(len(self.all) - 1, [Row("", array, f"(u32){variable(register)}")], {register})


def _guard(step: Step) -> str:
    """C++ that holds in the lanes that an instruction is for; "" for all."""
    if not step.guard:
        return ""
    return f"(({variable(step.guard)} & 1) {'==' if step.negated else '!='} 0)"


def _rows(step: Step) -> list[Row]:
    return [Row(register, "", text, _guard(step)) for register, text in step.rows]


def emit(lowered: Lowered) -> str:
    """A structure, a function and a description of one kernel."""
    kept, name = _kept(lowered.blocks), mangled(lowered.kernel.name)
    width = lowered.scope.registers
    lines = [f"struct R{name} {{"]
    lines += [f"  alignas(64) {HOLDS[width[one]]} {variable(one)}[32];" for one in sorted(kept)]
    lines += ["  u32 none;", "};", f"static int run{name}(Warp& w, Block& b) {{"]
    lines += [f"  R{name}& R = w.as_registers<R{name}>();"]
    lines += ["  u32 *const on = w.on, *const at = w.at; u64 turns = kTurns; u32 mask = 0;"]
    lines += ["  Launch& launch = *b.launch; (void)R, (void)on, (void)turns;"]
    table = ", ".join(f"&&B{one.number}" for one in lowered.blocks)
    meets = ", ".join(str(int(one.meets)) for one in lowered.blocks)
    lines += [f"  static void* const table[] = {{{table}}};"]
    lines += [f"  static const u8 meets[] = {{{meets}}};"]
    lines += ["next: {", "  const u32 ready = w.alive & ~w.blocked;"]
    lines += [
        "  if (!ready) return w.alive ? kAtBarrier : kDone;",
        "  if (!turns) return kYielded;",
    ]
    lines += ["  const u32 best = next_block(w, ready, meets);", "  mask = w.mask;"]
    lines += ["  goto *table[best];", "}"]
    for block in lowered.blocks:
        lines += _block(lowered, block, kept)
    lines += ["}", *_description(lowered)]
    return "\n".join(lines)


def _description(lowered: Lowered) -> Iterator[str]:
    name, scope = mangled(lowered.kernel.name), lowered.scope
    sites = ", ".join(f'"{_printed(str(one))}"' for one in scope.sites)
    yield f"static const char* const sites{name}[] = {{{sites or 'nullptr'}}};"
    facts = [
        f'"{_printed(lowered.kernel.name)}"',
        f"run{name}",
        f"sites{name}",
        len(scope.sites),
        f"(u32)sizeof(R{name})",
        scope.local_bytes,
        scope.shared_bytes,
        scope.shared_unit,
        scope.global_unit,
        "true" if scope.weak_order or (scope.fenced and scope.strong) else "false",
        "true" if scope.weak_order or scope.fenced_in_block else "false",
        "true" if scope.publishes else "false",
        "true" if scope.replicates else "false",
    ]
    yield f"static const Kernel kernel{name} = {{{', '.join(map(str, facts))}}};"


def _printed(text: str) -> str:
    """What may stand in a string of C++ and in a log: an answer wrote it."""
    return "".join(
        one if one.isascii() and (one.isalnum() or one in " %$_.,:+-[]{}|!@") else "."
        for one in text[:160]
    )


def _kept(blocks: list[Basic]) -> set[str]:
    """Registers that live across blocks, or are read before they are set in one."""
    seen: dict[str, set[int]] = {}
    exposed: set[str] = set()
    for block in blocks:
        known: set[str] = set()
        for step in block.steps:
            exposed |= step.needs - known
            if step.guard:
                exposed |= step.sets - known
            known |= step.sets
            for name in step.needs | step.sets:
                seen.setdefault(name, set()).add(block.number)
        for name in filter(None, [block.condition[0] if block.condition else "", block.index]):
            seen.setdefault(name, set()).add(block.number)
            exposed |= {name} - known
    return {name for name, some in seen.items() if len(some) > 1} | exposed


def _block(lowered: Lowered, block: Basic, kept: set[str]) -> list[str]:
    segments, holds = Segments(block), lowered.scope.registers
    parts = [segment.parts() for segment in segments.all]
    touched = Counter(name for some in parts for one in some for name in one.uses | one.sets)
    passed_on = {name for name, count in touched.items() if count > 1 and name not in kept}
    lines = [f"B{block.number}: {{"]
    lines += [f"  launch.spent += {max(block.count, 1)};", f"  {_counted(block)}"]
    for name, c in segments.arrays.items():
        array, bracket, size = name.partition("[")
        lines.append(f"  alignas(64) {c} {array}{bracket}{size}[32];")
    for name in sorted(passed_on):
        lines.append(f"  alignas(64) {HOLDS[holds[name]]} S{variable(name)}[32];")
    for number, some in enumerate(parts):
        for segment in some:
            if segment.rows:
                lines += _loop(segment, holds, kept, passed_on)
        if number < len(segments.lines):
            lines.append(f"  {segments.lines[number]}")
    return [*lines, *(f"  {line}" for line in _end(lowered, block)), "}"]


def _counted(block: Basic) -> str:
    """What a profiler counts of the block itself (native/ptx/counts.h)."""
    kinds = enumerate(block.kinds[name] for name in INSTRUCTIONS)
    parts = [f"counted.kinds[{i}] += {count};" for i, count in kinds if count]
    lanes = f"counted.lanes += {block.count}ull * __builtin_popcount(mask);"
    return " ".join([f"counted.instructions += {block.count}; {lanes}", *parts])


def _loop(
    segment: Segment, holds: dict[str, int], kept: set[str], passed_on: set[str]
) -> list[str]:
    lines = ["  LANES {"]
    for name in sorted(segment.uses | segment.sets):
        source = f" = R.{variable(name)}[l]" if name in kept else f" = S{variable(name)}[l]"
        start = source if name in segment.early and (name in kept or name in passed_on) else " = 0"
        lines.append(f"    {HOLDS[holds[name]]} {variable(name)}{start};")
    for row in segment.rows:
        if not row.register:
            lines.append(f"    {row.place}[l] = {row.expression};")
            continue
        name = variable(row.register)
        chosen = f"{row.guard} ? {row.expression} : {name}" if row.guard else row.expression
        lines.append(f"    {name} = {chosen};")
    for name in sorted(segment.sets):
        own = variable(name)
        if name in kept:
            lines.append(f"    R.{own}[l] = on[l] ? {own} : R.{own}[l];")
        elif name in passed_on:
            lines.append(f"    S{own}[l] = {own};")
    return [*lines, "  }"]


def _go(block: Basic, to: int) -> str:
    """On to a block with all lanes of the mask: at once where nobody else could go first."""
    left = f"EACH(mask) at[l] = {to};"
    if to <= block.number:
        return (
            f"--turns; if (mask == (w.alive & ~w.blocked) && turns) goto B{to}; {left} "
            "if (!turns) return kYielded; goto next;"
        )
    return f"if (mask == (w.alive & ~w.blocked)) goto B{to}; {left} goto next;"


def _end(lowered: Lowered, block: Basic) -> list[str]:
    """How a block goes on. The end of a condition's other lanes is the next block."""
    after = block.number + 1
    last = after == len(lowered.blocks)
    if block.end == "fall":
        return [_go(block, after)]
    if block.end == "brx":
        return _indexed(lowered, block)
    if block.end == "bra" and not block.condition:
        return [_go(block, lowered.labels[block.targets[0]])]
    lines = ["u32 yes = mask;"]
    if block.condition:
        lines = [f"const u32 yes = {'~' if block.condition[1] else ''}taken(taken_) & mask;"]
        if not last:
            lines.append(f"if (!yes) {{ {_go(block, after)} }}")
    rest = f"EACH(mask & ~yes) at[l] = {after};" if not last else "w.alive &= ~(mask & ~yes);"
    if block.end == "bra":
        to = lowered.labels[block.targets[0]]
        lines.append(f"if (yes == mask) {{ {_go(block, to)} }}")
        lines.append(f"EACH(yes) at[l] = {to}; {rest}")
        lines.append(
            "if (!--turns) return kYielded; goto next;" if to <= block.number else "goto next;"
        )
        return lines
    if block.end == "exit":
        return [*lines, f"w.alive &= ~yes; {rest} goto next;"]
    if block.end == "trap":
        return [
            *lines,
            f"if (yes) fail(kTrap, b, {block.site}, (u32)__builtin_ctz(yes), w.number, 0);",
            f"{rest} goto next;",
        ]
    return [
        *lines,
        f"if (w.blocked && w.barrier != {block.site}) "
        f"fail(kBarrierDivergence, b, {block.site}, (u32)__builtin_ctz(mask), w.number, 0);",
        f"w.barrier = {block.site}; w.votes = {int(block.votes)}; w.blocked |= yes;",
        f"EACH(mask) at[l] = {after}; goto next;",
    ]


def _indexed(lowered: Lowered, block: Basic) -> list[str]:
    targets = ", ".join(str(lowered.labels[one]) for one in block.targets)
    count = len(block.targets)
    on = "mask"
    if block.condition:
        on = f"({'~' if block.condition[1] else ''}taken(taken_) & mask)"
    return [
        f"static const u32 to_[] = {{{targets}}}; const u32 yes = {on};",
        f"EACH(mask) at[l] = {block.number + 1};",
        f"EACH(yes) at[l] = to_[index_[l] < {count} ? index_[l] : 0];",
        "if (!--turns) return kYielded; goto next;",
    ]
