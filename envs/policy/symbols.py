"""What a built library asks of others: the runtime of its language and tensors, no kernels.

Python is watched where it calls an operator (guest/compute_guard.py). C++ has other doors:
PyTorch's kernels by their own names, the BLAS within it, another thread, `dlsym`. All of them have
names that the loader binds, and here they are read.

Holds: every name that a library asks the loader for. Does not hold: code that goes to an address
without a name (computed, or found in memory), and system calls made without the C library, which
the sandbox bounds.
"""

from __future__ import annotations

import re
import subprocess
from functools import lru_cache
from pathlib import Path

from kernelwright.envs.guest.movement_ops import COMPOSED, MOVES
from kernelwright.envs.policy.elf import ERRORS, offered, wanted
from kernelwright.envs.sandbox.toolchain import NATIVE, compiler_path

RUNTIME = (
    *("libc.so.6", "libm.so.6", "libmvec.so.1"),
    *("libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1"),
)
NOBODYS = frozenset(
    "__gmon_start__ __tls_get_addr _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable".split()  # noqa: SIM905
)
"""What the compiler itself adds."""
FINDERS = re.compile(
    r"_*(libc_)?dl[a-z]*_?[a-z_]*|_r_debug|_*iconv(_open|_close)?|_*nss_\w+"
    r"|(get|set|end)(host|net|serv|proto|pw|gr|sp|sg|alias|rpc|ether)\w*|get(addr|name)info\w*"
    r"|initgroups|getgrouplist|wordexp"
)
"""Names of the runtime by which other names are found, or that load what a file says."""
SHIM = NATIVE / "include" / "torch" / "light" / "shim.h"

_PYTHON = (
    r"_?Py(?!Import_|Run_|Sys_|Eval_[EC]|Frame_Get(Bu|Gl|Lo)|Function_Get|_Compile"
    r"|Object_Call(Object|Method))\w+"
)
# Mangled names: a number is the length of the name behind it.
_TYPES = r"_ZT[ISV]N(2at|3c10|5torch|8pybind11)\w+"
_TENSORS = (
    r"_ZNK?(3c10(?!10Dispatcher|\w*OperatorHandle)|2at(10TensorBase|6Tensor)|6caffe28TypeMeta)\w+"
)
_THREADS = r"_ZN2at(8internal|14get_thread_num|15get_num_threads|18in_parallel_region)\w+"
_WRAPPING = r"_ZNK?(8pybind11|5torch(16PyWarningHandler|29translate_exception_to_python))\w+"
WRAPPED = re.compile("|".join((_PYTHON, _TYPES, _TENSORS, _THREADS, _WRAPPING, r"THP\w+")))
"""What a function needs that is wrapped by PyTorch's own headers."""
_OPERATOR = re.compile(r"_ZN2at4_ops(\d+)(\w+)")


def foreign(library: bytes, *, light: bool) -> str | None:
    """A name that a library may not ask for; None where there is none.

    `light`: it was built against the light header, else against PyTorch's own.
    """
    try:
        names = wanted(library)
    except ERRORS as error:
        return f"not a library: {error}"
    for name in sorted(names - runtime() - NOBODYS - shim()):
        if light or not (WRAPPED.fullmatch(name) or _moves(name)):
            return name
    return None


def _moves(name: str) -> bool:
    """Whether this is an operator that only moves tensors.

    >>> _moves("_ZN2at4_ops4view4callE"), _moves("_ZN2at4_ops4relu4callE")
    (True, False)
    """
    found = _OPERATOR.fullmatch(name)
    if not found:
        return False
    overload = found[2][: int(found[1])]
    return any(overload == one or overload.startswith(f"{one}_") for one in MOVES | COMPOSED)


@lru_cache
def runtime() -> frozenset[str]:
    """All names of the C and C++ runtime that the compiler uses, but for those that find more."""
    names: set[str] = set()
    for library in RUNTIME:
        command = [compiler_path(), f"-print-file-name={library}"]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        if Path(found).is_absolute():
            names |= offered(Path(found).read_bytes())
    return frozenset(one for one in names if not FINDERS.fullmatch(one))


@lru_cache
def shim() -> frozenset[str]:
    """What the light header stands on."""
    return frozenset(re.findall(r"aoti_torch_\w+(?=\()", SHIM.read_text()))
