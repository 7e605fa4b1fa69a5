"""Runs one stage: `python -m scripts.on_gpu_stages NAME --rows FILE --out FOLDER --limit-s S`.

A stage is a module with a function `run(context)`: of this folder, or with dots in its name any
other that can be imported. Whatever it raises ends the process with status 1 and its last lines in
the log.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from scripts.on_gpu_stages.context import StageContext

CARRIED = Path(__file__).resolve().parents[2] / ".gpu"
"""Where what was brought lies, unless the runner has put it elsewhere."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage")
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit-s", type=float, required=True)
    parser.add_argument("--carried", type=Path, default=CARRIED)
    parser.add_argument("--rehearse", action="store_true")
    given = parser.parse_args()
    name = given.stage if "." in given.stage else f"scripts.on_gpu_stages.{given.stage}"
    module = import_module(name)
    module.run(
        StageContext(
            rows=given.rows,
            out=given.out,
            carried=given.carried,
            limit_s=given.limit_s,
            rehearsal=given.rehearse,
        )
    )


if __name__ == "__main__":
    main()
