"""Records calls of PyTorch's operators on a tape, for answers with `torch_allowed`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from kernelwright.envs.guest.library import TYPES, LeftOut
from kernelwright.envs.guest.tape import Tape

TORCH = "torch"
"""The library that they are called in (envs/plan/steps.py)."""
DECIDED = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
"""Of operators whose results have shapes, or are numbers, that values decide."""
MEMORY_FORMATS = {
    torch.contiguous_format: 0,
    torch.preserve_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
}
"""PyTorch's own numbers (c10/core/MemoryFormat.h)."""
SCALARS = "List[number]"
"""Numbers of any kind side by side, as only operators on many tensors at once take them."""
ODD_ARGUMENT = "an argument of PyTorch's that is neither a number nor a tensor"


def computed(tape: Tape, operator: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What the operator gives back; on the tape it is a call, with all that its schema wants."""
    schema = operator._schema.arguments
    given = dict(zip((one.name for one in schema), args, strict=False)) | named
    name = operator.name().removeprefix("aten::")
    if name == operator.name() or _is_decided(operator, given) or _is_random(operator, given):
        tape.leave_out(operator.name())
        return operator(*args, **named)
    writes = [given.get(one.name) for one in schema if one.alias_info and one.alias_info.is_write]
    if any(tape.is_input(one) for one in _tensors(writes)):
        tape.leave_out("an input that PyTorch changes")
    # Before it runs: it may write into what the model has kept.
    arguments = [_argument(tape, given.get(one.name, LeftOut)) for one in schema]
    if any(str(one.type) == SCALARS for one in schema):
        tape.leave_out(ODD_ARGUMENT)
    found = operator(*args, **named)
    met, several = _tensors(given.values()), []
    if operator._schema.returns:
        several = list(found) if isinstance(found, tuple | list) else [found]
    results = [_result(tape, one, met) for one in several]
    step = {"library": TORCH, "function": name, "arguments": arguments, "results": results}
    tape.steps.append(step)
    return found


def _argument(tape: Tape, one: Any) -> dict[str, Any]:
    match one:
        case torch.device() | torch.layout():  # everything is dense, and on the CPU
            return tape.given(LeftOut)
        case torch.memory_format():
            return {"whole": MEMORY_FORMATS[one]}
        case list() | tuple():
            numbers = all(isinstance(part, int | float) for part in one)
            odd = not numbers and not all(part is None or _is_tensor(part) for part in one)
        case torch.dtype():
            odd = one not in TYPES
        case torch.Tensor():
            odd = not _is_tensor(one)
        case _:
            odd = not (one is None or one is LeftOut or isinstance(one, bool | int | float | str))
    if odd:
        tape.leave_out(ODD_ARGUMENT)
        return {}
    return tape.given(one)


def _result(tape: Tape, one: Any, given: list[torch.Tensor]) -> dict[str, Any] | None:
    """None of what is no tensor, such as the state of a generator that attention gives back."""
    if not isinstance(one, torch.Tensor):
        return None
    if not _is_tensor(one):
        tape.leave_out(f"a tensor of {one.dtype}, {one.layout}")
        return None
    tape.new(one, given)
    return {"view": tape.view(one), "made": None}


def _is_tensor(one: Any) -> bool:
    """Whether it is one that a plan has a word for."""
    return isinstance(one, torch.Tensor) and one.dtype in TYPES and one.layout is torch.strided


def _is_decided(operator: Any, given: dict[str, Any]) -> bool:
    """Whether values decide a shape or a number. An index is marked so; only a mask's does."""
    indices = _tensors([given.get("indices")])
    by_numbers = operator is torch.ops.aten.index.Tensor and not any(
        one.dtype in (torch.bool, torch.uint8) for one in indices
    )
    return bool(DECIDED & set(operator.tags)) and not by_numbers


def _is_random(operator: Any, given: dict[str, Any]) -> bool:
    """Whether chance decides its results. Attention is marked so, and is not without dropout."""
    names = [one.name for one in operator._schema.arguments]
    without_dropout = "dropout_p" in names and given.get("dropout_p", 0.0) == 0.0
    return torch.Tag.nondeterministic_seeded in operator.tags and not without_dropout


def _tensors(given: Iterable[Any]) -> list[torch.Tensor]:
    """Those among arguments, and in lists among them, that lie somewhere."""
    parts = [part for one in given for part in (one if isinstance(one, list | tuple) else [one])]
    return [part for part in parts if _is_tensor(part)]
