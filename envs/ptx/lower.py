"""Lowers a kernel to basic blocks of C++ steps (emit.py prints them)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from kernelwright.envs.plan.device_code import kinds_of
from kernelwright.envs.ptx import (
    arithmetic,
    comparisons,
    conversions,
    fragments,
    lanes,
    memory,
)
from kernelwright.envs.ptx.handler import given, only
from kernelwright.envs.ptx.operands import Scope, Step
from kernelwright.envs.ptx.parse import Instruction, Kernel, Label, Module, NotEmulatedError
from kernelwright.envs.ptx.unset import unset_lanes

HANDLERS = {
    name: handler
    for part in (arithmetic, comparisons, conversions, memory, lanes, fragments)
    for name, handler in part.OPCODES.items()
}
BARRIERS = ("bar", "barrier")


@dataclass(slots=True)
class Basic:
    """A basic block: instructions that run one after another; `end` says how it goes on."""

    number: int
    steps: list[Step] = field(default_factory=list)
    end: str = "fall"
    """fall, bra, brx, exit, bar or trap."""
    targets: list[str] = field(default_factory=list)
    condition: tuple[str, bool] | None = None
    """(register, whether it is negated) of the lanes that the end is for."""
    index: str = ""
    site: int = 0
    votes: bool = False
    """Whether the barrier that it ends with counts predicates."""
    count: int = 0
    """Of its instructions."""
    kinds: Counter[str] = field(default_factory=Counter)
    """The same, by what a profiler calls them."""

    @property
    def meets(self) -> bool:
        return self.end == "bar" or any(step.meets for step in self.steps)


@dataclass(slots=True)
class Lowered:
    kernel: Kernel
    scope: Scope
    blocks: list[Basic]
    labels: dict[str, int]
    """Label → number of the block that it begins."""


def lower(module: Module, kernel: Kernel) -> Lowered:
    """Raises NotEmulatedError: an instruction that lacks an operand or a part is one of no kind."""
    try:
        return _lowered(module, kernel)
    except (LookupError, StopIteration) as error:
        raise NotEmulatedError(f"malformed code ({error})"[:80]) from None


def _lowered(module: Module, kernel: Kernel) -> Lowered:
    if module.replicates:
        unset_lanes(kernel)
    scope, targets = Scope(module, kernel), _targets(kernel)
    blocks, labels = [Basic(0)], dict[str, int]()

    def fresh() -> Basic:
        blocks.append(Basic(len(blocks)))
        return blocks[-1]

    for one in kernel.body:
        now = blocks[-1]
        if isinstance(one, Label):
            if one.name in targets:
                empty = not (now.count or now.steps) and now.end == "fall"
                labels[one.name] = now.number if empty else fresh().number
            continue
        now = now if now.end == "fall" else fresh()
        now.count += 1
        now.kinds.update(kinds_of(one.opcode))
        after = _ending(scope, now, one, kernel)
        if after is None:
            now.steps += _steps(scope, one)
        elif after:
            fresh().steps += after
    if blocks[-1].end == "fall":
        blocks[-1].end = "exit"
    if missing := targets - set(labels):
        raise NotEmulatedError(f"label {min(missing)[:40]}")
    return Lowered(kernel, scope, blocks, labels)


def _targets(kernel: Kernel) -> set[str]:
    found: set[str] = set()
    for one in kernel.statements:
        if one.parts[0] == "bra":
            found |= set(one.operands[-1:])
        elif one.parts[0] == "brx":
            found |= set(kernel.tables.get(one.operands[-1], ()))
    return found


def _steps(scope: Scope, one: Instruction) -> list[Step]:
    handler = lanes.warp_barrier if one.parts[0] in BARRIERS else HANDLERS.get(one.parts[0])
    if handler is None:
        raise NotEmulatedError(one.opcode)
    steps = handler(scope, one)
    if one.guard:
        scope.width(one.guard)
    for step in steps:
        step.guard, step.negated = one.guard, one.negated
        for register, _ in step.rows:
            scope.width(register)
    return steps


def _ending(scope: Scope, block: Basic, one: Instruction, kernel: Kernel) -> list[Step] | None:
    """None where the block goes on; else the steps that the next one begins with."""
    base = one.parts[0]
    if base in BARRIERS and one.parts[1:2] != ["warp"]:
        return _barrier(scope, block, one)
    if base not in ("bra", "brx", "ret", "exit", "trap", "brkpt"):
        return None
    only(one, "uni idx")
    if one.guard:
        scope.width(one.guard)
        block.condition = (one.guard, one.negated)
    if base == "bra":
        block.end, block.targets = "bra", list(given(one, 1))
    elif base == "brx":
        index, table = given(one, 2)
        scope.width(index)
        if table not in kernel.tables:
            raise NotEmulatedError(f"{one.opcode} {table[:40]}")
        block.end, block.index, block.targets = "brx", index, kernel.tables[table]
    elif base in ("ret", "exit"):
        block.end = "exit"
    else:
        block.end, block.site = "trap", scope.site(one)
    return []


def _barrier(scope: Scope, block: Basic, one: Instruction) -> list[Step]:
    """A whole block's; `bar.red` counts predicates on the way."""
    only(one, "sync red popc and or aligned cta")
    if one.guard:
        raise NotEmulatedError(f"@ {one.opcode}")
    block.end, block.site, block.votes = "bar", scope.site(one), "red" in one.parts
    if not block.votes:
        if not 0 <= len(one.operands) <= 1 or (
            one.operands and one.operands[0] not in ("0", "0x0")
        ):
            numbers = ", ".join(text for text in one.operands if text.isdigit())
            raise NotEmulatedError(f"{one.opcode} {numbers}"[:60].strip())
        return []
    to, number, asked = given(one, 3)
    if number != "0":
        raise NotEmulatedError(f"{one.opcode} {number[:20]}")
    p = scope.array()
    block.steps.append(Step(scope.reads(asked), call=f"vote(b, {p}, on_);"))
    block.steps[-1].inputs = [("u32", p, scope.value(asked, "pred"))]
    rules = {
        "popc": "voted(b).yes",
        "and": "voted(b).yes == voted(b).asked",
        "or": "voted(b).yes != 0",
    }
    how = next((part for part in one.parts if part in rules), "popc")
    kind = "b32" if how == "popc" else "pred"
    return [Step(set(), [scope.result(to, kind, rules[how])])]
