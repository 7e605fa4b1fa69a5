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


CLASSES = """
import torch
import torch.nn as nn
import torch.nn.functional as F

GROUPS, ONE = 4, 1


def block(width, act=nn.ReLU):
    layers = [nn.Linear(width, width)]
    layers.append(act())
    return nn.Sequential(*layers)


def chosen(name):
    if name == "relu":
        return nn.ReLU()
    return nn.Tanh()


def convolved(x, weight, groups=1):
    return F.conv2d(x, weight, groups=groups)


def passed(*given, **named):
    return nn.Conv2d(*given, **named)


def applied(x, act):
    return act(x)


class Inner(nn.Module):
    kind = nn.Tanh

    def __init__(self, width, act=nn.ReLU, layer=None):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.act = act()
        self.layer = layer

    def forward(self, x):
        return self.act(self.fc(x))


class Wrapped(Inner):
    def __init__(self, width):
        super().__init__(width, act=nn.GELU)


class Holds(Inner):
    def forward(self, x):
        return self.layer(x) + x


class Model(nn.Module):
    act_layer = nn.ReLU
    conv = nn.Conv2d
    kept: type = nn.SiLU

    def __init__(self, width, groups=1, norm=None):
        super().__init__()
        self.groups = groups
        {made}

    def _stack(self, act):
        return nn.Sequential(act(), nn.Linear(4, 4))

    def forward(self, x):
        {body}


def get_init_inputs():
    "What the constructor is given."
    return [{given}]
"""


def of_classes(made: str, body: str, given: str = "8") -> Read:
    made = made.replace("\n", "\n        ")
    return read_operators(CLASSES.format(made=made, body=body, given=given))


@pytest.mark.parametrize(
    ("made", "body", "found"),
    [
        ("self.act = self.act_layer()", "return self.act(x)", ("relu",)),
        ("pass", "return self.act_layer()(x)", ("relu",)),
        ("self.act = self.kept()", "return self.act(x)", ("silu",)),
        ("self.one = Inner(8)", "return self.one(x)", ("linear", "relu")),
        ("self.one = Inner(8, nn.Tanh)", "return self.one(x)", ("linear", "tanh")),
        ("self.one = Inner(8, act=nn.ELU)", "return self.one(x)", ("linear", "elu")),
        ("self.one = Wrapped(8)", "return self.one(x)", ("linear", "gelu")),
        ("self.one = Holds(8, layer=nn.ReLU())", "return self.one(x)", ("relu", "add")),
        ("one = nn.ReLU()\nself.one = Holds(8, layer=one)", "return self.one(x)", ("relu", "add")),
        ("self.one = block(8)", "return self.one(x)", ("linear", "relu")),
        ("self.one = block(8, nn.Tanh)", "return self.one(x)", ("linear", "tanh")),
        ("self.one = block(8, act=Inner)", "return self.one(x)", ("linear", "linear", "relu")),
        (
            "self.a = nn.Sequential(block(8), nn.ELU())",
            "return self.a(x)",
            ("linear", "relu", "elu"),
        ),
        ("self.one = self._stack(nn.ELU)", "return self.one(x)", ("elu", "linear")),
        ("self.a = nn.ReLU()\nself.b = self.a", "return self.b(x)", ("relu",)),
        ("self.a = nn.ReLU().to(torch.float64)", "return self.a(x)", ("relu",)),
        (
            "if norm is None:\n    norm = nn.LayerNorm\nself.a = norm(8)",
            "return self.a(x)",
            ("layernorm",),
        ),
        ("pass", "return block(8)(x)", ("linear", "relu")),
        ("pass", "return applied(x, F.elu)", ("elu",)),
        ("self.a = nn.Tanh()", "return applied(x, self.a)", ("tanh",)),
    ],
)
def test_layers_are_known_whatever_class_function_or_argument_gives_them(
    made: str, body: str, found: tuple[str, ...]
) -> None:
    assert of_classes(made, body) == Read(found, ())


@pytest.mark.parametrize(
    ("made", "body", "given"),
    [
        ("self.act = chosen('relu')", "return self.act(x)", "8"),
        ("if norm is None:\n    norm = nn.LayerNorm\nself.act = norm(8)", "", "8, 1, nn.Tanh"),
        ("self.act = Holds(8).layer", "return self.act(x)", "8"),
        ("act = norm or nn.BatchNorm1d\nself.act = act(8)", "return self.act(x)", "8"),
    ],
)
def test_what_an_argument_or_a_function_chooses_is_not_taken_for_known(
    made: str, body: str, given: str
) -> None:
    assert of_classes(made, body or "return self.act(x)", given).unknown == ("act",)


@pytest.mark.parametrize(
    ("made", "body", "given", "found"),
    [
        ("self.c = nn.Conv2d(8, 8, 3, groups=4)", "return self.c(x)", "8", "groupconv"),
        ("self.c = nn.Conv2d(8, 8, 3, 1, 0, 1, 4)", "return self.c(x)", "8", "groupconv"),
        ("self.c = nn.Conv2d(8, 8, 3, groups=1)", "return self.c(x)", "8", "conv"),
        ("self.c = nn.Conv2d(8, 8, 3, groups=ONE)", "return self.c(x)", "8", "conv"),
        ("self.c = nn.Conv2d(8, 8, 3, groups=GROUPS)", "return self.c(x)", "8", "groupconv"),
        ("self.c = nn.Conv2d(8, 8, 3, groups=groups)", "return self.c(x)", "8", "conv"),
        ("self.c = nn.Conv2d(8, 8, 3, groups=groups)", "return self.c(x)", "8, 8", "groupconv"),
        ("self.c = nn.Conv2d(8, 8, 3, groups=self.groups)", "return self.c(x)", "8", "conv"),
        ("pass", "return F.conv2d(x, x, groups=self.groups)", "8", "conv"),
        ("pass", "return F.conv2d(x, x, groups=self.groups)", "8, GROUPS", "groupconv"),
        ("pass", "return F.conv_transpose2d(x, x, groups=2)", "8", "groupconvtranspose"),
        ("pass", "return convolved(x, x)", "8", "conv"),
        ("pass", "return convolved(x, x, GROUPS)", "8", "groupconv"),
        ("pass", "return convolved(x, x, self.groups)", "8, 2", "groupconv"),
        ("self.c = passed(8, 8, 3, groups=2)", "return self.c(x)", "8", "groupconv"),
        ("self.c = passed(8, 8, 3, 1, 0, 1, 2)", "return self.c(x)", "8", "groupconv"),
        ("self.c = passed(8, 8, 3)", "return self.c(x)", "8", "conv"),
        ("self.c = self.conv(8, 8, 3, groups=2)", "return self.c(x)", "8", "groupconv"),
        (
            "conv = nn.Conv2d\nself.c = conv(8, 8, 3, groups=2)",
            "return self.c(x)",
            "8",
            "groupconv",
        ),
        ("self.c = nn.Conv2d(8, 8, 3, 2, 1, dilation=2)", "return self.c(x)", "8", "conv"),
    ],
)
def test_a_convolution_in_groups_is_another_operator_than_one_of_all_channels(
    made: str, body: str, given: str, found: str
) -> None:
    assert of_classes(made, body, given) == Read((found,), ())
