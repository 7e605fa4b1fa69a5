"""Finds a module's index outputs and the values that they rank, through PyTorch's dispatcher.

An index that is an output as it was made, or reshaped, or in another type, can be judged by what it
points at (`envs/referee/ties.py`). What is computed from an index further cannot. A stable sort has
one order only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.referee.ties import Ranking, Ranks
from kernelwright.envs.reference.module import array_of, copies, forward_float64
from kernelwright.envs.reference.plain_loops import storage, tensors_in, within

OF_ONE = frozenset(("argmax", "argmin", "max", "min", "median", "nanmedian", "kthvalue", "mode"))
"""Operators that find one value of each row."""

LAST_BY_DEFAULT = frozenset(("sort", "topk", "kthvalue", "mode"))
"""Operators that rank along the last dimension where they are told none."""

RANKING = OF_ONE | LAST_BY_DEFAULT

DIM_AT = {"kthvalue": 2, "topk": 2}
"""Which argument is the dimension, where it is not the second."""

COPIES = frozenset(("clone", "_to_copy", "contiguous", "reshape", "squeeze", "unsqueeze"))

TIMES = 4.0
"""Values that the module itself is off by so little, but for this factor, may be taken as equal."""


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


def rankings(drawn: tuple[Any, dict[str, Any], list[Any]], near: float) -> list[Ranking]:
    """The outputs that can be judged by what they point at. `near`: relative to a value that is
    computed, what rounding makes equal to it."""
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
    found = []
    for number, its in enumerate(held):
        if its is None or not its[1]:
            continue
        one, wide = watch.found[its[0]], exact.found[its[0]]
        beside = [n for n, other in enumerate(held) if other == (its[0], False)]
        own, values = (array_of(it).astype(np.float64) for it in (one.values, wide.values))
        if own.shape != values.shape:
            continue
        off = _largest_off(own, values)
        found.append(
            Ranking(
                output=number,
                beside=beside[0] if beside else None,
                ranks=one.ranks,
                dim=one.dim,
                values=values,
                places=array_of(one.places),
                relative=near if off else 0.0,
                absolute=TIMES * off,
            )
        )
    return found


def _largest_off(own: Any, values: Any) -> float:
    """0 where what is ranked is not rounded at all: then only equal values are equal."""
    with np.errstate(invalid="ignore"):
        off = np.abs(own - values)
    return float(off[np.isfinite(off)].max(initial=0.0))
