"""Lower bound on the work of any kernel for a problem: bytes read, bytes written, multiply-adds.

Where in doubt it counts less; what it counts is shown by experiment, not read off the code:

- An input's element has to be read if another value there would change the output by more than is
  allowed, and if it is not the same in every draw. Sampled elements give the share, at the low end
  of its confidence interval. So an embedding counts the rows that were looked up, a lower triangle
  half, `x * 0` nothing.
- All of the output has to be written, because it was poisoned.
- A product counts only where a matrix product or convolution of two inputs is returned, through
  elementwise steps at most (`products.py`), and in so far as other values of it would change
  the output. Zeros, repeated values and low rank in the inputs lower it, as do fast algorithms.

So the second layer of a network, a chain that can be reassociated and a product that is summed up
count no arithmetic at all. Only the reference process imports this: it runs the problem's module.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from kernelwright.envs.referee.roofline import Work
from kernelwright.envs.reference.module import Reference, flatten
from kernelwright.envs.reference.products import Products, variety
from kernelwright.envs.reference.strides import is_view, values_of
from kernelwright.envs.types import Tolerance

SAMPLES = 16
"""Elements tried of each input: if all of them matter, 65 % of it count."""

DOUBT = 1e-3
"""Chance that more of an input is counted than matters."""

BUDGET_S = 0.5
"""Time after which no more elements are tried; those not tried do not count."""

FAST_ALGORITHM = 0.5
"""Share of the multiplications that algorithms such as Strassen's leave, at practical sizes."""


def least_work(reference: Reference, tolerances: Sequence[Tolerance]) -> Work:
    """The least that a kernel has to do for this case, up to the tolerance of each output."""
    probing = Probing(reference, tolerances)
    return Work(
        read_bytes=int(_read_bytes(probing)),
        written_bytes=sum(one.numel() * one.element_size() for one in probing.exact),
        multiply_adds=int(FAST_ALGORITHM * _multiply_adds(probing)),
    )


class Probing:
    """The module and one draw of its inputs, to test which elements change its output."""

    def __init__(self, reference: Reference, tolerances: Sequence[Tolerance]) -> None:
        self.model, state, arguments = reference.draw(0)
        self.distinct = [*map(values_of, arguments), *state.values()]
        """Without what an expanded tensor repeats, which need not be read again."""
        arguments = [one.contiguous() if is_view(one) else one for one in arguments]
        self.inputs, self.names = [*arguments, *state.values()], list(state)
        _, state, arguments = reference.draw(1)
        self.others = [*arguments, *state.values()]
        self.exact = self.forward(self.copies())
        self.limits = [_limit(*one) for one in zip(self.exact, tolerances, strict=True)]

    def copies(self) -> list[Any]:
        """The inputs, for a forward pass that may change them."""
        return [one.clone() if isinstance(one, torch.Tensor) else one for one in self.inputs]

    def forward(self, inputs: list[Any]) -> list[torch.Tensor]:
        first = len(inputs) - len(self.names)
        state = dict(zip(self.names, inputs[first:], strict=True))
        with torch.no_grad():
            return flatten(
                torch.func.functional_call(
                    self.model, state, tuple(inputs[:first]), tie_weights=False
                )
            )

    def changed(self, outputs: list[torch.Tensor]) -> int:
        """How many elements are off by more than is allowed."""
        pairs = zip(outputs, self.exact, self.limits, strict=True)
        return sum(int(_off(one, exact, limit).sum()) for one, exact, limit in pairs)


def _limit(exact: torch.Tensor, tolerance: Tolerance) -> float:
    """The most that is allowed of any element, so that a change above it is one anywhere."""
    finite = exact[exact.isfinite()].double()
    if not exact.is_floating_point() or not finite.numel():
        return 0.0
    spread = float(finite.std(correction=0))
    limit = tolerance.relative * float(finite.abs().max()) + tolerance.of_spread * spread
    return limit + tolerance.absolute


def _off(one: torch.Tensor, exact: torch.Tensor, limit: float) -> torch.Tensor:
    return (one - exact).abs() > limit if exact.is_floating_point() else one != exact


def _read_bytes(probing: Probing) -> float:
    """The bytes of all inputs that matter; the largest inputs are tried first."""
    sizes = {
        number: one.numel() * one.element_size()
        for number, one in enumerate(probing.distinct)
        if isinstance(one, torch.Tensor) and one.numel()
    }
    ends_s = time.monotonic() + BUDGET_S
    total = 0.0
    for number in sorted(sizes, key=lambda one: -sizes[one]):
        tries = list(_tries(probing, number, ends_s))
        share = least_share(sum(tries), len(tries))
        total += sizes[number] * min(share, variety(probing.inputs[number]))
    return total


def _tries(probing: Probing, number: int, ends_s: float) -> Iterator[bool]:
    """For sampled elements of an input: does the output change with another value there?

    The other values are the input's own largest and smallest, so that it could have had them. What
    another draw has in common is known without reading it.
    """
    tensor = probing.inputs[number]
    drawn = (tensor != probing.others[number]).reshape(-1)
    generator = torch.Generator().manual_seed(number)
    places = torch.randint(tensor.numel(), (SAMPLES,), generator=generator).tolist()
    values = (tensor.max(), tensor.min())
    for place in places:
        if time.monotonic() > ends_s:
            return
        yield bool(drawn[place]) and any(_matters(probing, number, place, one) for one in values)


def _matters(probing: Probing, number: int, place: int, value: torch.Tensor) -> bool:
    inputs = probing.copies()
    inputs[number].view(-1)[place] = value
    return _shown(lambda: probing.changed(probing.forward(inputs))) > 0


def _multiply_adds(probing: Probing) -> float:
    """The multiply-adds of products whose values are returned, each as far as it matters."""
    inputs = probing.copies()
    seen = Products(inputs)
    with seen:
        outputs = probing.forward(inputs)
    total = 0.0
    for number in seen.returned(outputs):
        product = seen.found[number]
        changed = _shown(lambda number=number: _changed_by(probing, number))  # type: ignore[misc]
        total += product.multiply_adds * min(1.0, changed / product.elements)
    return total


def _changed_by(probing: Probing, number: int) -> int:
    """How many elements of the output are others when the values of a product are."""
    inputs = probing.copies()
    with Products(inputs, shuffled=number):
        outputs = probing.forward(inputs)
    return probing.changed(outputs)


def _shown(count: Callable[[], int]) -> int:
    """A count; 0 where the module refuses values that it is never given, which shows nothing."""
    try:
        return count()
    except (RuntimeError, ValueError, IndexError):
        return 0


def least_share(hits: int, tries: int) -> float:
    """A share that is below the true one but for a chance of `DOUBT` (Clopper-Pearson).

    >>> least_share(0, 16), least_share(0, 0), round(least_share(16, 16), 2)
    (0.0, 0.0, 0.65)
    """
    if not hits:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        miss = 1 - middle
        tail = math.fsum(
            math.comb(tries, k) * middle**k * miss ** (tries - k) for k in range(hits, tries + 1)
        )
        low, high = (middle, high) if tail < DOUBT else (low, middle)
    return low
