"""Runs Triton answers in Triton's interpreter: a program of its own, as Triton asks once whether
it is to interpret.

A folder has pairs of files, `problem0.py` and `answer0.py`, …; it prints the numbers of the wrong.
"""

from __future__ import annotations

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.language.extra import libdevice
from triton.runtime.interpreter import TensorHandle


def loaded(file: Path) -> Any:
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_right(problem: Any, answer: Any) -> bool:
    """Whether an answer with the same parameters gives what PyTorch computes in float64."""
    arguments = problem.get_init_inputs()
    model, new = problem.Model(*arguments).eval(), answer.ModelNew(*arguments).eval()
    for one in model.state_dict().values():
        if one.is_floating_point():
            one.copy_(torch.rand_like(one) + 0.25)
    new.load_state_dict(model.state_dict())
    given = problem.get_inputs()
    with torch.no_grad():
        got = new(*given)
        expected = model.double()(
            *(one.double() if one.is_floating_point() else one for one in given)
        )
    if got.shape != expected.shape or got.dtype.is_floating_point != expected.is_floating_point():
        return False
    known = expected.isfinite()  # a maximum with NaN is a number in Triton
    expected, got = expected[known].double(), got[known].double()
    spread = max(1.0, float(expected.abs().mean())) if known.any() else 1.0
    return torch.allclose(expected, got, rtol=1e-4, atol=1e-5 * spread)


def interpreted(function: np.ufunc) -> Any:
    """A function of `libdevice`, which the interpreter has not."""

    def call(x: Any) -> Any:
        return tl.tensor(TensorHandle(function(x.handle.data), x.handle.dtype), x.type)

    return call


def main() -> None:
    for name in ("tanh", "expm1", "log1p"):
        setattr(libdevice, name, interpreted(getattr(np, name)))
    folder, wrong = Path(sys.argv[1]), []
    for number in range(len(list(folder.glob("answer*.py")))):
        torch.manual_seed(number)
        files = (loaded(folder / f"{name}{number}.py") for name in ("problem", "answer"))
        try:
            right = is_right(*files)
        except Exception as error:  # noqa: BLE001 - whatever it is, the answer is wrong
            print(f"{number}: {type(error).__name__}: {error}", file=sys.stderr)
            right = False
        wrong += [] if right else [number]
    print(json.dumps(wrong))


if __name__ == "__main__":
    main()
