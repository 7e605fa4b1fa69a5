"""Problems of your own: a folder in KernelBench's layout, and which are worth training on.

    python examples/own_problems.py [FOLDER]

A problem that accepts zeros, or the output for other inputs, would pay for kernels that compute
nothing: of the two that are written here one is refused. `kernelwright suite check`, `train` and
`eval` take the same folder as `kernelbench:FOLDER`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kernelwright.data.suites.check import check_many
from kernelwright.data.suites.load import jobs_of, load_suite

MODULE = """
import torch

ROWS = 256
COLUMNS = 512


class Model(torch.nn.Module):
    def forward(self, x):
        return {expression}


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
"""
EXPRESSIONS = {"1_row_peak": "x.abs().amax(dim=1)", "2_vanishing": "x.sum(dim=1) * 0"}


def main(folder: str = "runs/own-problems") -> None:
    level = Path(folder, "level1")
    level.mkdir(parents=True, exist_ok=True)
    for name, expression in EXPRESSIONS.items():
        (level / f"{name}.py").write_text(MODULE.format(expression=expression), encoding="utf-8")
    suite = load_suite(f"kernelbench:{folder}")
    for found in check_many(jobs_of(suite)):
        worth = "admitted" if found.admitted else f"refused: accepts {', '.join(found.accepted)}"
        print(f"{found.problem}: {worth}")


if __name__ == "__main__":
    main(*sys.argv[1:])
