"""Finds a module's index outputs and the values that they rank, through PyTorch's dispatcher.

An index that is an output as it was made, or reshaped, or in another type, can be judged by what it
points at (`envs/referee/ties.py`). What is computed from an index further cannot. A stable sort has
one order only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.referee.ties import Ranking, Ranks
from kernelwright.envs.referee.tolerance import SMALLEST, Floats
from kernelwright.envs.reference.decisions import LAST_BY_DEFAULT, OF_ONE, RANKING, Run
from kernelwright.envs.reference.module import Drawn, array_of, copies, forward_float64
from kernelwright.envs.reference.near_ties import TIMES
from kernelwright.envs.reference.plain_loops import storage, tensors_in, watching, within

DIM_AT = {"kthvalue": 2, "topk": 2}
"""Which argument is the dimension, where it is not the second."""

COPIES = frozenset(("clone", "_to_copy", "contiguous", "reshape", "squeeze", "unsqueeze"))


@dataclass(slots=True)
class Ranked:
    """The values that an operator ranked, and its resulting indices."""

    ranks: Ranks
    dim: int
    values: Any
    places: Any
    """Its indices, with the dimension kept."""
    sorted_values: Any
    """The values at them; None where it gives none."""


class Watch:
    """Runs operators and records those that rank values."""

    def __init__(self) -> None:
        self.found: list[Ranked] = []
        self._held: dict[int, tuple[int, bool]] = {}
        """By storage: (the number of what is ranked, whether it holds the indices)."""
        self._alive: list[Any] = []
        """Tensors that are kept, so that their memory is not used again."""

    def __call__(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        out = func(*args, **kwargs)
        name = func._schema.name.removeprefix("aten::")
        if name in RANKING and args[0].dim():
            self._note(name, args, kwargs, out)
        elif func._schema.is_mutable:
            for one in tensors_in(args):
                self._held.pop(storage(one), None)
        elif name in COPIES:
            for one in tensors_in(args[:1]):
                if held := self._held.get(storage(one)):
                    self._hold(out, held)
        return out

    def _note(self, name: str, args: Any, kwargs: Mapping[str, Any], out: Any) -> None:
        if kwargs.get("stable"):
            return
        values, pair = args[0], isinstance(out, tuple | list)
        named = dict(zip(("self", "dim", "keepdim"), args, strict=False)) | dict(kwargs)
        place = DIM_AT.get(name, 1)
        dim = args[place] if len(args) > place else kwargs.get("dim")
        if name in LAST_BY_DEFAULT and dim is None:
            dim = -1
        if not pair and name not in ("argmax", "argmin"):
            return  # the largest of all, without its place
        places = out[1] if pair else out
        if dim is None:
            values, dim, places_kept = values.reshape(-1), 0, places.reshape(1)
        else:
            kept = places.dim() == values.dim()
            places_kept = places if kept else places.unsqueeze(dim)
        ranks = Ranks.EACH if name in OF_ONE else Ranks.ORDER
        if name == "topk" and not (args[4] if len(args) > 4 else named.get("sorted", True)):
            ranks = Ranks.SET
        number = len(self.found)
        self.found.append(
            Ranked(
                ranks,
                dim % values.dim(),
                values.clone(),
                places_kept.clone(),
                out[0].clone() if pair else None,
            )
        )
        self._hold(places, (number, True))
        if pair:
            self._hold(out[0], (number, False))

    def _hold(self, tensor: Any, what: tuple[int, bool]) -> None:
        self._held[storage(tensor)] = what
        self._alive.append(tensor)

    def holds(self, tensor: Any) -> tuple[int, bool] | None:
        """What this output is of (number, whether of the indices), all of it and in its order."""
        held = self._held.get(storage(tensor))
        if held is None:
            return None
        one = self.found[held[0]]
        whole = one.places if held[1] else one.sorted_values
        same = tensor.numel() == whole.numel() and bool(
            (tensor.reshape(-1) == whole.reshape(-1)).all()
        )
        return held if same else None


def ranks(spec: CaseSpec) -> bool:
    """Whether an output may be an index."""
    return any(one.dtype.startswith(("int", "uint")) for one in spec.outputs)


def ranks_equal_values(drawn: Drawn) -> bool:
    """Whether a module ranks values of which two in a row are equal."""
    model, state, arguments = drawn
    watch = Watch()
    within(watch, model, *copies(state, arguments))
    in_order = (one.values.sort(one.dim).values for one in watch.found)
    pairs = zip(in_order, watch.found, strict=True)
    return any(bool((one.diff(dim=of.dim) == 0).any()) for one, of in pairs)


def rankings(drawn: Drawn, near: float = 0.0, lossy: Sequence[Run] = ()) -> list[Ranking]:
    """The outputs that can be judged by what they point at.

    `near`: relative to a value that is computed, what rounding makes equal to it. `lossy`: runs of
    the module in which rounding moves what it computes.
    """
    model, state, arguments = drawn
    watch, in_float64 = Watch(), list[Watch]()
    outputs = within(watch, model, *copies(state, arguments))

    def watched(*given: Any) -> Any:
        in_float64.append(Watch())  # anew where it runs again, in its own type
        return within(in_float64[-1], *given)

    forward_float64(model, state, arguments, way=watched)
    exact = in_float64[-1]
    held = [watch.holds(one) for one in outputs]
    if len(exact.found) != len(watch.found):
        return []
    numbers = sorted({its[0] for its in held if its is not None and its[1]})
    lost = _lost(numbers, watch.found, exact.found, lossy)
    found = []
    for number, its in enumerate(held):
        if its is None or not its[1] or its[0] not in lost:
            continue
        one, off = watch.found[its[0]], lost[its[0]]
        beside = [n for n, other in enumerate(held) if other == (its[0], False)]
        found.append(
            Ranking(
                output=number,
                beside=beside[0] if beside else None,
                ranks=one.ranks,
                dim=one.dim,
                values=_doubles(exact.found[its[0]]),
                places=array_of(one.places),
                relative=near if off.any() else 0.0,
                lost=TIMES * off + (_smallest(one) if off.any() else 0.0),
            )
        )
    return found


def _lost(
    numbers: Sequence[int], own: Sequence[Ranked], exact: Sequence[Ranked], lossy: Sequence[Run]
) -> dict[int, Floats]:
    """By the number of what is ranked: the root mean square of what rounding moves each value by.

    It is 0 where the module itself rounds nothing: then only equal values are equal. A number is
    missing where float64 ranks values of another shape.
    """
    numbers = [n for n in numbers if own[n].values.shape == exact[n].values.shape]
    off = {n: _off(own[n], exact[n]) for n in numbers}
    total = {n: one for n, one in off.items() if one.any()}
    for run in lossy if total else ():
        watch = Watch()
        with watching(watch):
            run()
        again = watch.found[-len(exact) :]  # it may run twice, as float64 does
        for n in total:
            if len(again) == len(exact) and again[n].values.shape == exact[n].values.shape:
                # A square of what is off by 1e-170 would be 0.
                total[n] = np.hypot(total[n], _off(again[n], exact[n]))
    return off | {n: one / math.sqrt(1 + len(lossy)) for n, one in total.items()}


def _off(one: Ranked, exact: Ranked) -> Floats:
    """How far each value is off; 0 of what is not finite."""
    with np.errstate(invalid="ignore"):
        off = np.abs(_doubles(one) - _doubles(exact))
    return np.where(np.isfinite(off), off, 0.0)


def _smallest(one: Ranked) -> float:
    """What may be flushed to zero in its type."""
    return SMALLEST.get(str(one.values.dtype).removeprefix("torch."), 0.0)


def _doubles(one: Ranked) -> Floats:
    return array_of(one.values).astype(np.float64)
