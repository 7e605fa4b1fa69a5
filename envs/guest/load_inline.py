"""What `load_inline` is inside the sandbox: it records what is wanted, or gives what was built."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable
from typing import Any

import torch

from kernelwright.envs.guest.compute_guard import unchanged

NONE, TENSOR, INT, FLOAT, BOOL, INTS, TENSORS = range(7)
"""Kinds of a value that goes to or comes from C++ (native/include/torch/light/call.h)."""
RESULTS_AT_MOST = 64
ERROR_BYTES = 2048
PARAMETERS = ("name", "cpp_sources", "cuda_sources", "functions", "extra_cflags")
"""The first of `load_inline`, in its order."""


class Recorder:
    """Keeps each call, and builds nothing."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls.append({**dict(zip(PARAMETERS, args, strict=False)), **kwargs})
        return Unbuilt()


class Unbuilt:
    """Stands for an extension that is not built yet."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


class Value(ctypes.Structure):
    """A C++ argument or result: see native/include/torch/light/call.h."""

    _fields_ = (("kind", ctypes.c_int64), ("number", ctypes.c_int64), ("pointer", ctypes.c_void_p))


Bind = Callable[..., Any]
"""Makes a function of Python of one of a library's, with its name and what it is given first."""


def light_extension(library: ctypes.CDLL, functions: list[str], bind: Bind) -> Any:
    """A library built with the light header: its functions take and return tensors and numbers.

    It holds the library in a closure: all of PyTorch can be reached through that.
    """

    class Extension:
        def __getattr__(self, name: str) -> Any:
            """A function that a PYBIND11_MODULE in the sources names."""
            found = bind(library.kernelwright_named, name, name.encode())
            setattr(self, name, found)
            return found

    made = Extension()
    for name in functions:
        setattr(made, name, bind(getattr(library, f"kernelwright_{name}"), name))
    return made


def watched(module: Any) -> Any:
    """A library built with PyTorch's own headers, which give it ways to the dispatcher."""

    class Watched:
        def __getattr__(self, name: str) -> Any:
            found = getattr(module, name)
            if not callable(found) or isinstance(found, type):
                return found
            setattr(self, name, unchanged(found))
            return getattr(self, name)

    return Watched()


def bound(function: Any, name: str, *first: bytes) -> Any:
    """A function of a library as one of Python."""
    function.restype = ctypes.c_int64
    error = ctypes.create_string_buffer(ERROR_BYTES)
    results = (Value * RESULTS_AT_MOST)()

    def call(*args: Any) -> Any:
        kept: list[Any] = []
        values = (Value * len(args))(*(_to_value(one, kept) for one in args))
        rest = (ctypes.c_int64(len(args)), results, error, ctypes.c_int64(ERROR_BYTES))
        count = function(*first, values, *rest)
        if count < 0:
            raise RuntimeError(f"{name}: {error.value.decode('utf-8', 'replace')}")
        found = [_from_value(one) for one in results[:count]]
        return found[0] if count == 1 else tuple(found) if count else None

    return call


_API = ctypes.pythonapi
_API.PyCapsule_GetPointer.restype = ctypes.c_void_p
_API.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_API.PyCapsule_New.restype = ctypes.py_object
_API.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def _handle(tensor: torch.Tensor) -> int:
    """A new handle of the tensor, as torch's stable C interface has them; C++ frees it."""
    capsule = torch._C._aoti.unsafe_alloc_void_ptr_from_tensor(tensor)
    return int(_API.PyCapsule_GetPointer(capsule, None))


def _to_value(one: Any, kept: list[Any]) -> Value:
    if one is None:
        return Value(NONE, 0, None)
    if isinstance(one, torch.Tensor):
        return Value(TENSOR, 0, _handle(one))
    if isinstance(one, bool):
        return Value(BOOL, int(one), None)
    if isinstance(one, int):
        return Value(INT, one, None)
    if isinstance(one, float):
        return Value(FLOAT, ctypes.c_int64.from_buffer_copy(ctypes.c_double(one)).value, None)
    items = list(one)
    kind = TENSORS if items and isinstance(items[0], torch.Tensor) else INTS
    if kind == TENSORS:
        items = [_handle(item) for item in items]
    array = (ctypes.c_int64 * len(items))(*items)
    kept.append(array)
    return Value(kind, len(items), ctypes.addressof(array))


def _from_value(value: Value) -> Any:
    if value.kind == TENSOR:
        return torch._C._aoti.alloc_tensor_by_stealing_from_void_ptr(
            _API.PyCapsule_New(value.pointer, None, None)
        )
    if value.kind == FLOAT:
        return ctypes.c_double.from_buffer_copy(ctypes.c_int64(value.number)).value
    return bool(value.number) if value.kind == BOOL else value.number


def prebuilt(libraries: dict[str, Any]) -> Any:
    """What `load_inline` is in a run: it gives the library that was built before."""

    def load(name: str, *_: Any, **__: Any) -> Any:
        if name not in libraries:
            raise RuntimeError(f"load_inline({name!r}) was not called when the answer was built")
        found = libraries[name]
        if found["light"]:
            return light_extension(ctypes.CDLL(found["path"]), found["functions"], bound)
        spec = importlib.util.spec_from_file_location(name, found["path"])
        if spec is None or spec.loader is None:
            raise ImportError(found["path"])
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return watched(module)

    return load
