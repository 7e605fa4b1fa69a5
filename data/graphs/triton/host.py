"""The Python around a kernel: `ModelNew`, with the layers of the problem's `Model`."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence

from kernelwright.data.graphs.kernel import Kernel, target_of
from kernelwright.data.graphs.nests import Nest
from kernelwright.data.graphs.operator import Tensor
from kernelwright.data.graphs.triton.text import USUAL_WARPS, Launch
from kernelwright.data.graphs.triton.words import python

NAMED = {"Linear": "out_features", "Embedding": "num_embeddings"}
NAMED |= {f"Conv{dims}d": "out_channels" for dims in (1, 2, 3)}
NAMED |= {f"ConvTranspose{dims}d": "in_channels" for dims in (1, 2, 3)}
"""What a layer calls the first size of its weight."""
WIDTH = 96
WORD = re.compile(r"\b[A-Za-z_]\w*\b")


class Host:
    """What the Python around a kernel calls tensors and sizes."""

    def __init__(
        self, kernel: Kernel, nests: Sequence[Nest], sizes: dict[str, str], code: str
    ) -> None:
        self.kernel, self.nests = kernel, nests
        self.init, self.layers = _init(code)
        self.worked_out = sizes
        self.of_tensors = [dim.text for one in kernel.given for dim in one.shape if dim.text != "1"]

    def pointers(self, launch: Launch) -> list[str]:
        found = re.findall(r"\b(\w+)_ptr\b", "\n".join(launch.lines.lines))
        inputs = [one.name for one in self.kernel.given]
        order = [one for one in dict.fromkeys(found) if one not in inputs]
        return [*(one for one in inputs if one in found), *order]

    def sizes(self, launch: Launch) -> list[str]:
        """The sizes that a function's lines have."""
        words = set(WORD.findall("\n".join(launch.lines.lines)))
        names = [*self.of_tensors, *self.worked_out, *launch.sizes]
        return [one for one in dict.fromkeys(names) if one in words]

    def function(self, launch: Launch) -> str:
        """The function on the device."""
        taken = [f"{one}_ptr" for one in self.pointers(launch)]
        taken += self.sizes(launch)
        taken += [f"{one}: tl.constexpr" for one in launch.blocks]
        body = "\n".join(launch.lines.lines)
        return f"@triton.jit\n{wrapped(f'def {launch.name}', taken)}:\n{body}\n"

    def module(self, launches: Sequence[Launch]) -> str:
        inputs = ", ".join(one.name for one in self.kernel.inputs)
        body = [*self._made(launches), "return out"]
        used = set(WORD.findall("\n".join(body)))
        lines = [*self._sizes(used), *body]
        text = "".join(f"        {line}\n" for line in lines)
        return f"class ModelNew(nn.Module):\n{self.init}    def forward(self, {inputs}):\n{text}"

    def _sizes(self, used: set[str]) -> list[str]:
        """The lines that name sizes."""
        worked_out = [f"{name} = {python(text)}" for name, text in self.worked_out.items()
                      if name in used]  # fmt: skip
        words = used | set(WORD.findall("\n".join(worked_out)))
        lines = []
        for one in self.kernel.inputs:
            names = [dim.text for dim in one.shape]
            if words & set(names):
                alone = len(names) == 1
                lines.append(f"{', '.join(names)} = {one.name}.shape{'[0]' if alone else ''}")
        for one in self.kernel.state:
            for d, dim in enumerate(one.shape):
                if dim.text in words:
                    lines.append(f"{dim.text} = {self._size(one, d)}")
        return [*lines, *worked_out]

    def _size(self, one: Tensor, number: int) -> str:
        layer = self._layer(one.name)
        if number == 0 and self.layers.get(layer) in NAMED:
            return f"self.{layer}.{NAMED[self.layers[layer]]}"
        return f"{self.tensor(one.name)}.shape[{number}]"

    def _layer(self, tensor: str) -> str:
        """The longest attribute that a tensor's name begins with."""
        found = [one for one in self.layers if tensor == one or tensor.startswith(f"{one}_")]
        return max(found, key=len, default="")

    def tensor(self, name: str) -> str:
        if name not in {one.name for one in self.kernel.state}:
            return name
        layer = self._layer(name)
        return f"self.{name}" if layer == name else f"self.{layer}.{name[len(layer) + 1 :]}"

    def _made(self, launches: Sequence[Launch]) -> list[str]:
        """The lines that make tensors and launch functions."""
        shapes = {target_of(self.nests, n): one.shape for n, one in enumerate(self.nests)}
        shapes["out"] = self.nests[-1].shape
        lines: list[str] = []
        made: set[str] = set()
        for launch in launches:
            for name in self.pointers(launch):
                if name in shapes and name not in made:
                    made.add(name)
                    lines.append(self._empty(name, [dim.text for dim in shapes[name]]))
            if launch.parts[0]:
                lines.append(self._empty(launch.parts[0], [launch.parts[1]]))
            lines.append(self._launch(launch))
        return lines

    def _empty(self, name: str, sizes: Sequence[str]) -> str:
        kind = ", dtype=torch.int64" if name == "out" and self.kernel.out.c_type != "float" else ""
        shape = python(", ".join(sizes)) or "()"
        return f"{name} = torch.empty({shape}, device={self.kernel.inputs[0].name}.device{kind})"

    def _launch(self, launch: Launch) -> str:
        grid = python(", ".join(launch.grid)) + ("," if len(launch.grid) == 1 else "")
        given = [self.tensor(one) for one in self.pointers(launch)]
        given += [launch.sizes.get(one, one) for one in self.sizes(launch)]
        given += [f"{name}={python(size)}" for name, size in launch.blocks.items()]
        given += [f"num_warps={launch.num_warps}"] if launch.num_warps != USUAL_WARPS else []
        return wrapped(f"{launch.name}[({grid})]", given, 8)


def wrapped(called: str, arguments: Sequence[str], pad: int = 0) -> str:
    """A call, on several lines where one would be long."""
    one = f"{called}({', '.join(arguments)})"
    if len(one) + pad < WIDTH:
        return one
    inner = " " * (pad + 4)
    lines = textwrap.wrap(
        ", ".join(arguments), WIDTH, initial_indent=inner, subsequent_indent=inner
    )
    return "\n".join([f"{called}(", *lines, f"{' ' * pad})"])


def _init(code: str) -> tuple[str, dict[str, str]]:
    """`__init__` of the problem's module, without documentation and types; and its layers' names
    and classes. A tensor of its own has none."""
    model = next(one for one in ast.parse(code).body if getattr(one, "name", "") == "Model")
    assert isinstance(model, ast.ClassDef)
    for one in model.body:
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            return _plain(one), _layers(one)
    return "", {}


def _plain(init: ast.FunctionDef) -> str:
    for arg in init.args.args:
        arg.annotation = None
    is_doc = isinstance(init.body[0], ast.Expr) and isinstance(init.body[0].value, ast.Constant)
    init.body = init.body[is_doc:]
    text = ast.unparse(init).replace("super(Model, self)", "super()")
    return "".join(f"    {line}\n" for line in text.splitlines()) + "\n"


def _layers(init: ast.FunctionDef) -> dict[str, str]:
    found = {}
    for node in init.body:
        match node:
            case ast.Assign(
                targets=[ast.Attribute(attr=name)],
                value=ast.Call(func=ast.Attribute(attr=made)),
            ):
                found[name] = made
    return found
