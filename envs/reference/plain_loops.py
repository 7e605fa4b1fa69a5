"""Rounding errors that plain loops would cause in a problem's module: measured, not counted.

A kernel may add up in any order, one term after another included, which PyTorch does not. So the
module is run in float64, and the result of each operator is moved as such a loop would move it: by
an amount that grows with the root of the number of its terms. What comes out is how far honest
kernels are off. On the way the longest sum is noted.

Functions import torch themselves, so that importing this module costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any

from kernelwright.envs.referee.tolerance import Array
from kernelwright.envs.reference.distributions import is_float
from kernelwright.envs.reference.module import Drawn, array_of, copies, flatten, forward_float64

OPERANDS = {"mm": (0, 1), "addmm": (1, 2), "bmm": (0, 1), "baddbmm": (1, 2), "convolution": (0, 1)}
"""Operator → which of its arguments are multiplied."""

PER_OPERATOR = 1.0
"""Units in the last place that a result is off, as a root mean square: more than rounding makes it,
as much as an approximated exponential is."""

PER_TERM = 0.2
"""The same of a sum, for the root of its number of terms: measured of float32 loops that add one
term after another 0.15, of positive terms and of those that cancel."""

PER_STEP = 0.3
"""The same of a sum, a difference or a product of two numbers, where they lose what they have to:
every float32 rounds these correctly."""
ROUNDED = frozenset(("add", "sub", "rsub", "mul"))

LOOPS = 4
"""How often a module runs with such losses, to see how far they move what it decides by."""

_SUMS = """
sum nansum mean var std var_mean std_mean norm linalg_vector_norm logsumexp prod trace dot vdot
native_layer_norm native_group_norm native_batch_norm _native_batch_norm_legit _softmax
_log_softmax cumsum cumprod logcumsumexp cdist _cdist_forward _pdist_forward avg_pool1d
avg_pool2d avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d scatter_add index_add
scatter_reduce _embedding_bag _embedding_bag_forward_only mse_loss l1_loss smooth_l1_loss
huber_loss binary_cross_entropy binary_cross_entropy_with_logits soft_margin_loss multi_margin_loss
multilabel_margin_loss_forward nll_loss nll_loss2d fft_r2c _fft_r2c _fft_c2r
"""
SUMS = frozenset(_SUMS.split())
ADDED = frozenset(("sum", "mean"))
LINEAR = ADDED | OPERANDS.keys() | {"mv", "dot"}
"""Sums whose sum is again one loop over all terms."""
OF_SQUARES = LINEAR | {"cumsum"}
"""Sums of terms whose squares are added up by the same operator of its operands' squares."""

ALONG = {"_softmax": 1, "_log_softmax": 1, "cumsum": 1, "cumprod": 1, "logcumsumexp": 1}
"""Operators whose outputs are as large as their inputs → which argument is the dimension."""

_ELEMENTWISE = """
add sub rsub mul div addcmul addcdiv lerp pow square sqrt rsqrt reciprocal exp exp2 expm1 log
log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sigmoid erf
erfc gelu silu mish softplus elu celu log_sigmoid_forward hardsigmoid hardswish logaddexp xlogy
lgamma digamma _native_batch_norm_legit_no_training hypot erfinv sinc i0 leaky_relu
"""
ELEMENTWISE = frozenset(_ELEMENTWISE.split())

STEPS = frozenset(("add", "sub", "rsub", "mul", "div"))
_CHOOSING = (
    "relu clamp clamp_min clamp_max hardtanh threshold abs maximum minimum max min amax amin"
)
BENDING = frozenset(_CHOOSING.split()) | (ELEMENTWISE - STEPS)
"""After one of these, a later sum is a loop of its own."""


class PlainLoops:
    """Gives results of operators the rounding errors of plain loops in a type with this unit in the
    last place (0: results stay exact), and counts the terms of sums.

    `most` is the number of values given to the module, and the most terms of a loop over sums.
    What a sum that cancels loses is that of the whole result's root mean square; `each`: of its own
    terms, and no more of sums that are not linear. `per_step`: what each step that is `ROUNDED`
    loses instead of `PER_OPERATOR`; with it they, and linear sums, lose nothing where float32 holds
    all of a result."""

    def __init__(
        self, most: int, unit: float = 0.0, *, each: bool = False, per_step: float | None = None
    ) -> None:
        self.most, self.unit, self.each, self.per_step = most, unit, each, per_step
        self._longest: dict[int, int] = {}
        """By storage: the terms of the longest sum that went into it."""
        self._added: dict[int, int] = {}
        """By storage: the terms that were added up for each element, by sums of sums."""

    def longest(self, tensor: Any) -> int:
        """The number of terms of the longest sum that went into it."""
        return self._longest.get(storage(tensor), 1)

    def __call__(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """The operator's result."""
        out = func(*args, **kwargs)
        whole = func._schema.name.removeprefix("aten::")
        name = whole.removesuffix("_") if func._schema.is_mutable else whole
        given = list(floats((*args, *kwargs.values())))
        terms = self._noted(name, terms_of(name, args, out), given, out)
        if self.unit and (terms > 1 or name in ELEMENTWISE):
            sizes = self._sizes(func, name, args, kwargs, terms)
            for one in floats(out):
                if not self._keeps(name, one):
                    self._move(one, self._lost(name, terms), terms, sizes)
        return out

    def _keeps(self, name: str, result: Any) -> bool:
        """Whether rounding leaves all of a result as it is."""
        steps = self.per_step is not None and name in ROUNDED | LINEAR
        return steps and float32_holds(result)

    def _lost(self, name: str, terms: int) -> float:
        """The root mean square of what a result is off, relative to it."""
        if self.per_step is not None and name in ROUNDED:
            return self.unit * self.per_step
        return self.unit * (PER_OPERATOR + PER_TERM * math.sqrt(terms))

    def _sizes(self, func: Any, name: str, args: Any, kwargs: Mapping[str, Any], terms: int) -> Any:
        """For each element of a linear sum the size of a sum of its terms that cancel."""
        if not self.each or terms == 1 or name not in OF_SQUARES or func._schema.is_mutable:
            return None
        squares = func(*(one * one if is_float(one) else one for one in args), **kwargs)
        return squares.abs_().sqrt_().mul_(terms**-0.5 if name == "mean" else 1.0)

    def _noted(self, name: str, terms: int, given: list[Any], out: Any) -> int:
        """The terms that a loop may add up for each element of this result.

        A sum of sums may be one loop over all; behind what is no sum they are two.
        """
        longest = max([1, *map(self.longest, given)])
        most = max((one.numel() for one in floats(out)), default=0)
        whole = [one for one in given if one.numel() >= most]  # a sum that is spread is one number
        added = max([1, *(self._added.get(storage(one), 1) for one in whole)])
        if name in ADDED and terms > 1:
            terms = max(terms, min(terms * added, self.most))
        if name in BENDING or (terms > 1 and name not in LINEAR):
            added = 1
        elif terms > 1:
            added = terms
        for one in floats(out):
            self._longest[storage(one)] = max(longest, terms)
            self._added[storage(one)] = added
        return terms

    def _move(self, result: Any, lost: float, terms: int, sizes: Any) -> None:
        """In place: nobody else has it yet."""
        import torch

        if terms == 1:
            result.mul_(noise_like(result).mul_(lost).add_(1))
            return
        usual = float(result.norm()) / math.sqrt(result.numel())  # of sums that cancel
        result.mul_(noise_like(result).mul_(lost).add_(1 + lost * float(torch.randn(()))))
        if sizes is not None:
            result.add_(noise_like(result).mul_(sizes), alpha=lost)
        elif math.isfinite(usual) and not self.each:
            result.add_(noise_like(result), alpha=lost * usual)


def float32_holds(tensor: Any) -> bool:
    """Whether every value of it is a float32. Of a few it may be chance: `x * 2.1` in float64 is a
    float32 for some x, of which `x * 2.1f` is another."""
    return bool((tensor.float().to(tensor.dtype) == tensor).all())


def noise_like(tensor: Any) -> Any:
    """Normal numbers. Drawn in float32, as PyTorch draws float64 ones 2.6 times as slowly."""
    import torch

    return torch.randn(tensor.shape, device=tensor.device).to(tensor.dtype)


def terms_of(name: str, args: Any, out: Any) -> int:
    """How many terms each element of an operator's result adds up; 1 where it is no sum."""
    if name == "convolution":
        weight = args[1]
        return max(1, int(weight.numel()) // max(1, int(weight.shape[1 if args[6] else 0])))
    if name in OPERANDS:
        return max(1, int(args[OPERANDS[name][0]].shape[-1]))
    if name in ("mv", "addmv"):
        return max(1, int(args[-1].numel()))
    if name not in SUMS:
        return 1
    given = list(floats(args))
    if not given:
        return 1
    largest = max(int(one.numel()) for one in given)
    if name in ALONG:
        shape = given[0].shape
        return max(1, int(shape[args[ALONG[name]]])) if shape else 1
    if name in ("scatter_add", "index_add", "scatter_reduce"):
        source = given[-1]
        return max(1, int(source.shape[args[1]])) if source.dim() else 1
    return max(1, largest // max(1, min((one.numel() for one in floats(out)), default=1)))


def tensors_in(values: Any) -> Iterator[Any]:
    """The tensors among these values, but for those without memory of their own (sparse ones)."""
    import torch

    if isinstance(values, torch.Tensor):
        if values.layout is torch.strided:
            yield values
    elif isinstance(values, tuple | list):
        for one in values:
            yield from tensors_in(one)


def floats(values: Any) -> Iterator[Any]:
    """The tensors of floats among these values, but for empty ones."""
    return (one for one in tensors_in(values) if is_float(one) and one.numel())


def storage(tensor: Any) -> int:
    """Names the memory that a tensor lies in; what is new there is noted before it is asked for."""
    return int(tensor.untyped_storage()._cdata)


def numbers_of(state: dict[str, Any], arguments: list[Any]) -> int:
    """How many numbers a module is given in tensors of floats."""
    return sum(int(one.numel()) for one in floats((*state.values(), *arguments)))


def longest_sums(model: Any, state: dict[str, Any], arguments: list[Any]) -> list[int]:
    """For each output the number of terms of the longest sum that went into it."""
    loops = PlainLoops(numbers_of(state, arguments))
    return [loops.longest(one) for one in within(loops, model, *copies(state, arguments))]


def as_loops(
    drawn: Drawn, unit: float, *, each: bool = False, per_step: float | None = None
) -> list[Array]:
    """The outputs with what plain loops lose in a type with this unit in the last place; `each` and
    `per_step` as in `PlainLoops`."""
    model, state, arguments = drawn
    loops = PlainLoops(numbers_of(state, arguments), unit, each=each, per_step=per_step)
    outputs = forward_float64(model, state, arguments, partial(within, loops))
    return [array_of(one) for one in flatten(outputs)]


def lossy_runs(
    drawn: Drawn, unit: float, per_step: float | None = PER_STEP
) -> list[Callable[[], list[Array]]]:
    """The module, so often, with what plain loops lose: to see how far that moves its values."""
    return [partial(as_loops, drawn, unit, each=True, per_step=per_step)] * LOOPS


Run = Callable[[Any, Any, Mapping[str, Any]], Any]
"""Runs an operator on its arguments."""


def watching(run_one: Run) -> AbstractContextManager[Any]:
    """Within it each operator of PyTorch is run by `run_one`."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):  # type: ignore[no-untyped-call]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            """No: it would import torch's compiler, which takes longer than all the rest."""
            return False

        def __torch_dispatch__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            return run_one(func, args, kwargs or {})

    mode: Any = Mode
    entered: AbstractContextManager[Any] = mode()
    return entered


def within(run_one: Run, model: Any, state: dict[str, Any], arguments: list[Any]) -> list[Any]:
    """The module's outputs, each operator run by `run_one`; what would be one operator by itself is
    done by products. It may change the tensors."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with ExitStack() as ended:
        ended.callback(
            torch.backends.mha.set_fastpath_enabled, torch.backends.mha.get_fastpath_enabled()
        )
        torch.backends.mha.set_fastpath_enabled(False)
        ended.callback(torch._C._set_mkldnn_enabled, torch._C._get_mkldnn_enabled())
        torch._C._set_mkldnn_enabled(False)
        ended.enter_context(torch.no_grad())  # in inference mode products stay within operators
        ended.enter_context(sdpa_kernel(SDPBackend.MATH))
        ended.enter_context(watching(run_one))
        return flatten(
            torch.func.functional_call(model, state, tuple(arguments), tie_weights=False)
        )
