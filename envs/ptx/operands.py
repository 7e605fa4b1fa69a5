"""Translates PTX operands to C++: registers, numbers, addresses, vectors of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from kernelwright.envs.plan.tables import mangled
from kernelwright.envs.ptx.parse import (
    BITS,
    NAME,
    Instruction,
    Kernel,
    Module,
    NotEmulatedError,
    Variable,
)

HOLDS = {1: "u32", 8: "u8", 16: "u16", 32: "u32", 64: "u64"}
"""Bits of a register → the C++ type that holds them for one lane."""
READS = {"f32": "f32", "tf32": "f32", "f64": "f64", "f16": "h2f", "bf16": "b2f"}
"""Type → what makes a number of its bits; the halves are computed with as floats."""
WRITES = {"f32": "bits", "tf32": "bits", "f64": "bits64", "f16": "f2h", "bf16": "f2b"}
FLOATS = frozenset(READS)
SPACES = ("global", "shared", "local", "param", "const")
UNSET = "%unset"
"""An operand of our own: what is in a register that nobody set, which changes with the round."""
VALUES = "v_"
"""The prefix of a register's name in C++."""

_BLOCK = "b.launch->block[0] * b.launch->block[1] * b.launch->block[2]"
SPECIAL = {f"%tid.{axis}": f"w.tid_{axis}[l]" for axis in "xyz"}
SPECIAL |= {f"%ntid.{axis}": f"b.launch->block[{i}]" for i, axis in enumerate("xyz")}
SPECIAL |= {f"%nctaid.{axis}": f"b.launch->grid[{i}]" for i, axis in enumerate("xyz")}
SPECIAL |= {f"%ctaid.{axis}": f"b.index[{i}]" for i, axis in enumerate("xyz")}
SPECIAL |= {f"%{one}.{axis}": "0u" for one in ("cluster_ctaid", "clusterid") for axis in "xyz"}
SPECIAL |= {f"%cluster_nctaid.{axis}": "1u" for axis in "xyz"}
SPECIAL |= {
    "%laneid": "(u32)l",
    "%warpid": "w.number",
    "%nwarpid": f"(({_BLOCK} + 31) / 32)",
    "%smid": "0u",
    "%nsmid": "1u",
    "%gridid": "0ull",
    "%clock": "(u32)w.turns",
    "%clock64": "(u64)w.turns",
    "%globaltimer": "(u64)w.turns",
    "WARP_SZ": "32u",
    "%lanemask_eq": "(1u << l)",
    "%lanemask_lt": "((1u << l) - 1)",
    "%lanemask_le": "((2u << l) - 1)",
    "%lanemask_gt": "~((2u << l) - 1)",
    "%lanemask_ge": "~((1u << l) - 1)",
    "%cluster_ctarank": "0u",
    "%cluster_nctarank": "1u",
    "%dynamic_smem_size": "b.launch->shared_bytes",
    "%total_smem_size": "(u32)b.shared_bytes",
    UNSET: "b.unset",
}

INTEGER = re.compile(r"-?\s*(?:0[xX][0-9a-fA-F]+|\d+)U?")
_FLOAT_BITS = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")
_DECIMAL = re.compile(r"-?\d*\.\d+(?:[eE][-+]?\d{1,4})?|-?\d+\.")
_ADDRESS = re.compile(r"([%\w$.@]+)\s*(?:([+-])\s*(-?(?:0[xX][0-9a-fA-F]+|\d+)))?")


@dataclass(slots=True)
class Step:
    """One instruction: `rows` are (register, C++ for its bits) of a lane.

    With a `call`, which all lanes share, lanes fill the arrays of `inputs` before it, as (type,
    array, expression), and `rows` read those of `outputs` after it.
    """

    reads: set[str]
    rows: list[tuple[str, str]] = field(default_factory=list)
    call: str = ""
    inputs: list[tuple[str, str, str]] = field(default_factory=list)
    outputs: list[tuple[str, str]] = field(default_factory=list)
    guard: str = ""
    negated: bool = False
    meets: bool = False
    """Whether lanes of a warp look at each other: they should have met before."""

    @property
    def needs(self) -> set[str]:
        """What it reads, its guard among it."""
        return self.reads | ({self.guard} if self.guard else set())

    @property
    def sets(self) -> set[str]:
        return {register for register, _ in self.rows}


def ctype(kind: str) -> str:
    """The C++ integer that has a type's bits, and its sign.

    >>> ctype("s8"), ctype("b32"), ctype("f16")
    ('s8', 'u32', 'u16')
    """
    return f"{'s' if kind[0] == 's' else 'u'}{max(BITS[kind], 8)}"


class Scope:
    """The names of one kernel, and the declarations that its C++ needs besides its instructions."""

    def __init__(self, module: Module, kernel: Kernel) -> None:
        self.kernel = kernel
        self.registers = dict(kernel.registers)
        self.parameters = {one.name: one.offset for one in kernel.parameters}
        self.sites: list[Instruction] = []
        self.arrays = 0
        self.shared_bytes = self.local_bytes = 0
        self.shared_unit = 4
        """The smallest access to shared memory, in bytes."""
        self.global_unit = 16
        """The smallest access to global memory, in bytes."""
        self.weak_order = self.fenced = self.strong = False
        """Whether warps may agree in ways that no barrier shows, so that a race is a warning: by
        what they do in shared memory, or by a fence and what is strong anywhere."""
        self.fenced_in_block = False
        """Whether a fence or an atomic of shared memory may order what warps do in global memory,
        which is not looked at."""
        self.publishes = False
        """Whether there is a fence between blocks, by itself or in a release."""
        self.replicates = module.replicates
        self.symbols = self._places([*module.variables, *kernel.variables])

    def _places(self, variables: Iterable[Variable]) -> dict[str, tuple[str, int]]:
        found: dict[str, tuple[str, int]] = {}
        dynamic = []
        used = {
            word for one in self.kernel.statements for word in NAME.findall(" ".join(one.operands))
        }
        for one in variables:
            if one.space == "shared" and one.name in used:
                if one.size_bytes is None:
                    dynamic.append(one)
                    continue
                self.shared_bytes = _aligned(self.shared_bytes, one.align)
                found[one.name] = ("shared", self.shared_bytes)
                self.shared_bytes += one.size_bytes
            elif one.space in ("local", "param"):
                self.local_bytes = _aligned(self.local_bytes, max(one.align, 16))
                found[one.name] = ("local", self.local_bytes)
                self.local_bytes += one.size_bytes or 0
            elif one.space in ("global", "const"):
                found[one.name] = ("global", 0)
        self.shared_bytes = _aligned(self.shared_bytes, max([16, *(one.align for one in dynamic)]))
        self.local_bytes = _aligned(self.local_bytes, 16)
        return found | {one.name: ("shared", self.shared_bytes) for one in dynamic}

    # -- what an operand is ---------------------------------------------------------------------
    def kind(self, one: Instruction) -> str:
        """The last type among an opcode's parts."""
        kinds = [part for part in one.parts if part in BITS]
        if not kinds or kinds[-1] == "b128":
            raise NotEmulatedError(one.opcode)
        return kinds[-1]

    def reads(self, *texts: str) -> set[str]:
        return {name for text in texts for name in NAME.findall(text) if name in self.registers}

    def width(self, register: str) -> int:
        """A register's bits."""
        if register not in self.registers:
            raise NotEmulatedError(f"register {register}")
        return self.registers[register]

    def value(self, text: str, kind: str) -> str:
        """C++ for an operand as a number of this type: float, double, or an integer."""
        if text[:1] == "!":
            return f"(!{self.value(text[1:].strip(), kind)})"
        if text[:1] == "-" and text[1:].strip() in self.registers:
            return f"(-{self.value(text[1:].strip(), kind)})"
        if kind == "pred":
            return f"({self.bits(text, kind)} & 1u)"
        if kind in READS:
            if _DECIMAL.fullmatch(text):
                return f"{READS[kind]}({WRITES[kind]}({text}))"
            return f"{READS[kind]}(({ctype(kind)}){self.bits(text, kind)})"
        return f"(({ctype(kind)}){self.bits(text, kind)})"

    def bits(self, text: str, kind: str) -> str:
        """C++ for an operand's bits, whatever they mean; at least as many as the type has."""
        if text in self.registers:
            return variable(text)
        if text in SPECIAL:
            return SPECIAL[text]
        if found := _FLOAT_BITS.fullmatch(text):
            if found[1] and kind == "f64":
                return f"bits64((double)f32(0x{found[1]}u))"
            return f"0x{found[1]}u" if found[1] else f"0x{found[2]}ull"
        if INTEGER.fullmatch(text):
            number = int(text.replace(" ", "").rstrip("U"), 0)
            return f"{number % (1 << 64)}ull" if BITS[kind] == 64 else f"{number % (1 << 32)}u"
        if _DECIMAL.fullmatch(text) and kind in WRITES:
            return f"{WRITES[kind]}({text})"
        if kind == "pred" and text in ("true", "false"):
            return "1u" if text == "true" else "0u"
        return self.place(text)

    def place(self, text: str) -> str:
        """C++ for the address that a name is, with a number behind it perhaps."""
        found = _ADDRESS.fullmatch(text)
        if found is None:
            raise NotEmulatedError(f"operand {text[:40]}")
        name, add = found[1], _offset(found)
        if name in self.parameters:
            return f"((u64)b.launch->parameters + {self.parameters[name] + add})"
        if name not in self.symbols:
            raise NotEmulatedError(f"symbol {name[:40]}")
        space, offset = self.symbols[name]
        return f"((u64)g_{mangled(name)} + {add})" if space == "global" else f"{offset + add}u"

    def address(self, text: str, space: str) -> tuple[str, set[str]]:
        """(C++ for `[text]`, the registers in it). An address in 32 bits wraps there."""
        inner = text.strip().removeprefix("[").removesuffix("]").strip()
        found = _ADDRESS.fullmatch(inner)
        if found is None:
            raise NotEmulatedError(f"address {text[:40]}")
        name, add = found[1], _offset(found)
        whole = "u32" if space == "shared" else "u64"
        if name in self.registers:
            near = "u32" if space == "local" and self.registers[name] == 32 else whole
            plus = f" + ({near}){add % (1 << (32 if near == 'u32' else 64))}ull" if add else ""
            return f"({whole})({near})(({near}){variable(name)}{plus})", {name}
        if INTEGER.fullmatch(name):
            return f"({whole}){(int(name, 0) + add) % (1 << 32)}ull", set()
        return f"({whole}){self.place(inner)}", set()

    # -- what an instruction leaves ------------------------------------------------------------
    def result(self, register: str, kind: str, expression: str) -> tuple[str, str]:
        """(register, the bits that it holds) of a number of this type."""
        holds = HOLDS[self.width(register)]
        if kind in WRITES:
            return register, f"({holds}){WRITES[kind]}({expression})"
        if kind == "pred":
            return register, f"(({expression}) ? 1u : 0u)"
        return register, f"({holds})({ctype(kind)})({expression})"

    def site(self, one: Instruction) -> int:
        """The number under which a fault names this instruction."""
        self.sites.append(one)
        return len(self.sites) - 1

    def array(self) -> str:
        """The name of 32 places that lanes fill for a call."""
        self.arrays += 1
        return f"a{self.arrays}"


def variable(register: str) -> str:
    """What a register is called in C++."""
    return VALUES + mangled(register)


def vector(text: str) -> list[str]:
    """The parts of `{a, b}`, or the one that it is."""
    if not text.startswith("{"):
        return [text]
    return [one.strip() for one in text.removeprefix("{").removesuffix("}").split(",")]


def space_of(one: Instruction) -> str:
    """The memory that an instruction names; constants lie with the rest, and "" is any."""
    for part in one.parts[1:]:
        name = part.partition("::")[0]
        if part == "shared::cluster":
            raise NotEmulatedError(one.opcode)
        if name in SPACES:
            return "global" if name == "const" else name
    return ""


def _aligned(offset: int, align: int) -> int:
    return -(-offset // align) * align


def _offset(found: re.Match[str]) -> int:
    return int(found[3] or "0", 0) * (-1 if found[2] == "-" else 1)
