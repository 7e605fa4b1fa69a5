"""The native ABI (`cpp`, `cuda`): one C function, its arguments set by the problem.

`extern "C" void kernel(...)` takes, in this order: a pointer for each tensor argument of `forward`,
one for each parameter and buffer, one for each output; then every size of those tensors; then the
scalar arguments of `forward`; for cuda, last, the stream. Sizes are arguments because the same
kernel is judged on several shapes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

C_TYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "_Float16",
    "int64": "int64_t",
    "int32": "int32_t",
    "int16": "int16_t",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "bool": "bool",
}
_WORDS = """
alignas alignof and_eq asm auto bitand bitor bool case catch char char8_t char16_t char32_t co_await
co_return co_yield compl concept const const_cast consteval constexpr constinit decltype default
delete do double dynamic_cast enum explicit export extern false float friend goto inline int long
mutable namespace new noexcept not_eq nullptr operator or_eq private protected public register
reinterpret_cast requires short signed sizeof static static_assert static_cast stream struct switch
template this thread_local throw true typedef typeid typename union unsigned using virtual void
volatile wchar_t xor xor_eq
"""
CPP_WORDS = frozenset(_WORDS.split())
"""What an argument cannot be called; also the stream, which is an argument of its own."""
SCALAR_TYPES = {"int": "int64_t", "float": "double", "bool": "bool"}
ITEM_BYTES = {
    "float32": 4,
    "float64": 8,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec:
    """One tensor of a case: its argument name, its dtype and its shape.

    `strides` and `first` (its first element's place in its storage) count elements, where the
    problem hands over a view; None where it is contiguous.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    first: int = 0

    @property
    def size_bytes(self) -> int:
        """Of its storage: with what lies before a view and in its gaps."""
        return self.elements * ITEM_BYTES[self.dtype]

    @property
    def elements(self) -> int:
        """Of its storage."""
        if self.strides is None:
            return math.prod(self.shape)
        steps = zip(self.shape, self.strides, strict=True)
        return self.first + 1 + sum((size - 1) * stride for size, stride in steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSpec:
    """All arguments of one case. `inputs` are forward's tensors, then parameters and buffers.

    `arguments` names what `forward` takes, in its order, tensors and scalars; `state` is the key in
    `state_dict` of each parameter and buffer, `fills` the value that it is made full of, None where
    it has several; `init` is what the module is made with, as JSON. `nest` is how `forward` is
    called, as JSON (reference/arguments.py); empty where it takes `arguments` one by one.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    scalars: tuple[tuple[str, int | float | bool], ...]
    arguments: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    fills: tuple[float | None, ...] = ()
    init: str = "[]"
    nest: str = ""

    @property
    def numbers(self) -> tuple[int | float | bool, ...]:
        """The values of the scalars."""
        return tuple(value for _, value in self.scalars)

    @property
    def has_views(self) -> bool:
        """Whether an input is a view, which is not contiguous."""
        return any(one.strides is not None for one in self.inputs)

    def contiguous(self) -> CaseSpec:
        """The same with all inputs contiguous, as the native ABI has them."""
        inputs = tuple(replace(one, strides=None, first=0) for one in self.inputs)
        return replace(self, inputs=inputs)

    @property
    def tensors(self) -> tuple[TensorSpec, ...]:
        return self.inputs + self.outputs

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(size for tensor in self.tensors for size in tensor.shape)


def smallest(specs: Sequence[CaseSpec]) -> int:
    """The number of the case whose tensors have the fewest bytes, the first of such."""
    return min(
        range(len(specs)), key=lambda case: sum(one.size_bytes for one in specs[case].tensors)
    )


def free_name(wanted: str, dims: int, taken: set[str]) -> str:
    """The name of an argument: the one wanted, or with underscores where C++ or another has it.

    Its sizes are named after it, so they must be free as well; all of them are added to `taken`.

    >>> free_name("double", 1, set(CPP_WORDS)), free_name("x", 2, {"x_0"})
    ('double_', 'x_')
    """
    name = wanted
    while taken & (names := {name, *(f"{name}_{dim}" for dim in range(dims))}):
        name += "_"
    taken |= names
    return name


class UnsupportedDtypeError(ValueError):
    """A tensor's dtype has no C type in this dialect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeAbi:
    """Calling convention of a native kernel: the C types of tensors, and the arguments after the
    scalars.

    `last` are (C type, name) of arguments that are the caller's own, each handed on as a pointer.
    """

    name: str
    file: str
    """What the candidate's source is called where it is built."""
    types: Mapping[str, str]
    last: tuple[tuple[str, str], ...] = ()


C_ABI = NativeAbi(name="cpp", file="candidate.cpp", types=C_TYPES)


def parameters(spec: CaseSpec, abi: NativeAbi) -> list[tuple[str, str]]:
    """(C type, name) of each argument of `kernel`, in order."""
    types = abi.types
    for tensor in spec.tensors:
        if tensor.dtype not in types:
            raise UnsupportedDtypeError(
                f"{tensor.name} is {tensor.dtype}: not in the {abi.name} ABI"
            )
    rows = [(f"const {types[tensor.dtype]}*", tensor.name) for tensor in spec.inputs]
    rows += [(f"{types[tensor.dtype]}*", tensor.name) for tensor in spec.outputs]
    rows += [
        ("int64_t", f"{tensor.name}_{dim}")
        for tensor in spec.tensors
        for dim in range(len(tensor.shape))
    ]
    rows += [(SCALAR_TYPES[type(value).__name__], name) for name, value in spec.scalars]
    return [*rows, *abi.last]


def signature(spec: CaseSpec, abi: NativeAbi) -> str:
    """The one line that an answer must define, without a semicolon."""
    arguments = ", ".join(f"{c_type} {name}" for c_type, name in parameters(spec, abi))
    return f'extern "C" void kernel({arguments})'


def glue(spec: CaseSpec, abi: NativeAbi) -> str:
    """C++ that unpacks (pointers, sizes, scalars) and calls `kernel`, for CUDA with a stream.

    It includes the candidate, once: one that includes itself, twice, would be read until the
    compiler's time is up. A kernel with other arguments is a compile error that names both
    declarations, not a crash.
    """
    names = [row[0] for row in parameters(spec, abi)]
    tensors, sizes = len(spec.tensors), len(spec.sizes)
    scalars = names[tensors + sizes : tensors + sizes + len(spec.scalars)]
    calls = [f"({c_type})pointers[{i}]" for i, c_type in enumerate(names[:tensors])]
    calls += [f"sizes[{i}]" for i in range(sizes)]
    calls += [f"({c_type})scalars[{i}]" for i, c_type in enumerate(scalars)]
    calls += [f"({c_type}){name}" for c_type, name in abi.last]
    rest = "".join(f", void* {name}" for _, name in abi.last)
    return (
        f'#include <stdint.h>\n#import "{abi.file}"\n'
        f'{signature(spec, abi)};\nextern "C" void kernelwright_call(void* const* pointers, '
        f"const int64_t* sizes, const double* scalars{rest}) {{\n"
        f"  kernel({', '.join(calls)});\n}}\n"
    )
