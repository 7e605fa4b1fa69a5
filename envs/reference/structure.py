"""Infers the meaning of an argument of `forward` from its values, and how it may be redrawn.

Positions, masks, permutations, offsets and lengths are often the same in every draw of
`get_inputs`: an answer that knows them need not read them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from kernelwright.envs.reference.distributions import SAMPLE, is_constant, is_float, same_values
from kernelwright.envs.reference.redraws import REDRAWS, ascends, lines_of

SMALL_NUMBER = 4
"""A number up to this may be the name of a way to compute, or of a dimension."""
FEW_LINES = 4
"""Most dimensions of coordinates, with a row or column for each."""

OURS = 0x5EED
"""Makes another seed of a draw's own, where a problem has seeded PyTorch's generator itself."""

Number = int | float | bool


@dataclass(frozen=True, slots=True)
class Redrawn:
    """The redrawn arguments of a case, by their numbers: tensors in each draw, by their names in
    `REDRAWS`; numbers with fixed values, which are part of the case."""

    tensors: tuple[tuple[int, str], ...] = ()
    numbers: tuple[tuple[int, Number], ...] = ()

    def changed(self, arguments: list[Any], seed: int) -> list[Any]:
        """The arguments, those redrawn from `seed`, whatever `get_inputs` seeded."""
        import torch

        if self.tensors:
            torch.default_generator.manual_seed(seed ^ OURS)
        found = list(arguments)
        for number, name in self.tensors:
            found[number] = REDRAWS[name](found[number])
        for number, value in self.numbers:
            found[number] = value
        return found

    def __bool__(self) -> bool:
        return bool(self.tensors or self.numbers)


NOTHING = Redrawn()


def redraws_of(
    value: Any, again: Any, sizes: Collection[int], *, ordered: bool, unique: bool
) -> tuple[str, ...]:
    """Names of redraws, the freest first, for a tensor that was equal in two draws; else none.

    `sizes`: of the other arguments, which tell lengths and offsets from other numbers. `ordered`:
    the module searches in what is sorted; `unique`: it writes to indices, so none may come twice.
    """
    import torch

    if not isinstance(value, torch.Tensor) or value.numel() == 0 or value.is_complex():
        return ()
    if value.shape != again.shape or not _equal(value, again):
        return ()
    if is_float(value):
        return _of_floats(value)
    whole = value.dtype != torch.bool
    value = value.long()
    if is_constant(value):
        return _of_a_constant(value, sizes)
    if is_flags(value) and not (whole and value.dim() == 1 and ascends(value)):
        return _of_flags(value)
    if not ascends(lines_of(value)):
        return _of_integers(value, unique)
    found = _of_ascending(value, sizes)
    return tuple(name for name in found if not (ordered and name == "shuffled"))


def _of_floats(value: Any) -> tuple[str, ...]:
    if is_constant(value):
        return ("moved",) if value.numel() == 1 else ()  # all distributions draw the others
    return _of_flags(value) if _has_two_values(value) else ("moved",)


def _of_a_constant(value: Any, sizes: Collection[int]) -> tuple[str, ...]:
    number, count = int(value.reshape(-1)[0]), value.numel()
    if number in (0, 1):
        return ("flags", "one flag")
    if number < 0 or count == 1:
        return ("smaller",)  # one length of none is all there is
    packed = count * number in sizes and number not in sizes
    lengths = ("lengths", "lengths, one as given", "smaller", "smaller, one as given")
    counts = ("counts, some none", "counts")
    return (*counts, *lengths) if packed else (*lengths, "counts")


def _of_flags(value: Any) -> tuple[str, ...]:
    chosen = value == value.max()
    if value.dim() > 0 and value.shape[-1] > 1 and bool((chosen.sum(-1) == 1).all()):
        square = value.dim() > 1 and value.shape[-1] == value.shape[-2]
        if square and bool((chosen.sum(-2) == 1).all()):
            return ("rows shuffled",)
        return ("one-hot", "rows shuffled")
    return ("flags", "rows shuffled", "one flag")


def _of_ascending(value: Any, sizes: Collection[int]) -> tuple[str, ...]:
    lines = lines_of(value)
    steps = lines.diff(dim=-1)
    first, last, step = int(lines.min()), int(lines.max()), int(steps.reshape(-1)[-1])
    if bool((steps == 1).all()):
        return ("shuffled",)
    if bool((steps <= 1).all()):
        return ("segments, some empty", "segments", "shuffled")
    if first == 0 and last in sizes:
        return ("offsets, some empty", "offsets")
    if first == 0 and step > 0 and last + step in sizes:
        return ("starts, some empty", "starts")
    return ("sorted", "shuffled")


def _of_integers(value: Any, unique: bool) -> tuple[str, ...]:
    lines = lines_of(value)
    ordered = lines.sort(dim=-1).values
    if unique or bool((ordered.diff(dim=-1) != 0).all()):
        return ("shuffled",)
    table = value.dim() == 2 and min(value.shape) <= FEW_LINES < max(value.shape)
    return ("relabelled", "shuffled") if table else ("within", "shuffled")


def _equal(value: Any, again: Any) -> bool:
    if len(value.reshape(-1)) > 2 * SAMPLE:  # most that vary show it there
        head, other = value.reshape(-1)[:SAMPLE], again.reshape(-1)[:SAMPLE]
        if not _equal(head, other):
            return False
    return same_values(value, again)


def _has_two_values(value: Any) -> bool:
    lowest, highest = value.min(), value.max()
    return bool(((value == lowest) | (value == highest)).all())


def is_flags(value: Any) -> bool:
    """Whether all of its values are zeros and ones."""
    return bool(((value == 0) | (value == 1)).all())


def is_number(value: Any) -> bool:
    """Whether an argument is no tensor but a number or a flag."""
    return isinstance(value, bool | int | float)


def other_numbers(value: Number, turn: int) -> tuple[Number, ...]:
    """What a number may be instead, most wanted first: less rather than more, as it may be a
    length or an index; of a small one, which may name one of several ways, all that are as small.
    `turn` changes which is first.

    >>> other_numbers(True, 0), other_numbers(8, 0), other_numbers(8, 1)
    ((False,), (7, 4, 2, 9), (4, 2, 7, 9))
    >>> other_numbers(0, 0), other_numbers(0, 1), other_numbers(1, 0), other_numbers(3, 0)
    ((1, 2, 3), (2, 3, 1), (2, 0, 3), (2, 1, 0, 4))
    >>> other_numbers(0.5, 0), other_numbers(0.0, 0)
    ((0.375, 0.25, 0.625), (0.5, 0.25))
    """
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, float):
        return _other_floats(value, turn)
    if value < 0:
        return (value + 1, value - 1)
    if value < 2:
        return turned({1: (2, 0, 3), 0: (1, 2, 3)}[value], turn)
    if value <= SMALL_NUMBER:
        return (*turned(tuple(range(value - 1, -1, -1)), turn), value + 1)
    lower = sorted({value - 1, value // 2, max(1, value // 4)} - {value}, reverse=True)
    return (*turned(tuple(lower), turn), value + 1)


def turned(numbers: tuple[Number, ...], turn: int) -> tuple[Number, ...]:
    """The same in another order, the one of this number first."""
    turn %= len(numbers)
    return (*numbers[turn:], *numbers[:turn])


def _other_floats(value: float, turn: int) -> tuple[float, ...]:
    if value != value or value in (float("inf"), -float("inf")):
        return ()
    if value == 0:
        return (0.5, 0.25)
    near = (value * 0.75, value * 0.5) if abs(value) <= 1 else (value * 1.25, value * 0.75)
    return (*turned(near, turn), *((value * 1.25,) if abs(value) <= 1 else ()))
