"""Draws non-contiguous inputs: values are drawn without gaps, then laid out with the original
strides.

Trusted code. Functions import torch themselves, so that importing this module costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

VECTOR_BYTES = 16
"""What kernels read at once: whether a tensor may be read so is a part of how it lies."""


def is_view(one: Any) -> bool:
    """Whether it is a tensor that lies otherwise than its values are counted: transposed, a slice,
    expanded, or not where a vector of values may begin."""
    if not hasattr(one, "is_contiguous") or not one.numel():
        return False
    first_bytes = one.storage_offset() * one.element_size()
    return not one.is_contiguous() or bool(first_bytes % VECTOR_BYTES)


def values_of(one: Any) -> Any:
    """A tensor's values, contiguous, each of those that an expanded one repeats once; anything
    else as it is."""
    return _unexpanded(one).contiguous() if hasattr(one, "is_contiguous") else one


def laid_out(values: Any, like: Any) -> Any:
    """These values, as `values_of` gives them, in a tensor that lies as another does.

    In the gaps are the same values from the last to the first: who takes them for the tensor's
    reads others, but none that it could not have.
    """
    if not is_view(like):
        return values
    shape, strides, first = tuple(like.shape), like.stride(), like.storage_offset()
    steps = zip(shape, strides, strict=True)
    count = first + 1 + sum((size - 1) * stride for size, stride in steps)
    flat = values.reshape(-1).flip(0)
    storage = flat.repeat(-(-count // len(flat)))[:count].clone()
    found = storage.as_strided(shape, strides, first)
    places = _unexpanded(found)
    try:
        places.copy_(values)
    except RuntimeError:  # windows that overlap: where they do, one of the values is in all
        _put_one_by_one(storage, places, values)
    return found


def whole(one: Any) -> Any:
    """All of the storage that a tensor is a view of, flat."""
    count = one.untyped_storage().nbytes() // one.element_size()
    return one.as_strided((count,), (1,), 0)


def moved(one: Any, device: Any) -> Any:
    """The same tensor on a device, laid out as it is here."""
    if one.is_contiguous():
        return one.to(device, copy=True)
    return (
        whole(one).to(device, copy=True).as_strided(one.shape, one.stride(), one.storage_offset())
    )


def copied(one: Any) -> Any:
    """The same values in memory of its own, laid out as they are; anything else as it is."""
    if not hasattr(one, "clone"):
        return one
    return moved(one, one.device) if is_view(one) else one.clone()


@contextmanager
def without_cuda() -> Iterator[None]:
    """Within it what would be made on a GPU is made where tensors are made by default."""
    import torch

    class Here(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, function: Any, _: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = dict(kwargs or {})
            if function is torch.Tensor.cuda:
                return args[0]
            if _is_cuda(kwargs.get("device")):
                del kwargs["device"]
            if function is torch.Tensor.to:
                args = tuple(one for one in args if not _is_cuda(one))
                if len(args) == 1 and not kwargs:
                    return args[0]
            return function(*args, **kwargs)

    with Here():
        yield


def _is_cuda(device: Any) -> bool:
    return str(device).partition(":")[0] == "cuda" if not isinstance(device, int) else False


def _unexpanded(one: Any) -> Any:
    """Of each dimension that repeats its values only the first."""
    for dim, stride in enumerate(one.stride()):
        if stride == 0 and one.shape[dim] > 1:
            one = one.narrow(dim, 0, 1)
    return one


def _put_one_by_one(storage: Any, places: Any, values: Any) -> None:
    import torch

    numbers = torch.arange(len(storage)).as_strided(
        places.shape, places.stride(), places.storage_offset()
    )
    storage[numbers.reshape(-1)] = values.reshape(-1)
