"""Sets how PyTorch multiplies float32 on a GPU, as the judge says, over the setting of a problem's
module.

By itself it takes TF32 for convolutions and recurrent layers, and IEEE float32 for matrix products.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

from kernelwright.envs.reference.module import ProblemError
from kernelwright.envs.types import Precision


def set_precision(wanted: Precision) -> None:
    """Matrix products, convolutions and recurrent layers of this process multiply so from now on.

    PyTorch has two settings for the same. The older ones are set first: then both agree, and a
    module may read either, which raises where they do not. One of the older sets oneDNN's, too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a release may call the older one deprecated
        torch.set_float32_matmul_precision("highest")
        torch.backends.cuda.matmul.allow_tf32 = wanted is Precision.TF32
        torch.backends.cudnn.allow_tf32 = wanted is Precision.TF32
    for one in _settings():
        one.fp32_precision = wanted.value


def require_precision(wanted: Precision) -> None:
    """Raises ProblemError where a module that ran has set something else."""
    if {one.fp32_precision for one in _settings()} != {wanted.value}:
        raise ProblemError(
            "the module sets how PyTorch multiplies float32 while it runs (TF32), which the judge "
            f"decides: here it is {wanted.value}"
        )


def _settings() -> tuple[Any, ...]:
    cudnn: Any = torch.backends.cudnn
    return torch.backends.cuda.matmul, cudnn.conv, cudnn.rnn
