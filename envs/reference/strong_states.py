"""Parameter states under which a module's output depends on early steps and on each input of a
batch.

A recurrent module as it is made forgets within tens of steps, and a deep stack of batch norms with
fresh running statistics gives nearly the same for every input. A kernel that leaves out most of the
work is right then. These change values only: what the module costs stays what it was.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from kernelwright.envs.reference.distributions import is_float

States = dict[str, Any]

CALIBRATED, OPEN_GATES, RANDOM_GATES = "calibrated", "open_gates", "random_gates"
ORTHOGONAL, SLOW_DECAYS, LARGER_WEIGHTS = "orthogonal", "slow_decays", "larger_weights"
ORTHOGONAL_FIRST, ORTHOGONAL_LAST = "orthogonal_first", "orthogonal_last"
WEAKER_INPUTS = "weaker_inputs"
LATCHED, KEEPING_ROWS, KEEPING_COLUMNS = "latched", "keeping_rows", "keeping_columns"

NOISE = 0.1
"""How far running statistics are from those of the inputs, as a share of a deviation."""
LEAST_VARIANCE = 1e-3
"""Of the mean variance of a layer's channels: one that gives the same always is rounding noise."""
FEWEST, GAIN, WEAKER, WEAKEST = 4, 1.7, 0.3, 0.03
KEEP, KEEP_OF_HALF = 2.0**20, 2.0**14
"""What shuts a number's own gate at once, even where it is small: slowly would be chaotic."""
GATED = re.compile(r"log|decay|gate|alpha|beta|gamma|lambda|forget|retention|tau", re.IGNORECASE)
"""Names of parameters of several dimensions that set how long something is remembered."""


def strengthened(
    model: Any, state: States, arguments: list[Any], names: Sequence[str], steps: int
) -> States:
    """The state with each of these changes made to it; drawn from PyTorch's generator."""
    for name in names:
        state = STRENGTHENINGS[name](model, state, arguments, steps)
    return state


def has_batch_norm(model: Any) -> bool:
    """Whether it has a batch norm with running statistics."""
    return bool(_batch_norms(model))


def calibrated(model: Any, state: States, arguments: list[Any], _: int) -> States:
    """Running statistics near those of these inputs, by one pass as in training; no other state
    changes. The same state where a batch is too small for it."""
    import torch

    norms, found = _batch_norms(model), {name: one.clone() for name, one in state.items()}
    momenta = [one.momentum for one in norms.values()]
    given = [one.clone() if isinstance(one, torch.Tensor) else one for one in arguments]
    for one in norms.values():
        one.train()
        one.momentum = 1.0
    try:
        with torch.no_grad():
            torch.func.functional_call(model, found, tuple(given), tie_weights=False)
    except (RuntimeError, ValueError):
        return state
    finally:
        for one, momentum in zip(norms.values(), momenta, strict=True):
            one.eval()
            one.momentum = momentum
    anew = dict(state)
    for name in norms:
        mean, variance = (f"{name}.{it}".lstrip(".") for it in ("running_mean", "running_var"))
        least = found[variance].mean() * LEAST_VARIANCE
        seen = found[variance].clamp(min=float(least))
        anew[mean] = found[mean] + NOISE * seen.sqrt() * torch.randn_like(seen)
        anew[variance] = seen * (NOISE * torch.randn_like(seen)).exp()
    return anew


def open_gates(model: Any, state: States, _: list[Any], steps: int) -> States:
    """PyTorch's recurrent layers remember for one step to all of them: gates by the biases that
    chrono initialisation gives them (log of a time drawn evenly), others by orthogonal weights."""
    from torch import nn

    anew = dict(state)
    for path, layer in model.named_modules():
        if isinstance(layer, nn.RNNBase | nn.RNNCellBase):
            kind = layer.mode if isinstance(layer, nn.RNNBase) else type(layer).__name__
            for own, _unused in layer.named_parameters(recurse=False):
                name = f"{path}.{own}".lstrip(".")
                if name in anew:
                    anew[name] = _of_layer(kind.upper(), own, anew[name], steps)
    return anew


def _of_layer(kind: str, own: str, value: Any, steps: int) -> Any:
    """One parameter of a recurrent layer."""
    if kind.startswith("LSTM") and own.startswith("bias_hh"):
        times = _log_times(value[: len(value) // 4], steps)
        gates = value.chunk(4)  # input, forget, cell, output
        return _joined([gates[0] - times, gates[1] + times, *gates[2:]])
    if kind.startswith("GRU") and own.startswith("bias_hh"):
        gates = value.chunk(3)  # reset, update, new
        return _joined([gates[0], gates[1] + _log_times(gates[1], steps), gates[2]])
    if kind.startswith("RNN"):
        return _orthogonal(value) if own.startswith("weight_hh") else value * WEAKER
    return value


def random_gates(model: Any, state: States, _: list[Any], steps: int) -> States:
    """Half of the numbers of every bias, and of what is named as a decay, are moved by the log of a
    time, up or down: whatever a gate's sign and order are, some are open and some are shut."""
    import torch

    parameters = dict(model.named_parameters(remove_duplicate=False))

    def moved(name: str, value: Any) -> Any:
        gate = value.dim() == 1 or bool(GATED.search(name.rpartition(".")[2]))
        if name not in parameters or not gate or value.numel() < FEWEST or not is_float(value):
            return value
        sign = torch.randint(-1, 2, value.shape, dtype=value.dtype)
        return value + sign * _log_times(value, steps)

    return {name: moved(name, one) for name, one in state.items()}


def orthogonal(model: Any, state: States, _: list[Any], __: int) -> States:
    """Square weights, and those of several squares one above the other, lose nothing."""
    parameters = dict(model.named_parameters(remove_duplicate=False))
    return {name: _orthogonal(one) if name in parameters else one for name, one in state.items()}


def orthogonal_last(_: Any, state: States, __: list[Any], ___: int) -> States:
    """The last square of each weight that is wider than high: of what comes after the input."""
    return {name: _with_square(one, last=True) for name, one in state.items()}


def orthogonal_first(_: Any, state: States, __: list[Any], ___: int) -> States:
    """The first square of each weight that is wider than high."""
    return {name: _with_square(one, last=False) for name, one in state.items()}


def latched(_: Any, state: States, __: list[Any], steps: int) -> States:
    """Half of a hidden state's numbers keep their signs, or change them at every step, until what
    is given outweighs a number that is another one for each of them."""
    import torch

    def kept(value: Any) -> Any:
        found, size = value.clone(), min(value.shape)
        for square in _squares_in(found):
            some = torch.randperm(size)[: size // 2]
            sizes = torch.linspace(0, math.log(_most(steps)), len(some)).exp()
            signs = torch.randint(2, (len(some),)) * 2 - 1
            square[some, some] += (signs * sizes).to(value.dtype)
        return found

    hidden = _of_hidden(state)
    return {name: kept(one) if name in hidden else one for name, one in state.items()}


def keeping_rows(_: Any, state: States, __: list[Any], steps: int) -> States:
    """Of a hidden state two numbers stay what they are once they are large, one of each sign, as
    they shut their own gates; and each of the others' gates, more or less. `x @ weight` has it."""
    hidden = _of_hidden(state)
    return {
        name: _with_keepers(one, steps, rows=True) if name in hidden else one
        for name, one in state.items()
    }


def keeping_columns(_: Any, state: States, __: list[Any], steps: int) -> States:
    """The same of weights that are called as those of `nn.Linear`."""
    hidden = _of_hidden(state)
    return {
        name: _with_keepers(one, steps, rows=False) if name in hidden else one
        for name, one in state.items()
    }


def _with_keepers(value: Any, steps: int, *, rows: bool) -> Any:
    import torch

    found, size = value.clone(), min(value.shape)
    keepers = torch.randperm(size)[:2]
    signs = torch.tensor([1.0, -1.0], dtype=value.dtype)
    for square in _squares_in(found):
        way = square if rows else square.T
        of = torch.randint(3, (size,)) == torch.arange(2)[:, None]
        shut = (torch.rand(2, size) * 2 - 1) * _most(steps) * of
        way[keepers] = shut.to(value.dtype)
        way[:, keepers] = 0.0
        half = str(value.dtype) == "torch.float16"
        way[keepers, keepers] = signs * (KEEP_OF_HALF if half else KEEP)
    return found


def _squares_in(value: Any) -> list[Any]:
    """Views of what a hidden state goes through: the squares that lie one above the other, or the
    last one of a weight that is wider than high."""
    height, width = value.shape
    size = min(height, width)
    if size < FEWEST or height % size:
        return []
    return [value[:, width - size :]] if width > height else list(value.split(size))


def _most(steps: int) -> float:
    """What a gate is given to be shut for about all steps."""
    return math.log(max(3, steps))


def _of_hidden(state: States) -> list[str]:
    """The last weight that is square, or else the widest of those that are wider than high."""
    weights = [name for name, one in state.items() if one.dim() == 2 and is_float(one)]
    square = [name for name in weights if state[name].shape[0] == state[name].shape[1]]
    wide = [name for name in weights if state[name].shape[0] < state[name].shape[1]]
    return square[-1:] or wide[:1]


def weaker_inputs(_: Any, state: States, __: list[Any], ___: int) -> States:
    """Biases and weights are so small that nothing saturates, but for the last weight that is
    square, or else the widest of those that are wider than high: what a hidden state goes through.
    """
    kept = _of_hidden(state)

    def weaker(name: str, value: Any) -> Any:
        small = is_float(value) and value.dim() in (1, 2) and value.numel() >= FEWEST
        return value * WEAKEST if small and name not in kept else value

    return {name: weaker(name, one) for name, one in state.items()}


def slow_decays(_: Any, state: States, __: list[Any], steps: int) -> States:
    """Numbers between 0 and 1 are nearer to 1, by a time between one step and all."""
    return {
        name: (1 - (1 - one) / _log_times(one, steps).exp()).to(one.dtype)
        if is_float(one) and one.numel() and bool(((one > 0) & (one < 1)).all())
        else one
        for name, one in state.items()
    }


def larger_weights(_: Any, state: States, __: list[Any], ___: int) -> States:
    """Weights as large as keep a signal's size through layers of rectifiers."""
    return {
        name: one * GAIN if is_float(one) and one.dim() > 1 else one for name, one in state.items()
    }


def _squares(value: Any) -> int:
    """How many squares of its width lie one above the other in it."""
    width = value.shape[-1] if value.dim() == 2 and is_float(value) else 0
    return 0 if width < FEWEST or value.shape[0] % width else int(value.shape[0] // width)


def _orthogonal(value: Any) -> Any:
    """Each of its squares is orthogonal; the same where it has none."""
    import torch

    made = [_square(value.shape[-1]) for _ in range(_squares(value))]
    return torch.cat(made).to(value.dtype) if made else value


def _with_square(value: Any, *, last: bool) -> Any:
    """Of a weight that is wider than high the last square, or the first, is orthogonal; the rest is
    weaker."""
    if not (value.dim() == 2 and FEWEST <= len(value) < value.shape[1] and is_float(value)):
        return value
    found, height = value * WEAKEST, len(value)
    found[:, slice(-height, None) if last else slice(0, height)] = _square(height).to(value.dtype)
    return found


def _square(width: int) -> Any:
    import torch

    return torch.linalg.qr(torch.randn(width, width))[0]


def _log_times(like: Any, steps: int) -> Any:
    """Logs of times between 1 and `steps`, evenly drawn."""
    import torch

    return (1 + torch.rand(like.shape) * max(1, steps - 1)).log().to(like.dtype)


def _joined(parts: Sequence[Any]) -> Any:
    import torch

    return torch.cat(list(parts))


def _batch_norms(model: Any) -> dict[str, Any]:
    """Those with running statistics, by their path."""
    from torch.nn.modules.batchnorm import _BatchNorm

    return {
        path: one
        for path, one in model.named_modules()
        if isinstance(one, _BatchNorm) and one.running_mean is not None
    }


STRENGTHENINGS: dict[str, Callable[[Any, States, list[Any], int], States]] = {
    CALIBRATED: calibrated,
    OPEN_GATES: open_gates,
    RANDOM_GATES: random_gates,
    ORTHOGONAL: orthogonal,
    ORTHOGONAL_LAST: orthogonal_last,
    ORTHOGONAL_FIRST: orthogonal_first,
    WEAKER_INPUTS: weaker_inputs,
    LATCHED: latched,
    KEEPING_ROWS: keeping_rows,
    KEEPING_COLUMNS: keeping_columns,
    SLOW_DECAYS: slow_decays,
    LARGER_WEIGHTS: larger_weights,
}
"""Each takes a module, its state, what it is called with, and over how many steps it goes."""
