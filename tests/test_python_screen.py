"""What an answer in Python may name, and what its libraries may ask for: no way leads around."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import BuiltinFunctionType, FunctionType, ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kernelwright.envs.dialects.inline_extension import Extension
from kernelwright.envs.policy.elf import ERRORS, wanted
from kernelwright.envs.policy.python_allowlist import MODULES, may_use
from kernelwright.envs.policy.python_screen import refused
from kernelwright.envs.policy.symbols import foreign, runtime
from kernelwright.envs.sandbox.limits import BUILD_LIMITS
from kernelwright.envs.sandbox.rootfs import native
from kernelwright.envs.sandbox.toolchain import compiler_path
from kernelwright.envs.sandbox.zygote import Zygote

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parent.parent
OPTIONAL = "triton"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import ctypes", "line 1: imports ctypes"),
        ("import torch as t; t.ops.mkldnn", "line 1: uses torch.ops"),
        ("import torch; x = torch", "line 1: uses the module torch as a value"),
        ("import torch; torch.backends.cudnn.benchmark = f()", "line 1: uses torch.backends"),
        ("import torch; torch.backends.cudnn.m = True", "line 1: uses torch.backends"),
        ("import torch; torch.backends.cudnn.enabled", "line 1: uses torch.backends"),
        ("import torch; x = torch.nn", "line 1: uses torch.nn"),
        ("import torch; torch.relu = f", "line 1: changes torch.relu"),
        ("import torch; setattr(torch, 'relu', f)", "line 1: changes torch.relu"),
        ("import torch; getattr(torch, '_C')", "line 1: uses torch._C"),
        ("import torch; torch.ExcludeDispatchKeyGuard", "uses torch.ExcludeDispatchKeyGuard"),
        ("import torch.nn.functional as F; F.torch", "uses torch.nn.functional.torch"),
        ("import torch.utils.cpp_extension as c; c.sys", "uses torch.utils.cpp_extension.sys"),
        ("from torch.utils.cpp_extension import sys", "imports sys from torch.utils.cpp_extension"),
        ("import os; os.path.os.system", "uses os.path.os"),
        ("from torch import *", "imports * from torch"),
        ("class A:\n import torch", "line 2: imports inside a class"),
        ("import math as t\nif 1: import torch as t", "line 1: calls two modules t"),
        ("import torch as t\ndef f(t):\n import torch as t", "line 3: imports over an argument"),
        ("import torch as t\ndef f(x=lambda t: 0): g(t)", "uses the module t as a value"),
        ("import torch as t\ndef f(x=t): pass", "uses the module t as a value"),
        ("import torch as t\ndef f(t):\n def g():\n  global t", "line 4: rebinds t"),
        ("match f:\n case object(__globals__=g): pass", "line 2: matches a class"),
        ("import functools; functools.update_wrapper", "uses functools.update_wrapper"),
        ("import typing; typing.get_type_hints", "uses typing.get_type_hints"),
        ("class A:\n __annotations__ = {}", "line 2: uses __annotations__"),
        ("type('A', (), {})", "line 1: makes a class by calling type"),
        ("def __prepare__(): pass", "line 1: defines __prepare__"),
        ("getattr(x, name)", "line 1: uses getattr with a name that cannot be read"),
        ("f = getattr", "line 1: uses getattr"),
        ("(1 for x in y).gi_frame", "line 1: uses .gi_frame"),
        ("try: f()\nexcept AttributeError as e: e.obj", "line 2: uses .obj"),
        ("x.numpy()", "line 1: uses .numpy"),
        ("x.tolist()", "line 1: uses .tolist"),
        ("kernel.get_capture_scope()", "line 1: uses .get_capture_scope"),
        ("x.apply_(f)", "line 1: uses .apply_"),
        ("layer.compile(backend=f)", "line 1: uses .compile"),
        ("# coding: utf_7\n# +AAo-import sys", "imports sys"),
        ("\ufeffimport sys", "line 1: imports sys"),
        ("a = " + "1+" * 3000 + "1\nimport sys", "is nested too deeply to be read"),
        ("__name__ = '__main__'\nif __name__ == '__main__': import sys", "line 2: imports sys"),
    ],
)  # fmt: skip
def test_what_could_hide_something_is_refused(source: str, why: str) -> None:
    found = refused(source)
    assert found is not None
    assert found.endswith(why)


@pytest.mark.parametrize(
    "source",
    [
        "import torch; x = torch.empty(3, device='cuda', dtype=torch.float16)",
        "import torch.nn.functional as F; F.relu",
        "from torch import nn, Tensor; nn.init.zeros_",
        "from torch.utils import cpp_extension; cpp_extension.load_inline",
        "import triton.language as tl\ndef k(tl, math): return tl",
        "x = getattr(self, 'bias', None)",
        "class A:\n __constants__ = ['eps']",
        "if __name__ == '__main__':\n import sys, numpy",
        "this is no Python",
        "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True",
    ],
)
def test_what_honest_answers_say_is_not_refused(source: str) -> None:
    assert refused(source) is None


def test_no_part_of_torch_is_a_use_in_itself_imported_or_not() -> None:
    import torch

    parts = [one.name for one in iter_modules(torch.__path__)]
    assert {"fx", "onnx"} <= set(parts)
    assert [one for one in parts if may_use("torch", one)] == []


@pytest.mark.parametrize("name", sorted(MODULES))
def test_no_other_module_can_be_reached_through_one_that_may_be_used(name: str) -> None:
    if name.startswith(OPTIONAL):
        pytest.importorskip(OPTIONAL, reason="triton is not installed")
    module = import_module(name)
    reached = {
        part: value.__name__
        for part, value in vars(module).items()
        if may_use(name, part) and isinstance(value, ModuleType)
    }
    assert reached == {}


def test_all_that_may_be_used_of_torch_is_an_operator_a_constant_or_known() -> None:
    import torch

    operators = {
        one.partition("::")[2].partition(".")[0] for one in torch._C._dispatch_get_all_op_names()
    }
    functions = (FunctionType, BuiltinFunctionType)
    others = {
        part
        for part, value in vars(torch).items()
        if may_use("torch", part) and isinstance(value, functions) and part not in operators
    }
    settings = {one for one in others if one.startswith(("set_", "get_", "is_", "are_", "sym_"))}
    assert others - settings <= KNOWN


KNOWN = frozenset(
    """
    as_tensor autocast_decrement_nesting autocast_increment_nesting block_diag broadcast_shapes
    broadcast_tensors cdist chain_matmul clear_autocast_cache dsmm eig einsum hsmm initial_seed
    lobpcg lstsq lu manual_seed matrix_rank meshgrid norm parse_schema pca_lowrank
    profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 saddmm seed solve split spmm stft
    svd_lowrank symeig tensor tensordot typename unique unique_consecutive unravel_index
    use_deterministic_algorithms
    """.split()  # noqa: SIM905
)
"""Functions of torch that are composed of operators, or change what nobody but the answer sees."""


WATCHED = """
import torch
from kernelwright.envs.guest.compute_guard import forbid_compute, only_moves
x = torch.ones(4, 4)
forbid_compute()
with torch.inference_mode(), only_moves():
    y = torch.empty_like(x).copy_(x.t()).view(-1)
    y = torch.tensor([y[0].item(), float(y[1])]).to(torch.float64)
    print("moved", flush=True)
    {act}
print("computed", flush=True)
"""


@pytest.mark.parametrize(
    "act",
    [
        "torch.relu(x)",
        "x @ x",
        "x.add_(1)",
        "torch.nn.functional.linear(x, x)",
        "torch.ops.mkldnn._linear_pointwise(x, x, None, 'none', [], '')",
        "torch.ops.prims.mul(x, 2.0)",
        "x.to_mkldnn()",
        "x.to_sparse()",
        "torch.fbgemm_pack_gemm_matrix_fp16(x)",
        "torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)",
        "[x[0, 0].item() for _ in range(17)]",
    ],
)
def test_pytorch_does_not_compute_under_the_watch(act: str) -> None:
    command = [sys.executable, "-c", WATCHED.format(act=act)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (74, "moved\n"), done.stderr


def library(folder: Path, source: str, *flags: str) -> bytes:
    (folder / "a.cpp").write_text(source)
    command = [compiler_path(), "-shared", "-fPIC", "-O1", *flags, "-o", "a.so", "a.cpp"]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "a.so").read_bytes()


RUNTIME = """
#include <cmath>
#include <cstdio>
#include <string>
#include <thread>
double f(double x) {
  std::thread([&] { x = std::exp(x); }).join();
  std::printf("%s", std::to_string(x).c_str());
#pragma omp parallel for
  for (int i = 0; i < 9; ++i) x += i;
  return x;
}
extern "C" int aoti_torch_get_dim(void*, long*);
int g(void* t) { long d; return aoti_torch_get_dim(t, &d); }
"""


def test_what_loads_a_library_that_a_file_names_is_no_part_of_the_runtime() -> None:
    assert not {"dlopen", "iconv_open", "getpwnam", "getaddrinfo", "wordexp"} & runtime()
    assert {"malloc", "memcpy", "getenv", "setvbuf", "getline", "expf"} <= runtime()


def test_a_library_may_use_its_runtime_and_tensors(tmp_path: Path) -> None:
    assert foreign(library(tmp_path, RUNTIME, "-fopenmp"), light=True) is None


@pytest.mark.parametrize(
    "name", ["dlsym", "sgemm_", "cblas_sgemm", "aoti_torch_cpu_addmm_out", "PyRun_String"]
)
@pytest.mark.parametrize("light", [True, False])
def test_a_library_may_not_use_another_ones_kernels(tmp_path: Path, name: str, light: bool) -> None:
    source = f'extern "C" int {name}(); int f() {{ return {name}(); }}'
    assert foreign(library(tmp_path, source), light=light) == name


def test_an_operator_that_moves_is_told_from_one_that_computes(tmp_path: Path) -> None:
    source = (
        "namespace at { namespace _ops { struct view { static int call(); };"
        " struct relu { static int call(); }; } }\nint f() { return at::_ops::%s::call(); }"
    )
    assert foreign(library(tmp_path, source % "view"), light=False) is None
    assert foreign(library(tmp_path, source % "relu"), light=False) == "_ZN2at4_ops4relu4callEv"


@given(st.data())
def test_what_is_not_a_library_is_never_taken_for_one(data: st.DataObject) -> None:
    whole = Path(compiler_library()).read_bytes()[:4096]
    at = data.draw(st.integers(0, len(whole) - 8))
    broken = whole[:at] + data.draw(st.binary(min_size=1, max_size=8)) + whole[at + 8 :]
    try:
        names = wanted(broken)
    except ERRORS:
        assert (foreign(broken, light=True) or "").startswith("not a library")
    else:
        assert all(isinstance(one, str) for one in names)


def compiler_library() -> str:
    command = [compiler_path(), "-print-file-name=libgcc_s.so.1"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        (["-O3 -march=native", ""], ["-O3", "-march=native"]),
        ("-ffast-math", ["-ffast-math"]),
        (None, []),
        (["-DN=4", "-std=c++17", "-Wall", "-mavx2", "-fopenmp", "-lm"], 6),
    ],
)
def test_flags_are_split_as_pytorch_splits_them(flags: object, kept: list[str] | int) -> None:
    found = Extension.model_validate({"name": "a", "cpp_sources": "", "extra_cflags": flags})
    assert found.extra_cflags == kept or len(found.extra_cflags) == kept


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("extra_cflags", ["-O3\0uid=0"]),
        ("extra_cflags", ["-fplugin=/scratch/x.so"]),
        ("extra_cflags", ["-wrapper", "sh"]),
        ("extra_cflags", ["@main.cpp"]),
        ("extra_cflags", ["-specs=x"]),
        ("extra_cflags", ["-o", "x"]),
        ("extra_cflags", ["-Wl,-rpath,/"]),
        ("extra_cflags", ["-lmkl_rt"]),
        ("extra_cflags", 5),
        ("extra_cflags", [5]),
        ("extra_cuda_cflags", ["-O3\0uid=0"]),
        ("functions", ["f"] * 33),
        ("functions", ["f) int x("]),
        ("name", "a b"),
        ("name", "é"),
    ],
)
def test_an_extension_of_strange_words_is_refused(field: str, value: object) -> None:
    with pytest.raises(ValidationError):
        Extension.model_validate({"name": "a", "cpp_sources": "", field: value})


def test_a_word_of_a_job_cannot_be_two() -> None:
    zygote = Zygote(native())
    try:
        for command in (["/bin/true", "a\0uid=0"], ["a" * 70_000]):
            with pytest.raises(ValueError, match="NUL"):
                zygote.start("exec", BUILD_LIMITS, log=1, channel=1, command=command)
    finally:
        zygote.close()
