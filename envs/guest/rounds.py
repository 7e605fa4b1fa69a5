"""The candidate's side of a round: maps what the referee sent, calls `ModelNew`, says so."""

from __future__ import annotations

import json
import mmap
import os
import socket
from math import prod
from typing import Any

import torch

from kernelwright.envs.guest.compute_guard import (
    INFERENCE,
    NOT_A_TENSOR,
    OTHER_DTYPE,
    OTHER_PARAMETERS,
    OTHER_SHAPE,
    leave,
    only_moves,
)

NONCE_BYTES, LAYOUT_AT = 16, 8
"""The referee's (envs/referee/layout.py), which cannot be imported in here."""
HEAD_BYTES = 1 + NONCE_BYTES
"""One letter and the nonce."""
MESSAGE_BYTES = 1 << 16


class Rounds:
    """Answers the referee: 'P' says what the next rounds look like, 'G' starts one."""

    def __init__(self, model_class: Any, channel: int) -> None:
        self.model_class = model_class
        self.channel = channel
        self.layout: dict[str, Any] = {}
        self.model: Any = None
        self.built_with: Any = None

    def serve(self) -> None:
        channel = socket.socket(fileno=self.channel)
        channel.send(b"R" + bytes(NONCE_BYTES))
        while True:
            message, files, _, _ = socket.recv_fds(channel, MESSAGE_BYTES, 2)
            if not message:
                leave(0)
            if message[:1] == b"P":
                self.prepare(json.loads(message[LAYOUT_AT:]))
                channel.send(message[:HEAD_BYTES])
            else:
                with only_moves():  # until it is said: a finaliser of the answer's runs late
                    self.play(*files)  # both are unmapped when it returns: no write comes late
                    channel.send(b"D" + message[1:HEAD_BYTES])

    def prepare(self, layout: dict[str, Any]) -> None:
        self.layout = layout
        if self.model is None or self.built_with != layout["init"]:
            self.model = self.model_class(*plain(layout["init"])).eval()
            self.built_with = layout["init"]
        if list(self.model.state_dict()) != layout["state"]:
            mine = list(self.model.state_dict())
            leave(OTHER_PARAMETERS, f"parameters are {mine}, the module's are {layout['state']}")

    def play(self, input_file: int, output_file: int) -> None:
        inputs = _map(input_file, mmap.PROT_READ)
        outputs = _map(output_file, mmap.PROT_READ | mmap.PROT_WRITE)
        tensors = [_view(inputs, one) for one in self.layout["inputs"]]
        with INFERENCE():
            found = self.forward(*self.arranged(tensors))
            for tensor, spec in zip(found, self.layout["outputs"], strict=True):
                _view(outputs, spec).copy_(tensor)

    def arranged(self, tensors: list[torch.Tensor]) -> tuple[dict[str, Any], list[Any]]:
        """(parameters and buffers by key, what `forward` is called with)."""
        named = dict(zip(self.layout["names"], tensors, strict=True))
        arguments = [
            one["value"] if "value" in one else named[one["name"]]
            for one in self.layout["arguments"]
        ]
        keys = self.layout["state"]
        return dict(zip(keys, tensors[len(tensors) - len(keys) :], strict=True)), arguments

    def forward(self, state: dict[str, Any], arguments: list[Any]) -> list[torch.Tensor]:
        """The outputs. Whoever calls holds `only_moves`: what is returned may be lazy."""
        result = torch.func.functional_call(self.model, state, tuple(arguments), tie_weights=False)
        found = _flatten(result)
        if len(found) != len(self.layout["outputs"]):
            leave(OTHER_SHAPE, f"{len(found)} outputs, {len(self.layout['outputs'])} expected")
        for tensor, spec in zip(found, self.layout["outputs"], strict=True):
            if list(tensor.shape) != spec["shape"]:
                leave(OTHER_SHAPE, f"shape {list(tensor.shape)}, expected {spec['shape']}")
            if str(tensor.dtype) != f"torch.{spec['dtype']}":
                leave(OTHER_DTYPE, f"{tensor.dtype}, expected {spec['dtype']}")
        return found


def _map(descriptor: int, protection: int) -> mmap.mmap:
    size = os.fstat(descriptor).st_size
    mapping = mmap.mmap(descriptor, size, mmap.MAP_SHARED | mmap.MAP_POPULATE, protection)
    os.close(descriptor)
    return mapping


def _view(mapping: mmap.mmap, spec: dict[str, Any]) -> torch.Tensor:
    dtype, count = getattr(torch, spec["dtype"]), prod(spec["shape"])
    with ours():
        if count == 0:
            return torch.empty(spec["shape"], dtype=dtype)
        flat = torch.frombuffer(mapping, dtype=dtype, count=count, offset=spec["offset"])
        return flat.reshape(spec["shape"])


def _flatten(output: Any) -> list[torch.Tensor]:
    if type(output) is torch.Tensor:
        return [output]
    if isinstance(output, dict):
        return [tensor for one in output.values() for tensor in _flatten(one)]
    if isinstance(output, list | tuple):
        return [tensor for one in output for tensor in _flatten(one)]
    if isinstance(output, bool | int | float):
        return [torch.tensor(output)]
    leave(NOT_A_TENSOR, f"forward returned a {type(output).__name__}")
    return []


def invented(spec: dict[str, Any]) -> torch.Tensor:
    """A tensor of this kind with ones in it, where nothing depends on the values."""
    with ours():
        return torch.ones(spec["shape"], dtype=getattr(torch, spec["dtype"]))


def ours() -> Any:
    """Within it no mode is asked about PyTorch's functions: neither as_on_device's nor another."""
    return torch._C.DisableTorchFunction()


def plain(value: Any) -> Any:
    """JSON's value with tuples in it, which are written as {"tuple": [...]}."""
    if isinstance(value, dict) and set(value) == {"tuple"}:
        return tuple(plain(one) for one in value["tuple"])
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value
