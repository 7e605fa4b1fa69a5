"""Tells errors caused by a limit of this PyTorch or Triton from errors of the answer.

What PyTorch would compile is called as it is written: it computes the same, and whether PyTorch may
is seen there.
"""

from __future__ import annotations

from typing import Any

import torch

DUMMY = "Tried to instantiate dummy base class "
WITHOUT_CUDA = "Torch not compiled with CUDA enabled"


def as_written() -> None:
    """From here on, in this process, nothing is compiled by PyTorch: functions and modules are
    called as they are."""

    def compiled(model: Any = None, **_: Any) -> Any:
        return (lambda one: one) if model is None else model

    there: Any = torch
    there.compile = compiled
    there.nn.Module.compile = lambda *_, **__: None


def limit_of(error: BaseException) -> str | None:
    """The name of what PyTorch or Triton lacks here, whatever the answer: for an error that says
    so. None of any other."""
    text = str(error)
    if "Block pointers have been removed" in text:
        return "block pointers of Triton before 3.9"
    if text.startswith(DUMMY):
        return f"torch.cuda.{text.removeprefix(DUMMY).strip()}"
    if text != WITHOUT_CUDA:
        return None
    frame, name = error.__traceback__, "torch.cuda"
    while frame is not None:
        code = frame.tb_frame.f_code
        if "/torch/cuda/" in code.co_filename and not code.co_name.startswith("_"):
            name = f"torch.cuda.{code.co_name}"
        frame = frame.tb_next
    return name
