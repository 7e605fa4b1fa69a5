"""Inlines device functions that a compiler did not inline, so that no kernel contains a call."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import replace

from kernelwright.envs.ptx.parse import (
    MOST_REGISTERS,
    MOST_STATEMENTS,
    NAME,
    Function,
    Instruction,
    Kernel,
    Label,
    Module,
    NotEmulatedError,
    OddPtxError,
)

MOST_NESTED = 16
"""Calls within calls: recursion has no end here."""
MOST_COPIED = 4 << 20
"""Letters, names and statements of functions that are put in place of calls, in a module."""


def inline_calls(module: Module, used: Container[str]) -> None:
    """Puts the bodies of the functions that these kernels call in place of the calls.

    Raises NotEmulatedError where that is more than anybody needs.
    """
    budget = _Budget({name: _cost(one.body) for name, one in module.functions.items()})
    for kernel in module.kernels:
        if kernel.name in used:
            body, kernel.body = kernel.body, []
            _Inlining(module, kernel, budget).expand(body, MOST_NESTED)


def _cost(body: Kernel) -> int:
    """What a copy of it takes."""
    tables = sum(map(len, body.tables.values()))
    letters = sum(len(one.opcode) + sum(map(len, one.operands)) for one in body.statements)
    return 32 + letters + tables + len(body.body) + len(body.registers) + len(body.variables)


class _Budget:
    """What may still be copied, whoever asks."""

    def __init__(self, costs: dict[str, int]) -> None:
        self.costs, self.left = costs, MOST_COPIED

    def spend(self, function: str) -> None:
        self.left -= self.costs[function]
        if self.left < 0:
            raise NotEmulatedError("too_much_code")


class _Inlining:
    """One kernel, to whose body statements are added."""

    def __init__(self, module: Module, kernel: Kernel, budget: _Budget) -> None:
        self.module, self.kernel, self.budget = module, kernel, budget
        self.calls = 0
        self.declared: set[str] = set()
        """Variables of functions."""

    def expand(self, body: list[Instruction | Label], depth: int) -> None:
        for one in body:
            if len(self.kernel.body) > MOST_STATEMENTS:
                raise NotEmulatedError("too_much_code")
            called = self._called(one)
            if called is None:
                self.kernel.body.append(one)
            elif depth == 0:
                raise NotEmulatedError("recursion")
            else:
                self._inline(*called, depth)

    def _called(self, one: Instruction | Label) -> tuple[Instruction, Function, list[str]] | None:
        """(the call, the function, what it is given: results first)."""
        if isinstance(one, Label) or one.parts[0] != "call":
            return None
        lists = [text for text in one.operands if text.startswith("(")]
        name = next((text for text in one.operands if not text.startswith("(")), "")
        if name not in self.module.functions:
            return None
        function = self.module.functions[name]
        given = [part.strip() for text in lists for part in text.strip("()").split(",")]
        given = [part for part in given if part]
        if len(given) != len(function.formals):
            raise OddPtxError(f"{name[:80]} is given {len(given)}")
        return one, function, given

    def _inline(self, call: Instruction, function: Function, given: list[str], depth: int) -> None:
        self.calls += 1
        self.budget.spend(function.body.name)
        kernel, body = self.kernel, function.body
        end, suffix = f"@end{self.calls}", f"@call{self.calls}"
        names = dict(zip(function.formals, given, strict=True))
        for one in body.variables:
            # What a block shares is there once, whoever calls.
            once = one.space == "shared"
            names[one.name] = f"{one.name}@of.{body.name}" if once else one.name + suffix
            if names[one.name] not in self.declared:
                self.declared.add(names[one.name])
                kernel.variables.append(replace(one, name=names[one.name]))
        own_names = [*body.registers, *body.tables]
        own_names += [one.name for one in body.body if isinstance(one, Label)]
        names |= {name: name + suffix for name in own_names}
        kernel.registers |= {names[name]: bits for name, bits in body.registers.items()}
        kernel.tables |= {
            names[name]: [names.get(one, one) for one in labels]
            for name, labels in body.tables.items()
        }
        if max(len(kernel.registers), len(kernel.tables), len(self.declared)) > MOST_REGISTERS:
            raise NotEmulatedError("too_many_registers")
        if call.guard:
            kernel.body.append(Instruction("bra", (end,), call.guard, not call.negated))
        self.expand(list(_renamed(body.body, lambda name: names.get(name, name), end)), depth - 1)
        kernel.body.append(Label(end))


def _renamed(
    body: list[Instruction | Label], name_of: Callable[[str], str], end: str
) -> Iterator[Instruction | Label]:
    """A body under other names, which goes on behind itself instead of returning."""
    for one in body:
        if isinstance(one, Label):
            yield Label(name_of(one.name))
        elif one.parts[0] == "ret":
            yield Instruction("bra", (end,), name_of(one.guard), one.negated)
        else:
            operands = tuple(NAME.sub(lambda found: name_of(found[0]), o) for o in one.operands)
            yield replace(one, operands=operands, guard=name_of(one.guard))
