"""Search modes at equal budget: each asks one model for as many answers to the same problems.

    python -m scripts.modes OUT --model RUN [--suite starter:rl] [--problems 8] [--budget 16]
    python -m scripts.modes OUT --table

A mode's folder in OUT is a search of its own, and goes on where it was stopped. The worth of a
problem is log2(1 + speedup) of its best kernel, as measured again, and 0 without a right one. Gains
are paired by problem, over the mode that comes first.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from kernelwright.evals.numbers.metrics import Gain, paired_gain

NOTHING_RIGHT = 1
"""The exit code of a search without a right kernel."""
MODES = ("best_of_n", "refine", "evolve", "tree")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--suite", default="starter:rl")
    parser.add_argument("--modes", nargs="+", default=list(MODES))
    parser.add_argument("--problems", type=int, default=8)
    parser.add_argument("--budget", type=int, default=16)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true", help="print what there is, and end")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if not (options.model or options.table):
        parser.error("--model is needed")
    for mode in () if options.table else options.modes:
        _search(mode, options)
    found = {one: options.out / one / "results.json" for one in options.modes}
    known = {one: json.loads(file.read_text()) for one, file in found.items() if file.exists()}
    Console().print(table(known))


def _search(mode: str, options: argparse.Namespace) -> None:
    """One search, or the rest of it; ends the program where it fails, as where the folder has
    another budget. No right kernel at all is no failure."""
    folder = options.out / mode
    words = [sys.executable, "-m", "kernelwright", "search", options.suite, "--mode", mode]
    words += ["--model", options.model, "--out", str(folder), "--surrogate", "watch"]
    for name in ("problems", "budget", "batch", "temperature", "seed"):
        words += [f"--{name}", str(getattr(options, name))]
    words += ["--resume"] if folder.exists() else []
    code = subprocess.run(words, check=False).returncode
    if code not in (0, NOTHING_RIGHT) or not (folder / "results.json").exists():
        sys.exit(code or 1)


def worth(results: dict[str, Any]) -> dict[str, float]:
    """Problem → the worth of what was found."""
    found = {}
    for one in results["problems"]:
        speed = (one["again"] or one["first"] or {}).get("median", 0.0)
        found[one["problem"]] = math.log2(1 + speed) if one["source"] is not None else 0.0
    return found


def gain(base: dict[str, Any], other: dict[str, Any]) -> Gain | None:
    """Of worth, paired by problem."""
    before, after = worth(base), worth(other)
    return paired_gain([(before[name], after[name]) for name in before if name in after])


def table(known: dict[str, dict[str, Any]]) -> Table:
    """A line for each mode."""
    heads = ("mode", "right answers", "solved", "faster", "speedup", "worth", "gain in worth")
    found, base = Table(*heads, box=None), next(iter(known.values()), None)
    for mode, one in known.items():
        found.add_row(
            mode, *cells(one), _said(gain(base, one) if base and base is not one else None)
        )
    return found


def cells(results: dict[str, Any]) -> Sequence[str]:
    """What was found, in words."""
    problems, speed = results["problems"], results["geomean_speedup"]
    right, asked = (sum(one[key] for one in problems) for key in ("right", "asked"))
    values = worth(results).values()
    return (
        f"{right} of {asked}",
        f"{results['solved']} of {len(problems)}",
        str(results["faster"]),
        "-" if speed is None else f"{speed:.2f}",
        f"{math.fsum(values) / len(values):.2f}" if values else "-",
    )


def _said(one: Gain | None) -> str:
    return "" if one is None else f"{one.mean:+.2f} [{one.low:+.2f}, {one.high:+.2f}]"


if __name__ == "__main__":
    main()
