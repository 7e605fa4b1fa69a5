"""Lets an answer find its tensors on a GPU where there is none: they lie in ordinary memory.

Answers ask (`assert x.is_cuda`, `torch.empty(n, device="cuda")`), and would fail here for no fault
of theirs. What they make without naming a device is on the host for them, as it would be with a
GPU: such a tensor is marked, and a kernel that is given one fails as it fails in Triton.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from kernelwright.envs.guest.graphs import GRAPHS

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)
MARK = "_kernelwright_on_host"
CUDA_VERSION = "12.8"
"""Of a PyTorch that could be built for the GPU."""


class Properties(NamedTuple):
    """What a device tells of itself (envs/system/device_properties.py has its numbers)."""

    name: str
    major: int
    minor: int
    multi_processor_count: int
    warp_size: int
    regs_per_multiprocessor: int
    max_threads_per_block: int
    max_threads_per_multi_processor: int
    shared_memory_per_block: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    L2_cache_size: int
    total_memory: int
    clock_rate: int
    memory_clock_rate: int
    memory_bus_width: int


class Happened:
    """A stream or an event of a device on which everything has happened already."""

    __slots__ = ()
    cuda_stream, device = 0, GPU

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def synchronize(self, *_: Any) -> None:
        pass

    record = wait = wait_event = wait_stream = synchronize

    def query(self) -> bool:
        return True

    def record_event(self, *_: Any) -> Happened:
        return self

    def elapsed_time(self, other: Happened) -> float:
        return 0.0

    def __enter__(self) -> Happened:
        return self

    def __exit__(self, *_: Any) -> None:
        pass


class Chosen(nullcontext[None]):
    """`with torch.cuda.device(0):`, where there is no other."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()


def as_on_device(model_class: Callable[..., Any]) -> Callable[..., Any]:
    """Makes the model as a harness with a GPU would: `model_class(...).to("cuda")`."""
    return lambda *given: model_class(*given).to(GPU)


@cache
def pretend(properties: Properties) -> None:
    """From here on, in this process, tensors and `torch.cuda` answer as if there were this GPU."""
    AsOnDevice().__enter__()  # type: ignore[no-untyped-call]
    for name, value in _cuda(properties).items():
        setattr(torch.cuda, name, value)
    torch.version.cuda = CUDA_VERSION
    torch._C._cuda_getCurrentRawStream = lambda *_: 0  # a PyTorch without CUDA has none to ask for


def on_host(tensor: torch.Tensor) -> bool:
    """Whether the answer made it without naming the GPU."""
    return hasattr(tensor, MARK)


class AsOnDevice(TorchFunctionMode):
    """Answers for tensors where they are, and makes them in ordinary memory wherever asked for."""

    def __torch_function__(
        self, function: Any, types: Any, given: tuple[Any, ...] = (), named: Any = None
    ) -> Any:
        named = dict(named or {})
        if function in ABOUT:
            return ABOUT[function](given[0])
        if function is torch._C._nn._parse_to:  # of `Module.to`, which then moves its tensors
            return function(*given, **named)
        if function in PLACES:
            function, given, named = torch.Tensor.to, (given[0], PLACES[function]), {}
        moves = function == torch.Tensor.to
        asked = _asked_of_to(given, named) if moves else _device(named.get("device"))
        sources = _tensors((*given, *named.values()))
        where = asked or next(map(_where, sources), CPU)
        if named.get("device") is not None:
            named["device"] = CPU
        result = function(*(map(_here, given) if moves else given), **named)
        if moves and result is given[0] and where != _where(result):
            # `to` gave the same tensor back, and one object cannot be marked as in both places.
            result = result.clone()
        for tensor in _tensors((result,)):
            _put(tensor, where)
        return result


def _where(tensor: torch.Tensor) -> torch.device:
    return CPU if on_host(tensor) else GPU


def mark(tensor: torch.Tensor) -> None:
    """From here on it is on the host."""
    setattr(tensor, MARK, True)


def _put(tensor: torch.Tensor, where: torch.device) -> None:
    if where.type == "cpu":
        mark(tensor)
    elif on_host(tensor):
        delattr(tensor, MARK)


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    for one in values:
        if isinstance(one, torch.Tensor):
            yield one
        elif type(one) in (list, tuple):
            yield from _tensors(one)


def _device(value: Any) -> torch.device | None:
    """The device that an argument names; None where it names none."""
    if type(value) is int:
        return GPU
    return torch.device(value) if isinstance(value, str | torch.device) else None


def _here(value: Any) -> Any:
    return CPU if _device(value) else value


def _asked_of_to(given: tuple[Any, ...], named: dict[str, Any]) -> torch.device | None:
    """The device that `Tensor.to` is asked for: by name, or as another tensor's."""
    other = next(_tensors((*given[1:], named.get("other"))), None)
    if other is not None:
        return _where(other)
    return next(filter(None, map(_device, (*given[1:2], named.get("device")))), None)


def _getter(attribute: str) -> Any:
    # What __torch_function__ is given as the function where an attribute is read.
    return getattr(torch.Tensor, attribute).__get__


ABOUT: dict[Any, Callable[[torch.Tensor], Any]] = {
    _getter("is_cuda"): lambda tensor: not on_host(tensor),
    _getter("is_cpu"): on_host,
    _getter("device"): _where,
    torch.Tensor.get_device: lambda tensor: -1 if on_host(tensor) else 0,
}
PLACES: dict[Any, torch.device] = {torch.Tensor.cuda: GPU, torch.Tensor.cpu: CPU}


def _cuda(device: Properties) -> dict[str, Any]:
    """The names of `torch.cuda` that answers ask, for one GPU."""
    return {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_capability": lambda *_, **__: (device.major, device.minor),
        "get_device_name": lambda *_, **__: device.name,
        "get_device_properties": lambda *_, **__: device,
        "is_bf16_supported": lambda *_, **__: True,
        "current_stream": lambda *_, **__: Happened(),
        "default_stream": lambda *_, **__: Happened(),
        "Stream": Happened,
        "Event": Happened,
        "stream": Chosen,
        "device": Chosen,
        "synchronize": lambda *_, **__: None,
        "set_device": lambda *_, **__: None,
        "empty_cache": lambda: None,
        **GRAPHS,
    }
