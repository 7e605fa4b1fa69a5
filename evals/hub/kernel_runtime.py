"""Builds a C++ kernel and calls it as the `forward` of a PyTorch module.

All that follows this text stands in every file that `kernel_module.py` writes, so that such a file
needs g++ and PyTorch, and nothing of this package. Its names are such that no module has them.
"""

import copy as _copy
import ctypes as _ctypes
import subprocess as _subprocess
import tempfile as _tempfile
import weakref as _weakref
from pathlib import Path as _Path
from typing import Any as _Any

import torch as _torch
from torch.utils import _pytree


class _NativeKernel:
    """A kernel, built for this processor, and what it takes.

    `files` are the sources. `takes` and `state` are (name, dtype, dimensions) of what `forward`
    takes by place and of what the state dict holds; a number has (name, its type, None). Raises
    subprocess.CalledProcessError where g++ refuses the source.
    """

    def __init__(
        self, files: _Any, options: _Any, libraries: _Any, takes: _Any, state: _Any
    ) -> None:
        self.takes, self.state = takes, state
        self.outputs: _Any = _weakref.WeakKeyDictionary()
        with _tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                _Path(folder, name).write_text(text, encoding="utf-8")
            words = ["g++", *options, "-o", "kernel.so", "glue.cpp", *libraries]
            _subprocess.run(words, cwd=folder, check=True)
            self.function = _ctypes.CDLL(f"{folder}/kernel.so").kernelwright_call
        self.function.restype = None

    def __call__(self, module: _Any, plain: _Any, given: _Any) -> _Any:
        """What `plain`, the module's own `forward`, gives. Raises TypeError for arguments that the
        kernel was not written for, RuntimeError where a gradient or training is asked for."""
        if len(given) != len(self.takes):
            raise TypeError(f"takes {len(self.takes)} arguments by place: not {len(given)}")
        held = module.state_dict(keep_vars=True)
        pairs = list(zip(self.takes, given, strict=True))
        tensors = [self._tensor(*one) for one in pairs if one[0][2] is not None]
        tensors += [self._tensor(one, held[one[0]]) for one in self.state]
        numbers = [self._number(*one) for one in pairs if one[0][2] is None]
        if module.training:
            raise RuntimeError("this kernel computes what the module does after .eval()")
        if _torch.is_grad_enabled() and any(one.requires_grad for one in tensors):
            raise RuntimeError("this kernel has no gradient: call it in torch.no_grad()")
        shapes, spec = self._outputs(module, plain, given)
        made = [_torch.empty(shape, dtype=dtype) for shape, dtype in filter(None, shapes)]
        every = [*tensors, *made]
        sizes = [size for one in every for size in one.shape]
        self.function(
            (_ctypes.c_void_p * len(every))(*(one.data_ptr() for one in every)),
            (_ctypes.c_int64 * len(sizes))(*sizes),
            (_ctypes.c_double * len(numbers))(*numbers),
        )
        rest = iter(made)
        return _pytree.tree_unflatten([one and next(rest) for one in shapes], spec)

    def _tensor(self, wanted: _Any, tensor: _Any) -> _Any:
        name, dtype, dimensions = wanted
        if (tensor.dtype, tensor.dim(), tensor.device.type) != (dtype, dimensions, "cpu"):
            is_now = f"{tensor.dim()} of {tensor.dtype} on {tensor.device}"
            raise TypeError(f"{name} has {dimensions} dimensions of {dtype} on cpu: not {is_now}")
        return tensor.contiguous()

    def _number(self, wanted: _Any, value: _Any) -> _Any:
        name, kind, _ = wanted
        if type(value) is not kind:
            raise TypeError(f"{name} is of type {kind.__name__}: not {value!r}")
        return value

    def _outputs(self, module: _Any, plain: _Any, given: _Any) -> _Any:
        """((shape, dtype) of each output or None, how they are nested): the PyTorch module computes
        once for each new set of sizes, on copies of all that it could change."""
        known = self.outputs.setdefault(module, {})
        sizes = tuple(
            one.shape if isinstance(one, _torch.Tensor) else type(one) is not float and one
            for one in given
        )
        if sizes not in known:
            copies = [one.clone() if isinstance(one, _torch.Tensor) else one for one in given]
            with _torch.no_grad():
                found, spec = _pytree.tree_flatten(plain(_copy.deepcopy(module), *copies))
            if not all(one is None or isinstance(one, _torch.Tensor) for one in found):
                raise TypeError("some of its outputs are no tensors, which no kernel writes")
            shapes = [one if one is None else (tuple(one.shape), one.dtype) for one in found]
            known[sizes] = (shapes, spec)
        return known[sizes]
