"""The parts of Python and of PyTorch that an answer may name; `python_screen.py` reads by it."""

from __future__ import annotations

from functools import cache
from pkgutil import iter_modules

from kernelwright.envs.sandbox.toolchain import package_folder


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ONLY = {
    "__future__": _names("annotations"),
    "collections": _names("Counter OrderedDict defaultdict deque namedtuple"),
    "contextlib": _names("contextmanager nullcontext suppress"),
    "functools": _names("cache lru_cache partial reduce"),
    "os": _names("cpu_count environ getenv"),
    "os.path": _names("abspath basename dirname exists expanduser join"),
    "textwrap": _names("dedent indent"),
    "torch.autograd": _names("Function"),
    "torch.cuda": _names(
        """
        Event Stream current_device current_stream default_stream device device_count empty_cache
        get_device_capability get_device_name get_device_properties is_available is_bf16_supported
        manual_seed manual_seed_all set_device stream synchronize
        """
    ),
    "torch.nn.parameter": _names("Buffer Parameter"),
    "torch.utils": _names(""),
    "torch.utils.cpp_extension": _names("CUDA_HOME load_inline"),
    "triton": _names("Config autotune cdiv heuristics jit next_power_of_2 set_allocator"),
    "triton.language.extra": _names(""),
    "triton.language.extra.cuda": _names(""),
    "triton.runtime": _names("driver"),
    "typing": _names(
        """
        Any Callable ClassVar Dict Final Generic Iterable Iterator List Literal Mapping NamedTuple
        Optional Sequence Set TYPE_CHECKING Tuple Type TypeVar Union cast overload
        """
    ),
    "warnings": _names("filterwarnings simplefilter warn"),
}
"""Module → what may be used of it."""

BUT = {
    "itertools": _names(""),
    "math": _names(""),
    "torch": _names(
        """
        asarray builtins classes classproperty compile compiled_with_cxx11_abi cond cpp
        ctypes fork from_dlpack from_file from_numpy frombuffer functools get_device_module
        get_file_path glob import_ir_module import_ir_module_from_buffer importlib
        init_num_threads inspect load math merge_type_from_type_comment ops os parse_ir
        parse_schema parse_type_comment platform prepare_multiprocessing_environment save
        set_flush_denormal set_num_interop_threads set_num_threads sys textwrap
        thread_safe_generator threading to_dlpack torch unify_type_list vmap wait warnings
        while_loop windows
        """
    ),
    "torch.nn.functional": _names(
        """
        assert_int_or_pair boolean_dispatch dataclasses grad handle_torch_function
        has_torch_function has_torch_function_unary has_torch_function_variadic importlib math np
        torch warnings
        """
    ),
    "torch.nn.init": _names("math torch warnings"),
    "triton.language": _names("core random semantic standard target_info"),
    "triton.language.extra.cuda.libdevice": _names("core"),
    "triton.language.extra.libdevice": _names("core"),
    "triton.language.math": _names("core"),
}
"""Module → what may not be used of it; nor may its submodules or what begins with an underscore."""

LAYERS = "torch.nn"
"""Of this one, classes."""
MODULES = frozenset((*ONLY, *BUT, LAYERS))

CLASSES = _names(
    """
    BoolTensor ByteTensor DoubleTensor FloatTensor Generator HalfTensor IntTensor LongTensor Size
    Tensor
    """
)
"""Of torch itself; the rest of its classes lead to its insides."""

BUILTINS = _names(
    """
    breakpoint compile copyright credits delattr dir eval exec exit getattr globals help input
    license locals memoryview open quit setattr vars
    """
)
"""Builtins that reach what a name cannot be seen to reach."""

DUNDERS = _names(
    """
    __all__ __author__ __call__ __class__ __constants__ __contains__ __del__ __doc__ __enter__
    __eq__ __exit__ __file__ __getitem__ __hash__ __init__ __iter__ __len__ __name__
    __post_init__ __repr__ __slots__ __str__ __version__
    """
)
SWITCHES = _names(
    """
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
    torch.backends.cuda.matmul.allow_tf32 torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.benchmark torch.backends.cudnn.deterministic torch.backends.cudnn.enabled
    """
)
"""How PyTorch's own kernels compute on a GPU: answers set them by habit, and to no effect."""

NEVER = _names(
    """
    ag_code ag_frame cr_code cr_frame f_back f_builtins f_code f_globals f_locals gi_code gi_frame
    gi_yieldfrom tb_frame tb_next mro
    func obj
    functorch library overrides vmap
    apply_ map_ map2_ compile recompile on_generate_code
    _determine_new_args _evaluate _make_substitution _unsafe_update_src
    launcher_cls raw_src rewrite rewriter rewritten_fn src tape
    cast_from_numpy from_numpy handle numpy storage tolist typed_storage untyped_storage
    get_capture_scope nonlocals used_global_vals
    """
)
"""What leads from an object to the frames, the modules, the numbers or the source behind it."""


def may_use(module: str, name: str) -> bool:
    """Whether an answer may use this of a module; a module within it is no use in itself.

    >>> may_use("torch", "empty_like"), may_use("torch", "ops"), may_use("torch.nn", "Linear")
    (True, False, True)
    """
    if name.startswith("_") or name == "*" or f"{module}.{name}" in MODULES:
        return False
    if module in ONLY:
        return name in ONLY[module]
    if module == LAYERS:
        return name[0].isupper()
    if module == "torch" and name in _submodules(module):
        return False
    classy = name[0].isupper() and module.startswith("torch") and name not in CLASSES
    return name not in BUT[module] and not classy


@cache
def _submodules(package: str) -> frozenset[str]:
    """By its files: which of them an import of the package imports differs with what came before.

    >>> "onnx" in _submodules("torch"), "relu" in _submodules("torch")
    (True, False)
    """
    folder = package_folder(package)
    return frozenset(one.name for one in iter_modules([str(folder)] if folder else ()))
