"""Stores tensors in files: the reference process writes them for answers and reads them for the
module.

Functions import torch themselves, so that importing this module costs nothing.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.referee.layout import input_places, offsets
from kernelwright.envs.referee.tolerance import Array
from kernelwright.envs.reference.strides import whole
from kernelwright.envs.system.memfd import Mapped, mapped, memfd


def taken(descriptor: int, protection: int, *, read_in: bool = True) -> Mapped:
    """The bytes of a file that was sent, and is closed."""
    mapping = mapped(descriptor, protection, read_in=read_in)
    os.close(descriptor)
    return mapping


def views(mapping: Mapped, specs: Sequence[TensorSpec], guard_bytes: int = 0) -> list[Any]:
    """The tensors of a file."""
    places = offsets(specs, guard_bytes)[0]
    return [_view(mapping, one, place) for one, place in zip(specs, places, strict=True)]


def _view(mapping: Mapped, one: TensorSpec, place: int) -> Any:
    """The tensor that lies there in the file."""
    import torch

    dtype, count = getattr(torch, one.dtype), _count(one.shape)
    if count == 0:
        return torch.empty(one.shape, dtype=dtype)
    flat = torch.frombuffer(mapping, dtype=dtype, count=one.elements, offset=place)
    if one.strides is None:
        return flat.reshape(one.shape)
    return flat.as_strided(one.shape, one.strides, one.first)


def laid(tensors: list[Any], spec: CaseSpec) -> tuple[list[Array], list[int], int]:
    """(what lies in the file of inputs, where, how long that is): each tensor without its gaps, and
    the storage of each view behind them."""
    places, size = input_places(spec)
    arrays, dense = [_raw(one) for one in tensors], input_places(spec.contiguous())[0]
    for tensor, one, place in zip(tensors, spec.inputs, places, strict=True):
        if one.strides is not None:
            arrays.append(_raw(whole(tensor)[: one.elements]))
            dense.append(place)
    return arrays, dense, size


def _raw(tensor: Any) -> Array:
    """A tensor's elements, flat and without a copy where it is contiguous already."""
    import torch

    dense = tensor.detach().contiguous()
    array: Array = (dense.view(torch.int16) if dense.dtype is torch.bfloat16 else dense).numpy()
    return array.reshape(-1)


def written(arrays: list[Array], places: list[int], size: int, between: int = 0) -> int:
    """A descriptor of an unnamed file with these arrays at these places, in bytes, the places in
    ascending order; and one value in the bytes behind each."""
    descriptor = memfd(b"")
    os.truncate(descriptor, max(size, 1))
    with mmap.mmap(descriptor, 0) as mapping:
        for array, place in zip(arrays, places, strict=True):
            whole = np.frombuffer(mapping, array.dtype, array.size, place)
            np.copyto(whole, array)
            del whole  # a view would keep the mapping open
        ends = [*places[1:], size][: len(places)]
        for array, place, after in zip(arrays, places, ends, strict=True):
            end = place + array.nbytes
            mapping[end:after] = bytes([between]) * (after - end)
    return descriptor


def _count(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))
