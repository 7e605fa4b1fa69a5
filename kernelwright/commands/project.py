"""The command that begins a project: `new`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelwright.commands.recipe_files import begun, name_of
from kernelwright.commands.shared import told

app = typer.Typer()

MODULE = '''import torch

ROWS = 256
COLUMNS = 512


class Model(torch.nn.Module):
    """{said}"""

    def forward(self, x):
        return {expression}


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
'''
MODULES = {
    "1_Row_energy": ("The mean square of each row.", "(x * x).mean(dim=1)"),
    "2_Row_peak": ("The largest distance from zero in each row.", "x.abs().amax(dim=1)"),
    "3_Softmax": ("Shares of each row.", "torch.softmax(x, dim=1)"),
    "4_Gelu_residual": ("An activation beside its input.", "torch.nn.functional.gelu(x) + x"),
    "5_Centred": ("Each row less its mean.", "x - x.mean(dim=1, keepdim=True)"),
}
"""File → what the module computes, in words and in PyTorch."""

README = """# {name}

Kernels for modules of our own. `problems/level1/` has one module a file, in KernelBench's format:
replace these five by yours, at least four. `recipe.yaml` says how a model is trained on them; its
keys are shown by `kernelwright recipes show recipe.yaml`. All commands run in this folder.

See whether a problem accepts trivial answers, and judge a kernel that you wrote:

    kernelwright suite check modules:problems
    kernelwright judge problems/level1/1_Row_energy.py kernel.cpp

See what training costs here, train, and go on after an interruption:

    kernelwright train recipe.yaml --dry-run
    accelerate launch recipe.yaml
    accelerate launch recipe.yaml --resume

The report of the run measures it on problems that it never trained on. Measure the trained model on
your own, which it did train on; have it search for a fast kernel; and look at what it wrote:

    kernelwright eval runs/{name} --suite modules:problems -n 4 --temperature 1 --out runs/eval
    kernelwright search problems/level1/3_Softmax.py --model runs/{name}
    kernelwright view runs/{name}

Keep what was measured, and fail where a later model is surely worse than the best before it; check
recipe and problems as a CI does:

    kernelwright leaderboard board.json runs/eval --fail-if-worse
    sh ci.sh
"""
CI = """#!/bin/sh
# What a CI runs on each change: recipe and problems hold. Neither a GPU nor a model is needed.
set -e
kernelwright doctor
kernelwright recipes check recipe.yaml
kernelwright suite check modules:problems
"""
IGNORED = "runs/\n__pycache__/\n"
SETTINGS: dict[str, object] = {
    "data": {"train_suite": "modules:problems", "held_out_suite": "starter:held_out"}
}


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(metavar="PROJECT", help="Folder to make.")],
    base: Annotated[str, typer.Option("--from", help="The recipe it extends.")] = "quickstart",
) -> None:
    """Begin a project: a recipe, five modules to replace by your own, a check for CI."""
    from kernelwright.recipe.resolve import SHIPPED

    name = name_of(folder.resolve().name)
    with told(OSError, ValueError):
        if not (SHIPPED / f"{base}.yaml").is_file():
            raise ValueError(f"--from {base}: no such recipe: kernelwright recipes list")
        if folder.exists() and any(folder.iterdir()):
            raise ValueError(f"{folder} is not empty: name another folder")
        for path, text in files(name, base).items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    typer.echo(f"cd {folder}; then README.md has the next commands")


def files(name: str, base: str) -> dict[str, str]:
    """Path → text of each file of a project of this name."""
    modules = {
        f"problems/level1/{file}.py": MODULE.format(said=said, expression=expression)
        for file, (said, expression) in MODULES.items()
    }
    recipe = begun(Path("recipe.yaml"), base, {"name": name, **SETTINGS})
    texts = {"README.md": README.format(name=name), "ci.sh": CI, ".gitignore": IGNORED}
    return {"recipe.yaml": recipe, **texts, **modules}
