"""Operators are read off a module however its layers are named, listed and inherited."""

from __future__ import annotations

import pytest

from kernelwright.data.graphs.operator_sequence import Read, operators, read_operators

MODULE = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.functional import gelu as bell, softmax


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.low = nn.ReLU()

    def forward(self, x):
        return self.low(x)


class Model({base}):
    def __init__(self, act=None):
        super().__init__()
        {made}

{forward}
"""
FORWARD = "    def forward(self, x):\n        {body}\n"


def read(made: str, body: str, base: str = "nn.Module") -> Read:
    indented = made.replace("\n", "\n        ")
    forward = FORWARD.format(body=body.replace("\n", "\n        ")) if body else ""
    return read_operators(MODULE.format(base=base, made=indented, forward=forward))


@pytest.mark.parametrize(
    ("made", "body", "found"),
    [
        ("pass", "x += x.exp()\nreturn x", ("exp", "add")),
        ("pass", "x *= 2\nx -= 1\nreturn x", ("mul", "sub")),
        ("pass", "return softmax(x, dim=1)", ("softmax",)),
        ("pass", "return bell(x)", ("gelu",)),
        ("self.act: nn.Module = nn.ReLU()", "return self.act(x)", ("relu",)),
        ("self.act = F.relu", "return self.act(x)", ("relu",)),
        ("self.act = torch.tanh", "return self.act(x)", ("tanh",)),
        ("self.act = softmax", "return self.act(x)", ("softmax",)),
        ("self.act = lambda x: torch.exp(x)", "return self.act(x)", ("exp",)),
        ("self.a, self.b = nn.ReLU(), nn.Tanh()", "return self.b(self.a(x))", ("relu", "tanh")),
        ("self.a = self.b = nn.ReLU()", "return self.b(x)", ("relu",)),
        ("act = nn.ReLU()\nself.act = act", "return self.act(x)", ("relu",)),
        (
            "self.d = nn.ModuleDict({'a': nn.ReLU(), 'b': nn.Tanh()})",
            "return self.d['b'](x)",
            ("tanh",),
        ),
        (
            "self.l = nn.ModuleList([nn.ReLU(), nn.Tanh()])",
            "return self.l[1](self.l[0](x))",
            ("relu", "tanh"),
        ),
        (
            "l = []\nfor _ in range(2):\n    l.append(nn.ReLU())\nself.net = nn.Sequential(*l)",
            "return self.net(x)",
            ("relu",),
        ),
        (
            "l = [nn.ReLU()]\nl += [nn.Tanh()]\nself.net = nn.Sequential(*l)",
            "return self.net(x)",
            ("relu", "tanh"),
        ),
        (
            "self.l = nn.ModuleList()\nself.l.append(nn.ReLU())",
            "for one in self.l:\n    x = one(x)\nreturn x",
            ("relu",),
        ),
        ("self.add_module('act', nn.ReLU())", "return self.act(x)", ("relu",)),
    ],
)
def test_layers_are_known_however_they_come_to_be_on_self(
    made: str, body: str, found: tuple[str, ...]
) -> None:
    assert read(made, body) == Read(found, ())


def test_what_a_class_inherits_is_its_own() -> None:
    assert read("pass", "", base="Base") == Read(("relu",), ())
    assert read("self.low = nn.Tanh()", "", base="Base") == Read(("tanh",), ())
    above = "return torch.exp(super().forward(x))"
    assert read("pass", above, base="Base") == Read(("relu", "exp"), ())


@pytest.mark.parametrize(
    ("made", "body"),
    [
        ("self.act = act", "return self.act(x)"),
        ("self.act = ACT['relu']", "return self.act(x)"),
        ("self.act = chosen('relu')", "return self.act(x)"),
        ("pass", "return self.act(x)"),
        ("self.act = nn.Sequential(nn.ReLU(), act)", "return self.act(x)"),
        (
            "if act:\n    self.act = nn.ReLU()\nelse:\n    self.act = nn.Tanh()",
            "return self.act(x)",
        ),
    ],
)
def test_a_layer_that_the_text_does_not_tell_is_not_taken_for_known(made: str, body: str) -> None:
    assert read(made, body).unknown == ("act",)


def test_layers_of_an_unknown_list_are_unknown() -> None:
    found = read("self.l = nn.ModuleList(act)", "for one in self.l:\n    x = one(x)\nreturn x")
    assert found.unknown == ("one",)


def test_a_text_without_a_class_called_model_has_no_operators() -> None:
    assert operators("def Model(): ...") == ()
    assert operators("def (") == ()
    assert operators("x = " + "-" * 5000 + "1") == ()
