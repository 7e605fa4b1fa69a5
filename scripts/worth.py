"""What each way of going on after SFT is worth, on problems that have no examples.

One adapter is taught a few examples of one half of the starter problems. From it each arm goes on:
with SFT, with RL on the other half, or with that half's own examples, which only the `oracle` sees.
All are measured on the held-out problems, at temperature 1. What has a result is not run again.

    python -m scripts.worth runs/worth --seed 0 [--arms start rft sft]
    python -m scripts.worth runs/worth --begin runs/quickstart --tokens 134000  # its SFT: start
    python -m scripts.worth runs/worth --like grpo
    python -m scripts.worth runs/worth --table

`sft` and `oracle` get as many seconds as the arm `--like` took, which runs before them. The steps
of GRPO are those of recipes/quickstart-long.yaml.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from kernelwright.data.runs.folder import Folder
from kernelwright.data.suites.row_folder import lines, write_lines
from kernelwright.evals.numbers.summary import read_summary

RECIPES = Path(__file__).resolve().parents[1] / "recipes"
ROWS = "worth.jsonl"


@dataclass(frozen=True, slots=True)
class Arm:
    """A run: its recipe, the stage that trains, and other values."""

    recipe: str
    stage: str
    values: tuple[str, ...] = ()
    begins: str = "start"
    """The arm whose adapter it goes on from."""


ARMS = {
    "start": Arm("quickstart", "sft", begins=""),
    "rft": Arm("rft", "rft", ("rft.learning_rate=2e-4", "rft.replay=1.0")),
    "rft_hard": Arm(
        "rft",
        "rft",
        (
            *("rft.samples=1", "rft.retries=4", "rft.skip_solved=true"),
            *("rft.learning_rate=2e-4", "rft.replay=1.0"),
        ),
    ),
    "sft": Arm("quickstart", "sft", ("sft.learning_rate=5e-4",)),
    "oracle": Arm(
        "quickstart",
        "sft",
        ("sft.learning_rate=5e-4", "data.sft_suite=starter:rl", "data.max_triples=240"),
    ),
    "grpo": Arm("quickstart-long", "grpo"),
    "rft_grpo": Arm("quickstart-long", "grpo", begins="rft"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    parser.add_argument("--triples", type=int, default=240, help="examples that SFT begins with")
    parser.add_argument("--tokens", type=int, default=170_000, help="that it learns of them")
    parser.add_argument("--begin", type=Path, help="a run whose finished SFT is taken as the start")
    parser.add_argument("--samples", type=int, default=2, help="answers to each held-out problem")
    parser.add_argument("--like", choices=list(ARMS), default="rft", help="whose seconds SFT gets")
    parser.add_argument("--rounds", type=int, default=1, help="of rejection sampling")
    parser.add_argument("--table", action="store_true", help="print what there is, and end")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in () if options.table else options.arms:
        if not any(_is(row, name, options.seed) for row in rows_of(options.out)):
            _run(name, options)
    Console().print(table(rows_of(options.out)))


def rows_of(out: Path) -> list[dict[str, Any]]:
    """The results so far."""
    file = out / ROWS
    return lines(file) if file.exists() else []


def _is(row: dict[str, Any], name: str, seed: int) -> bool:
    return (row["arm"], row["seed"]) == (name, seed)


def _run(name: str, options: argparse.Namespace) -> None:
    """Trains and measures one arm, and writes its row."""
    folder = options.out / f"{name}-{options.seed}"
    recipe = RECIPES / f"{ARMS[name].recipe}.yaml"
    words = [sys.executable, "-m", "kernelwright", "train", str(recipe)]
    words += [*values_of(name, options), f"name={folder.name}", f"run_dir={folder}"]
    words += ["--resume"] if folder.exists() else []
    with subprocess.Popen(words) as training:
        signal.signal(signal.SIGTERM, lambda *_: training.terminate())
        if code := training.wait():
            sys.exit(code)
    summary = read_summary(folder)
    taken = name == "start" and options.begin
    after = summary["held_out"]["before" if taken else "after"]
    took = (Folder(options.begin if taken else folder).stages() or {})[ARMS[name].stage]
    row = {
        "arm": name,
        "seed": options.seed,
        "triples": options.triples,
        "training_s": round(took),
        "correct": after["correct"],
        "asked": after["n"],
        **{key: after[key] for key in ("correct_rate_ci", "fast_1", "geomean_speedup")},
        "date": summary["date"],
    }
    write_lines(options.out / ROWS, [row])


def values_of(name: str, options: argparse.Namespace) -> list[str]:
    """What an arm changes of its recipe. Ends the program where other arms have to be run first."""
    arm = ARMS[name]
    values = [f"seed={options.seed}", "eval.temperature=1.0", f"eval.samples={options.samples}"]
    values += [f"data.max_triples={options.triples}", "eval.before=true", "eval.after_sft=false"]
    values += ["eval.timed=true", "eval.greedy=false"]
    taken = options.begin and options.begin / "checkpoints" / "sft-final"
    if name == "start" and taken:
        return [*values, "stages=[eval]", "eval.before_problems=null", f"model.adapter={taken}"]
    values += [f"stages=[{arm.stage},eval]", "eval.before_problems=1"]
    if arm.begins:
        made = options.out / f"{arm.begins}-{options.seed}"
        values.append(f"model.adapter={taken if taken and arm.begins == 'start' else made}")
    if arm.stage == "rft":
        values.append(f"rft.rounds={options.rounds}")
    if arm.stage == "sft":
        values.append(f"sft.tokens={_tokens(arm, options)}")
    return [*values, *arm.values]


def _tokens(arm: Arm, options: argparse.Namespace) -> int:
    """Tokens of answers that SFT learns in the seconds that another arm took."""
    tokens: int = options.tokens
    if not arm.begins:
        return tokens
    rows = rows_of(options.out)
    took = {one["arm"]: one["training_s"] for one in rows if one["seed"] == options.seed}
    if not {options.like, "start"} <= took.keys():
        sys.exit(f"run the arms start and {options.like} first: they say what the others get")
    return max(1, round(tokens * took[options.like] / took["start"]))


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """A line for each arm and seed."""
    found = Table("arm", "seed", "seconds", "correct", "fast_1 of all", "speedup", box=None)
    for one in sorted(rows, key=lambda row: (row["seed"], list(ARMS).index(row["arm"]))):
        low, high = (f"{100 * end:.0f}" for end in one["correct_rate_ci"])
        share = f"{one['correct']} of {one['asked']} = {one['correct'] / one['asked']:.0%}"
        fast, speed = one["fast_1"], one["geomean_speedup"]
        found.add_row(
            one["arm"],
            str(one["seed"]),
            str(one["training_s"]),
            f"{share} [{low}, {high}]",
            "-" if fast is None else f"{fast:.0%}",
            "-" if speed is None else f"{speed:.2f}",
        )
    return found


if __name__ == "__main__":
    main()
