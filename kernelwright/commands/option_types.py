"""Values that options of the commands take."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.envs.dialects import NAMES

DEFAULT, AUTO = "cpp", "auto"
"""`auto` is a model's usual dialect, and for stored answers each file's own."""
PRECISION = "How float32 is multiplied on a GPU, on both sides; tf32 widens what is allowed."
SANITIZE = "On a GPU: what NVIDIA's Compute Sanitizer finds too; it changes no verdict."
PROFILE = "On a GPU: what Nsight Compute counts in a correct kernel, too."
TORCH_ALLOWED = "PyTorch may compute a part of an answer, as KernelBench lets it."

MODES = ("best_of_n", "refine", "evolve", "tree")
"""How a search makes answers from earlier ones: the files of rl/search/modes."""
KINDS = ("none", "uniform", "bandit")
"""How it chooses the kind of rewriting that a prompt asks for (rl/search/kinds.py)."""
SURROGATES = ("off", "watch", "on")
"""What it does with forecasts of speed (rl/search/surrogate.py)."""

Start = Annotated[
    Path | None,
    typer.Option(
        metavar="KERNEL|FOLDER",
        help="Kernel to improve on; of a suite a folder, as best/ of a search.",
    ),
]

if TYPE_CHECKING:
    AskedDialect = str
    AskedDialectOrAuto = str
    Mode = str
    Kinds = str
    Surrogate = str
else:  # what an option may be is told to typer by an enum
    AskedDialect = StrEnum("AskedDialect", [(name, name) for name in NAMES])
    AskedDialectOrAuto = StrEnum("AskedDialectOrAuto", [(name, name) for name in (AUTO, *NAMES)])
    Mode = StrEnum("Mode", [(name, name) for name in MODES])
    Kinds = StrEnum("Kinds", [(name, name) for name in KINDS])
    Surrogate = StrEnum("Surrogate", [(name, name) for name in SURROGATES])


class GgufType(StrEnum):
    """What a GGUF file holds matrices in: a byte and a sixteenth a weight, or two bytes."""

    Q8_0 = "q8_0"
    BF16 = "bf16"


class Rule(StrEnum):
    """Whose rule gives a second opinion."""

    KERNELBENCH = "kernelbench"
