"""Finds the matrix products and convolutions that any kernel for a forward pass must compute, with
their sizes.

Followed through PyTorch's dispatcher: a product of two inputs of the problem, as long as only
elementwise steps come after it. Products of computed operands, sums of two products and whatever is
reduced later may have shortcuts, and are dropped.

Only the reference process imports this (through `least_work`): it runs PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from kernelwright.envs.reference.plain_loops import OPERANDS

ELEMENTWISE = frozenset(
    {
        "relu",
        "tanh",
        "sigmoid",
        "gelu",
        "silu",
        "exp",
        "abs",
        "neg",
        "clamp",
        "clamp_min",
        "leaky_relu",
        "elu",
        "softplus",
        "hardtanh",
        "sin",
        "pow",
        "mul",
        "div",
        "clone",
    }
)
"""Steps that keep a product, with no other tensor in them."""

SUMS = frozenset({"add", "sub"})
"""Steps that keep a product, with one other tensor that holds none."""

LOOKED_AT = 1 << 14
"""Elements of an operand that are looked at for repetition."""

RANK_BLOCK = 64
"""Rows and columns of an operand that are looked at for low rank."""

ROUNDING = 1e-4
"""Singular values below this share of the largest are taken for rounding."""


@dataclass(frozen=True, slots=True)
class Product:
    """A product of two inputs: the multiply-adds that it takes, and its elements."""

    multiply_adds: float
    elements: int


class Products(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records the products of these inputs while it is active.

    With `shuffled` the values of the product of that number are moved one place on, to see where
    they matter.
    """

    def __init__(self, inputs: Iterable[Any], shuffled: int | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.shuffled = shuffled
        self.found: list[Product] = []
        self._inputs = {_storage(one) for one in _tensors(inputs)}
        self._carried: dict[int, int] = {}

    def returned(self, outputs: Iterable[torch.Tensor]) -> list[int]:
        """The numbers of the products that these tensors hold."""
        held = {self._carried.get(_storage(one)) for one in outputs}
        return sorted(number for number in held if number is not None)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: it would import torch's compiler, which takes longer than all the rest."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix("aten::").removesuffix("_")
        taken, given = _tensors((args, kwargs)), _tensors(out)
        # All results in the arguments' memory: a view, which changes nothing that was noted.
        if func._schema.is_mutable or not {_storage(one) for one in given} <= {
            _storage(one) for one in taken
        }:
            number = self._multiplied(name, args, kwargs, out)
            number = self._kept(name, taken) if number is None else number
            for one in given:
                self._note(one, number)
        return out

    def _note(self, tensor: torch.Tensor, number: int | None) -> None:
        """A storage was written: it holds this product, or none."""
        self._inputs.discard(_storage(tensor))
        self._carried.pop(_storage(tensor), None)
        if number is not None:
            self._carried[_storage(tensor)] = number

    def _multiplied(self, name: str, args: Any, kwargs: Any, out: Any) -> int | None:
        """The number of the product that this operator computed; None where it is no such."""
        if name not in OPERANDS or kwargs:  # alpha and beta
            return None
        operands = [args[place] for place in OPERANDS[name]]
        if not all(_storage(one) in self._inputs for one in operands):
            return None
        share = min(variety(one) for one in operands)
        if _storage(operands[0]) == _storage(operands[1]):
            share /= 2  # symmetric, perhaps
        work = _convolution(args, out) if name == "convolution" else _nonzero_products(*operands)
        self.found.append(Product(share * work, out.numel()))
        if self.shuffled == len(self.found) - 1:
            out.copy_(out.reshape(-1).roll(1).reshape(out.shape))
        return len(self.found) - 1

    def _kept(self, name: str, taken: list[torch.Tensor]) -> int | None:
        """The number of the product that this operator passes on; None where it passes none."""
        held = [self._carried.get(_storage(one)) for one in taken]
        if (name in ELEMENTWISE and len(held) == 1) or (name in SUMS and None in held):
            return next((number for number in held if number is not None), None)
        if name in SUMS and len(held) == 1:
            return held[0]
        return None


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [one for one in tree_leaves(tree) if isinstance(one, torch.Tensor)]


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def variety(operand: torch.Tensor) -> float:
    """The share of an operand that is new information: 1 for random values, little for a Toeplitz.

    Looks at some of its elements for repetition and at one corner for low rank.
    """
    if operand.numel() * operand.element_size() > operand.untyped_storage().nbytes():
        return 0.0  # expanded
    flat = operand.reshape(-1)
    generator = torch.Generator().manual_seed(0)
    places = torch.randperm(flat.numel(), generator=generator)[:LOOKED_AT]
    distinct = len(set(flat[places].tolist())) / len(places)
    rows = operand.reshape(-1, operand.shape[-1]) if operand.dim() > 1 else flat.reshape(1, -1)
    corner = rows[:RANK_BLOCK, :RANK_BLOCK].double().nan_to_num()
    rank = int(torch.linalg.matrix_rank(corner, rtol=ROUNDING)) / min(corner.shape)
    return min(distinct, rank)


def _nonzero_products(left: torch.Tensor, right: torch.Tensor) -> float:
    """Pairs of elements that are multiplied and not zero, of a (batched) matrix product."""
    columns = (left != 0).sum(dim=-2, dtype=torch.float64)
    rows = (right != 0).sum(dim=-1, dtype=torch.float64)
    return float((columns * rows).sum())


def _convolution(args: Any, out: torch.Tensor) -> float:
    """One multiplication for each output and channel, as the best algorithms for filters need."""
    weight, transposed = args[1], args[6]
    return 0.0 if transposed else float(out.numel() * weight.shape[1])
