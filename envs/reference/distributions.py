"""Input distributions of cases, as changes to the values that the problem draws; kernels must
handle all of them.

A kernel is trained on and shown one distribution. What it may be tempted to leave out shows on
others: an epsilon where a row is all zeros, a bias where it is not the zero that it was made as, a
branch for small values where all of them are small.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelwright.envs.reference import value_kinds as kinds
from kernelwright.envs.types import Case, Problem, Role

SPREAD = 0.3
"""How far parameters are drawn from their values, as a share of those."""
SPECIAL_SHARE, ZEROED_SHARE = 0.25, 0.125
"""Of the values, and of the rows and columns, that are special."""
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.0, -4.0)
"""Where rounding, signs, comparisons and steps have their edges; all arithmetic agrees on them."""
NOT_NEGATIVE = tuple(sorted({abs(one) for one in SPECIAL}))
POSITIVE = NOT_NEGATIVE[1:]
SAMPLE = 1024
"""Values that a tensor begins with, most of which show already that it is no mask."""
LONG = 8
"""Rows of this length are in order by chance once in forty thousand times."""
LEAST_SHARE = 0.5
"""A constant between this and 1 is a share of something that may grow without end above 1."""
FINE, UNDERFLOWS = 2.0**-40, 2.0**-160
"""Relative to a value, and by itself: what float64 has and float32 has not."""
DOUBLE = "torch.float64"
NEAR, FEWEST_PAIRS = (FINE, -FINE, 2.0**-26, -(2.0**-26)), 16
LARGER, TWICE = 8.0, 2.0
HUGE, LARGE = 2.0**14, 2.0**8
OTHER_VALUES, OTHER_NUMBERS = ", other values", ", other numbers"
BUT_FLAGS = ", other numbers but flags"
"""What the names of cases of the timed sizes end with."""
FEW_SHARE = 1e-4
"""Largest share of changed values, where all others are as the problem draws them; four of a small
tensor."""
EXTREMES_SHARE, EXTREMES_SEED = 0.8, 0x0E2D5
"""Share of draws that have a tensor's largest and smallest values at its ends; in the others nobody
can tell a maximum from these alone. And what makes their seed another one than the values'."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Floating-point inputs become `x * factor + offset`; some of them are `special`, and, where 0
    is among these, some rows and columns are zeros.

    `few`: only so few of them that no sample of the values shows it; `each`: all of them, and no
    rows. `states`: what a kernel could take for a constant is drawn: parameters, buffers
    (`drawn_states.py`), and arguments that are one number over and over. `kind`: what is changed
    instead, of `CHANGES` (envs/reference/value_kinds.py). `gentler` is what a module is asked that
    cannot bear this. Arguments of another kind are drawn by envs/reference/structure.py.
    """

    factor: float = 1.0
    offset: float = 0.0
    special: tuple[float, ...] = ()
    few: bool = False
    each: bool = False
    states: bool = True
    kind: str = ""
    gentler: str = "given"

    def changed(self, value: Any) -> Any:
        """An argument of `forward` as this distribution has it; what is no value, as it is."""
        if not is_float(value):
            return value
        if self.states and value.numel() > 1 and is_constant(value):
            return drawn(value)
        same = (self.factor, self.offset, self.special, self.kind) == (1.0, 0.0, (), "")
        if same or self.kind in LIMIT_KINDS or is_mask(value):
            return value
        if self.kind:
            return in_order_of(value, kinds.CHANGES[self.kind](value, self.factor))
        if self.few:
            return in_order_of(value, with_few(value, self._moved))
        moved = self._moved(value.reshape(-1)).view_as(value) if self.each else self._moved(value)
        return in_order_of(value, moved)

    def _moved(self, value: Any) -> Any:
        moved = value * self.factor + self.offset
        return with_special(moved, self.special) if self.special else moved


def all_changed(
    made: Sequence[Any], distribution: Distribution, held: Collection[str | int] = ()
) -> list[Any]:
    """The arguments of `forward` as this distribution has them, but for the numbers in `held`."""
    found = [
        one if number in held else distribution.changed(one) for number, one in enumerate(made)
    ]
    for number, one in enumerate(found if distribution.special else ()):
        like = next((it for it in found[:number] if is_pair(it, one)), None)
        if like is not None and number not in held:
            found[number] = in_order_of(made[number], nearly_equal(one, like))
    if not distribution.states or distribution.kind:
        return found
    return [
        with_extremes_at_ends(one, number) if is_float(one) and number not in held else one
        for number, one in enumerate(found)
    ]


AS_MADE, GIVEN, OTHERS = "as_made", "given", "a few others"
FEW = {
    OTHERS: Distribution(LARGER, special=SPECIAL, gentler=f"{OTHERS}, none negative"),
    f"{OTHERS}, none negative": Distribution(
        LARGER, special=NOT_NEGATIVE, gentler=f"{OTHERS}, positive"
    ),
    f"{OTHERS}, positive": Distribution(LARGER, special=POSITIVE, gentler="a few twice as large"),
    "a few twice as large": Distribution(TWICE),
}
KINDS = {
    kinds.CLUSTERED: Distribution(LARGER, kind=kinds.CLUSTERED, gentler="clustered, evenly"),
    "clustered, evenly": Distribution(
        LARGER, kind="evenly_clustered", gentler="clustered, twice as large"
    ),
    "clustered, twice as large": Distribution(TWICE, kind="evenly_clustered"),
    kinds.IMPULSE: Distribution(HUGE, kind=kinds.IMPULSE, gentler=kinds.SMALLER_IMPULSE),
    kinds.SMALLER_IMPULSE: Distribution(
        LARGE, kind=kinds.IMPULSE, gentler=f"{kinds.IMPULSE}, small"
    ),
    f"{kinds.IMPULSE}, small": Distribution(LARGER, kind=kinds.IMPULSE),
    kinds.LONG_MEMORY: Distribution(
        LARGER, kind=kinds.LONG_MEMORY, gentler=f"{kinds.LONG_MEMORY}, smaller"
    ),
    f"{kinds.LONG_MEMORY}, smaller": Distribution(TWICE, kind=kinds.LONG_MEMORY),
    kinds.NEAR_BOUNDARY: Distribution(
        LARGER, kind=kinds.NEAR_BOUNDARY, gentler=f"{kinds.NEAR_BOUNDARY}, within range"
    ),
    f"{kinds.NEAR_BOUNDARY}, within range": Distribution(kind="within_range"),
    kinds.USUAL_RANGE: Distribution(kind=kinds.USUAL_RANGE),
    kinds.NEAR_DEGENERATE: Distribution(kind=kinds.NEAR_DEGENERATE),
    kinds.ALL_DEGENERATE: Distribution(kind=kinds.ALL_DEGENERATE),
}
"""What only shows on few inputs (envs/reference/value_kinds.py)."""
NEAR_OVERFLOW, AROUND_LITERALS = "near_overflow", "around_literals"
SIGNED_ROWS = "signed_rows"
LIMIT_KINDS = (NEAR_OVERFLOW, SIGNED_ROWS, AROUND_LITERALS)
"""What only shows beyond limits of a module's graph (envs/reference/around_limits.py), which makes
the values as it knows the module."""
DISTRIBUTIONS = {
    AS_MADE: Distribution(states=False),
    GIVEN: Distribution(),
    "scaled": Distribution(LARGER),
    "shifted": Distribution(offset=-1.5),
    "near_zero": Distribution(factor=0.1),
    "special": Distribution(special=SPECIAL, gentler="special, none negative"),
    "special, none negative": Distribution(special=NOT_NEGATIVE, gentler="special, positive"),
    "special, positive": Distribution(special=POSITIVE),
    **KINDS,
    **{name: Distribution(kind=name) for name in LIMIT_KINDS},
    **{name: replace(one, few=True) for name, one in FEW.items()},
    **{f"each: {name}": replace(one, each=True) for name, one in FEW.items()},
}
"""By the name that a case has for it. Parameters are drawn in timed rounds too: what may be left
out there would make a kernel faster than it is."""


def from_the_hardest(name: str) -> list[str]:
    """A distribution and those that ask for less, down to what the problem draws.

    >>> from_the_hardest("scaled")
    ['scaled', 'given']
    """
    found = [name]
    while found[-1] not in (GIVEN, AS_MADE):
        found.append(DISTRIBUTIONS[found[-1]].gentler)
    return found


def judged_cases(
    problem: Problem, applicable: Sequence[str] = (), numbers: Collection[float] = ()
) -> tuple[Case, ...]:
    """The problem's cases, and more: the timed sizes with other values than are timed.

    A kernel can tell by its sizes that it is timed, and by a sample of its values: while all of
    them were others here, 64 told, and what was left out where they lay in [0, 1) was five times as
    fast and `correct`. So only a few are, at places that nobody knows who has not read all.
    `numbers` are those that `forward` takes; with any there is another such case with other ones.
    It is a case by itself, as rounds of the first come right before timed ones, which have the same
    numbers. With flags among others there is one more in which these alone stay: behind a flag that
    is off no other number is read.
    `applicable` are the kinds of values that the module's graph can show: a case for each, but for
    a problem whose own cases name some already. Who judges by another's rule (`AS_MADE`) asks for
    nothing more.
    """
    timed = problem.timed_case()
    if timed.distribution == AS_MADE:
        return problem.cases
    names = [(OTHER_VALUES, OTHERS)]
    names += [(BUT_FLAGS, OTHERS)] if len(set(map(is_flag, numbers))) > 1 else []
    names += [(OTHER_NUMBERS, OTHERS)] if numbers else []
    own = {one.distribution for one in problem.cases}
    left = [kind for kind in applicable if kind in LIMIT_KINDS or not own & KINDS.keys()]
    names += [(f", {kind}", kind) for kind in left if kind not in own]
    more = (
        replace(timed, name=f"{timed.name}{name}", distribution=kind, role=Role.HELD_OUT)
        for name, kind in names
    )
    return (*problem.cases, *more)


def has_timed_numbers(problem: Problem, case: Case) -> bool:
    """Whether numbers that `forward` takes are as `get_inputs` makes them in this case: who knows
    by them that it is timed must not know more."""
    timed = problem.timed_case().name
    return case.name in (timed, f"{timed}{OTHER_VALUES}", f"{timed}, {case.distribution}")


def same_values(value: Any, again: Any) -> bool:
    """Whether two tensors have one shape and equal values; NaN equals NaN."""
    if value.shape != again.shape:
        return False
    return bool(((value == again) | ((value != value) & (again != again))).all())


def is_flag(value: Any) -> bool:
    """Whether a number is a flag, or may be one."""
    return isinstance(value, int) and value in (0, 1)


def is_float(value: Any) -> bool:
    """Whether it is a tensor of floats."""
    return hasattr(value, "is_floating_point") and bool(value.is_floating_point())


def is_mask(value: Any) -> bool:
    """Whether a tensor has at most two different values: it chooses, it does not measure."""
    flat = value.reshape(-1)
    if len(flat) > 2 * SAMPLE and not is_mask(flat[:SAMPLE]):
        return False
    others = flat[flat != flat[:1]]
    return bool((others == others[:1]).all())


def in_order_of(given: Any, changed: Any) -> Any:
    """The changed values with what a kernel may rely on in those that were given: a zero is none
    (of a triangle, of what is sparse), a symmetric matrix is symmetric, sorted rows are sorted."""
    import torch

    found = torch.where(given == 0, given, changed)
    if is_symmetric(given):
        return found.triu() + found.triu(1).mT
    return found.sort(dim=-1).values if is_sorted(given) else found


def is_symmetric(value: Any) -> bool:
    """Whether each of its matrices is its own transpose."""
    if value.dim() < 2 or value.shape[-1] != value.shape[-2] or value.shape[-1] < 2:
        return False
    row, column = value[..., 0, :], value[..., :, 0]
    return bool((row == column).all()) and bool((value == value.mT).all())


def is_sorted(value: Any) -> bool:
    """Whether each of its rows is in ascending order, too long for chance to have put it so."""
    if value.dim() < 1 or value.shape[-1] < LONG:
        return False
    ascending = value[..., :-1] <= value[..., 1:]
    return bool(ascending[..., :2].all()) and bool(ascending.all())


def with_special(value: Any, special: tuple[float, ...] = SPECIAL) -> Any:
    """The values with special ones among them; with 0 among these, some rows (of the first
    dimension) and some columns (of the last) are zeros, one at least.

    Zeros, because every order of summation and every precision agrees on them: a row of another
    constant has a variance that is rounding noise.
    """
    import torch

    if value.dtype == torch.float64:
        special = (*special, *beside(special))
    among = torch.tensor(special, dtype=value.dtype)[torch.randint(len(special), value.shape)]
    value = torch.where(torch.rand(value.shape) < SPECIAL_SHARE, among, value)
    for dim in {0, value.dim() - 1} if value.dim() > 1 and 0.0 in special else ():
        count = value.shape[dim]
        if count > 1:
            chosen = torch.randperm(count)[: max(1, int(count * ZEROED_SHARE))]
            value.index_fill_(dim, chosen, 0.0)
    return value


def beside(special: tuple[float, ...]) -> tuple[float, ...]:
    """Values of float64 that float32 takes for these: a comparison in float32 is wrong there."""
    return tuple(one * (1 + FINE) if one else UNDERFLOWS for one in special)


def is_pair(one: Any, other: Any) -> bool:
    """Whether both are tensors of float64 of one shape, which may be compared."""
    both = is_float(one) and is_float(other)
    return both and str(one.dtype) == str(other.dtype) == DOUBLE and one.shape == other.shape


def nearly_equal(value: Any, like: Any) -> Any:
    """The values, a few of them so near the other ones that float32 takes them for equal."""
    import torch

    found, flat = value.reshape(-1).clone(), like.reshape(-1)
    if not len(flat):
        return value
    count = min(len(flat), max(FEWEST_PAIRS, int(len(flat) * FEW_SHARE)))
    places = torch.randint(len(flat), (count,))
    apart = torch.tensor(NEAR, dtype=value.dtype)[torch.randint(len(NEAR), (count,))]
    found[places] = flat[places] * (1 + apart)
    return found.view_as(value)


def with_few(value: Any, moved: Callable[[Any], Any]) -> Any:
    """The values, a few of them moved, at places that nothing connects.

    Now many, for whoever adds them up, and now a single one, for whoever looks at a tenth of them.
    """
    import torch

    found = value.clone(memory_format=torch.contiguous_format)
    if found.numel() == 0:
        return found
    flat = found.view(-1)
    most = max(4, int(len(flat) * FEW_SHARE))
    count = 1 << int(torch.randint(most.bit_length(), ()))
    places = torch.randint(len(flat), (count,))
    flat[places] = moved(flat[places])
    return found


def with_extremes_at_ends(value: Any, number: int) -> Any:
    """The values of this argument, in most draws with the largest and the smallest at the first and
    the last place, in either order. A maximum of all that leaves out a part at an end shows there.

    As they are where an order or a zero may mean something. PyTorch's generator stays as it is.
    """
    import torch

    own = torch.Generator().manual_seed(torch.initial_seed() ^ (EXTREMES_SEED + number))
    turn = float(torch.rand((), generator=own)) / EXTREMES_SHARE
    flat = value.reshape(-1)
    if turn >= 1 or is_mask(value) or (flat == 0).any() or not flat.isfinite().all():
        return value
    if is_symmetric(value) or is_sorted(value):
        return value
    flat = flat.clone()
    largest, smallest = (0, -1) if turn < 0.5 else (-1, 0)
    for place, extreme in ((largest, torch.argmax), (smallest, torch.argmin)):
        found = int(extreme(flat))
        flat[[place, found]] = flat[[found, place]]
    return flat.view(value.shape)


def drawn(tensor: Any, noise: Any = None) -> Any:
    """A constant becomes values of the size of one; what is positive stays so (a variance), and so
    does what is between 0 and 1 (a decay). `noise`: normal numbers to move them by, drawn already.
    """
    import torch

    if not is_float(tensor) or tensor.numel() == 0 or not tensor.isfinite().all():
        return tensor
    noise = (torch.randn(tensor.shape) if noise is None else noise) * SPREAD
    constant = is_constant(tensor)
    if (tensor > LEAST_SHARE * constant).all() and (tensor < 1).all():  # a decay: never above 1
        return (tensor.double().logit() + noise).sigmoid().to(tensor.dtype)
    if constant:
        sign = tensor.reshape(-1)[0].sign()
        return (noise if sign == 0 else sign * noise.exp()).to(tensor.dtype)
    if (tensor >= 0).all() and (tensor > 0).any():
        return (tensor * noise.exp()).to(tensor.dtype)
    size = tensor.float().square().mean().sqrt()
    return (tensor + noise * size).to(tensor.dtype)


def is_constant(tensor: Any) -> bool:
    """Whether it was made as one number, over and over."""
    flat = tensor.reshape(-1)
    return len(flat) > 0 and bool(flat[0] == flat[-1]) and bool((flat == flat[0]).all())
