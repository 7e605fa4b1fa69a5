"""Parses PTX text into kernels with parameters, registers, variables and a flat list of
instructions.

The text is an answer's: nothing here recurses with it, and everything that is unknown is refused.
Source: NVIDIA, Parallel Thread Execution ISA 8.7, chapters 4 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kernelwright.envs.plan.ptx_text import statements_of

BITS = {"pred": 1, "b8": 8, "b16": 16, "b32": 32, "b64": 64, "b128": 128}
BITS |= {f"{kind}{bits}": bits for kind in "su" for bits in (8, 16, 32, 64)}
BITS |= {"f16": 16, "f32": 32, "f64": 64, "bf16": 16, "f16x2": 32, "bf16x2": 32, "tf32": 32}
"""Type → its bits."""

MOST_STATEMENTS, MOST_REGISTERS, MOST_SCOPES, DEEPEST = 100_000, 50_000, 20_000, 64
MOST_HEAD = 1 << 16
"""Letters of a kernel's name and parameters."""


class OddPtxError(ValueError):
    """Text that is no PTX."""


class NotEmulatedError(Exception):
    """PTX that nothing here can run: the message is the opcode's or the feature's name."""


@dataclass(frozen=True, slots=True)
class Variable:
    """Memory with a name; `size_bytes` None is as much shared memory as the launch says."""

    name: str
    space: str
    align: int
    size_bytes: int | None
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Instruction:
    """`@guard opcode operands;`"""

    opcode: str
    operands: tuple[str, ...]
    guard: str = ""
    negated: bool = False

    @property
    def parts(self) -> list[str]:
        return self.opcode.split(".")

    def __str__(self) -> str:
        guard = f"@{'!' * self.negated}{self.guard} " if self.guard else ""
        return f"{guard}{self.opcode} {', '.join(self.operands)}".strip()


@dataclass(frozen=True, slots=True)
class Label:
    name: str


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    offset: int
    size_bytes: int


@dataclass(slots=True)
class Kernel:
    """An entry. Names declared in a scope of their own, as in inline assembly, are `NAME@SCOPE`."""

    name: str
    parameters: list[Parameter]
    body: list[Instruction | Label] = field(default_factory=list)
    registers: dict[str, int] = field(default_factory=dict)
    """name → bits"""
    variables: list[Variable] = field(default_factory=list)
    tables: dict[str, list[str]] = field(default_factory=dict)
    """Labels that an indexed branch may go to, by the table's name."""

    @property
    def statements(self) -> list[Instruction]:
        """Its body without labels."""
        return [one for one in self.body if isinstance(one, Instruction)]

    @property
    def parameter_bytes(self) -> int:
        return max((one.offset + one.size_bytes for one in self.parameters), default=0)


@dataclass(slots=True)
class Function:
    """A device function that kernels call: its body, and its own variables for results and
    arguments."""

    body: Kernel
    formals: list[str]
    """Results first."""


@dataclass(slots=True)
class Module:
    kernels: list[Kernel] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    replicates: bool = False
    """Whether several warps may compute what one of them stores: it is Triton's."""


_FUNCTION = re.compile(
    r"\s*((?:\.(?:visible|weak|extern|common)\s+)*)\.(entry|func)\b([^{;]*)([{;])"
)
_CLUSTER = re.compile(r"\.reqnctapercluster\s+(?:1\s*,\s*)*(?!1\b)\d")
"""Of a kernel whose blocks run in clusters of more than one."""
_STATEMENT = re.compile(r"\s*\.section\b[^{};]*\{[^{}]*\}|([^;]*);")
"""Outside of functions; a section holds debugging information."""
_TOKEN = re.compile(r"[\s;]*(?:([{}])|([\w$]+)\s*:(?!:)|([^;{}\s][^;]*);)")
_SCALAR_DECLARATION = re.compile(r"\.reg\s*\.(\w+)\s+(.+)", re.DOTALL)
_RANGE = re.compile(r"([\w$%]+)<(\d{1,6})>")
_VARIABLE = re.compile(
    r"(?:\.(?:visible|weak|extern|common)\s+)*\.(global|const|shared|local|param)\s*"
    r"(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+(\d{1,4})\s*)?\.(\w+)\s+"
    r"([\w$%]+)\s*((?:\[[^\]]*\]\s*)*)(?:=(.*))?",
    re.DOTALL,
)
_WORD = re.compile(r"(?<![\w$%.])[%A-Za-z_$][\w$%.]*")
NAME = re.compile(r"(?<![\w$%.@])[%A-Za-z_$][\w$%.@]*")
"""The same once it is resolved, with the scope that it is of."""
_GUARDED = re.compile(r"@(!?)\s*([\w%$@]+)\s+(.*)", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)|0[fFdD][0-9a-fA-F]+")


def parse(text: str) -> Module:
    """Raises OddPtxError, and NotEmulatedError for features that are known and not emulated."""
    text = statements_of(text)
    module, at, names = Module(), 0, set[str]()
    while at < len(text):
        if found := _FUNCTION.match(text, at):
            at = found.end()
            if len(found[3]) > MOST_HEAD:
                raise NotEmulatedError("too_much_code")
            if found[4] == ";":  # declared here, defined elsewhere
                continue
            tokens, at = _body(text, at)
            if found[2] == "func":
                function = _function(found[3], tokens)
                module.functions[function.body.name] = function
                continue
            kernel = _kernel(found[3], tokens)
            if kernel.name in names:
                raise OddPtxError(f"two kernels {kernel.name[:80]}")
            names.add(kernel.name)
            module.kernels.append(kernel)
        elif found := _STATEMENT.match(text, at):
            at = found.end()
            said = (found[1] or "").strip()
            if said and not said.startswith((".alias", ".pragma")):
                module.variables.append(_variable(said))
        elif text[at:].strip():
            raise OddPtxError(f"no statement: {text[at:].strip()[:80]}")
        else:
            break
    return module


@dataclass(frozen=True, slots=True)
class _Token:
    """A label, or a statement, in the scope of this number."""

    scope: int
    text: str
    is_label: bool


def _body(text: str, at: int) -> tuple[tuple[list[_Token], list[int]], int]:
    """((what stands in a function, the parent of each scope), where it ends)."""
    tokens: list[_Token] = []
    parents, open_scopes = [0], [0]
    while open_scopes:
        found = _TOKEN.match(text, at)
        if found is None:
            raise OddPtxError("a function without an end")
        at = found.end()
        if len(tokens) > MOST_STATEMENTS or len(parents) > MOST_SCOPES:
            raise NotEmulatedError("too_much_code")
        if found[1] == "{":
            if len(open_scopes) > DEEPEST:
                raise NotEmulatedError("too_deep")
            parents.append(open_scopes[-1])
            open_scopes.append(len(parents) - 1)
        elif found[1] == "}":
            open_scopes.pop()
        else:
            is_label = found[2] is not None
            statement = found[2] or " ".join(found[3].split())
            tokens.append(_Token(open_scopes[-1], statement, is_label))
    return (tokens, parents), at


class _Names:
    """What a name means where it stands: each scope's own, then those around it."""

    def __init__(self, parents: list[int]) -> None:
        self.parents = parents
        self.known: list[dict[str, str]] = [{} for _ in parents]

    def declare(self, name: str, scope: int) -> str:
        own = f"{name}@{scope}" if scope else name
        self.known[scope][name] = own
        return own

    def resolve(self, name: str, scope: int) -> str:
        while True:
            if name in self.known[scope]:
                return self.known[scope][name]
            if not scope:
                return name
            scope = self.parents[scope]

    def resolved(self, text: str, scope: int) -> str:
        return _WORD.sub(lambda found: self.resolve(found[0], scope), text)


def _kernel(header: str, body: tuple[list[_Token], list[int]]) -> Kernel:
    if _CLUSTER.search(header):
        raise NotEmulatedError("cluster")
    name, _, rest = header.partition("(")
    kernel = Kernel(name.strip(), _parameters(rest.partition(")")[0]))
    tokens, parents = body
    names = _Names(parents)
    for token in tokens:  # a label may be jumped to before it stands there
        if token.is_label:
            names.declare(token.text, token.scope)
        elif token.text.startswith(".reg"):
            for register, bits in _registers(token.text):
                kernel.registers[names.declare(register, token.scope)] = bits
            if len(kernel.registers) > MOST_REGISTERS:
                raise NotEmulatedError("too_many_registers")
        elif token.text.startswith((".local", ".shared", ".param")):
            one = _variable(token.text)
            own = names.declare(one.name, token.scope)
            kernel.variables.append(
                Variable(own, one.space, one.align, one.size_bytes, one.content)
            )
    for token in tokens:
        _read(kernel, token, names)
    return kernel


def _function(header: str, body: tuple[list[_Token], list[int]]) -> Function:
    """`.func (results) name(parameters)`, of which each list may be missing."""
    results, rest = "", header.strip()
    if rest.startswith("("):
        results, _, rest = rest[1:].partition(")")
    kernel = _kernel(rest, body)
    return Function(kernel, [one.name for one in (*_parameters(results), *kernel.parameters)])


def _read(kernel: Kernel, token: _Token, names: _Names) -> None:
    """A label or an instruction of the kernel's; what declares something has been read."""
    text, scope = token.text, token.scope
    if token.is_label:
        kernel.body.append(Label(names.resolve(text, scope)))
    elif text.startswith(".branchtargets"):
        table = kernel.body.pop() if kernel.body else None
        if not isinstance(table, Label):
            raise OddPtxError("a table of labels without a name")
        words = (one.strip() for one in text.removeprefix(".branchtargets").split(","))
        kernel.tables[table.name] = [names.resolve(one, scope) for one in words]
    elif not text.startswith("."):
        kernel.body.append(_instruction(names.resolved(text, scope)))
    elif not text.startswith((".reg", ".local", ".shared", ".param", ".pragma")):
        raise NotEmulatedError(text.split()[0])


def _parameters(text: str) -> list[Parameter]:
    found: list[Parameter] = []
    offset = 0
    for one in filter(str.strip, text.split(",")):
        # What `.ptr` says of an address stands between its type and its name.
        kind, pointer, rest = one.strip().partition(".ptr")
        words = f"{kind} {rest.split()[-1]}" if pointer and rest.split() else one.strip()
        variable = _variable(words)
        if variable.space != "param":
            raise OddPtxError(f"no parameter: {one.strip()[:80]}")
        size = variable.size_bytes or 0
        offset = -(-offset // variable.align) * variable.align
        found.append(Parameter(variable.name, offset, size))
        offset += size
    return found


def _registers(text: str) -> Iterator[tuple[str, int]]:
    """`.reg .b32 %r<5>, %x;` as (name, bits)."""
    found = _SCALAR_DECLARATION.fullmatch(text)
    if found is None or found[1] not in BITS:
        raise NotEmulatedError("reg." + "_".join(text.split()[1:2]).strip("."))
    for one in found[2].split(","):
        if ranged := _RANGE.fullmatch(one.strip()):
            if int(ranged[2]) > MOST_REGISTERS:
                raise NotEmulatedError("too_many_registers")
            yield from (
                (f"{ranged[1]}{number}", BITS[found[1]]) for number in range(int(ranged[2]))
            )
        else:
            yield one.strip(), BITS[found[1]]


def _variable(text: str) -> Variable:
    found = _VARIABLE.fullmatch(text.strip())
    if found is None or found[3] not in BITS:
        raise OddPtxError(f"no declaration: {text.strip()[:80]}")
    item = BITS[found[3]] // 8
    count: int | None = 1
    for one in re.findall(r"\[([^\]]*)\]", found[5]):
        count = count * int(one, 0) if one.strip().isalnum() and count is not None else None
    content = _content(found[6], item) if found[6] else b""
    size = None if count is None else item * count
    align = int(found[2]) if found[2] else item
    if align < 1 or align > 1 << 12:
        raise OddPtxError(f"no alignment: {align}")
    return Variable(found[4], found[1], align, size, content)


def _content(text: str, item_bytes: int) -> bytes:
    """The bytes that `= {1, 2}` or `= 3` gives a variable."""
    words = [one for one in re.split(r"[\s,{}]+", text) if one]
    if not all(_NUMBER.fullmatch(one) for one in words):
        raise NotEmulatedError("an_address_as_content")
    span = 1 << 8 * item_bytes
    values = (int(one[2:], 16) if one[1:2] in "fFdD" and one[1:2] else int(one, 0) for one in words)
    return b"".join((value % span).to_bytes(item_bytes, "little") for value in values)


def _instruction(text: str) -> Instruction:
    guard, negated = "", False
    if found := _GUARDED.fullmatch(text):
        guard, negated, text = found[2], bool(found[1]), found[3]
    opcode, _, rest = text.partition(" ")
    if not re.fullmatch(r"[a-z][\w.:]{,199}", opcode):
        raise OddPtxError(f"no instruction: {text[:80]}")
    return Instruction(opcode, tuple(operands(rest)), guard, negated)


def operands(text: str) -> list[str]:
    """What commas part outside of brackets.

    >>> operands("{%f1, %f2}, [%rd1+8]")
    ['{%f1, %f2}', '[%rd1+8]']
    """
    found, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "[{(") - (char in "]})")
        if char == "," and not depth:
            found.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*found, last] if last else found
