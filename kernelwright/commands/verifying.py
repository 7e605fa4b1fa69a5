"""What `kernelwright publish --verify` does and prints: what was published is measured again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from kernelwright.commands.comparison_text import print_comparison
from kernelwright.commands.shared import FAILED, judging, told
from kernelwright.data.runs.process import this_process
from kernelwright.envs.judge import BatchJudge
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.evals.hub import verify_kernels as kernels
from kernelwright.evals.hub.publish import whole_folder
from kernelwright.evals.hub.verify import Part, Verified, parts_of, verify
from kernelwright.evals.numbers.compare import SPEEDS
from kernelwright.evals.page.report import speedup
from kernelwright.machine.facts import versions
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.run.processes import judge_of


def verify_models(run: Path, published: Sequence[str], out: Path | None) -> None:
    """Prints the published adapter, and whole weights beside it or in a second repository, beside
    the run; exits where one is surely worse."""
    tree, whole = out or run / "publish", whole_folder(run, out)
    with judging(": --verify goes on"), told(ValueError, OSError, ModelError, about=run):
        parts = parts_of(published[0], tree)
        parts += [Part(name=one, model=one, whole=whole) for one in published[1:]]
        found = {one.name: verify(run, one, versions(), _judge) for one in parts}
    for file in sorted(tree.glob("*.gguf")):
        typer.echo(f"{published[0]}: {file.name} is the file that was written here")
    if [name for name, one in found.items() if not _holds(name, one)]:
        raise typer.Exit(FAILED)


def _judge(recipe: Recipe) -> BatchJudge:
    return judge_of(recipe.judge, this_process(), recipe.data.dialects)


def _holds(published: str, found: Verified) -> bool:
    """Prints a model beside its run; whether it was judged, and is not surely worse. The same
    answers cannot be slower but by what else the machine did."""
    print_comparison(found.comparison)
    typer.echo(
        f"{published}: {found.same} of {found.asked} answers are the run's own, to the letter"
    )
    if found.comparison.correct_rate is None:
        typer.echo(
            f"{published}: no problem was judged on both sides: nothing is verified", err=True
        )
        return False
    worse = found.comparison.surely_worse
    if found.same == found.asked and set(worse) <= SPEEDS:
        if worse:
            typer.echo(f"{published}: the same kernels were slower now: that is the machine's")
        return True
    if worse:
        typer.echo(f"{published} is surely worse than its run in {', '.join(worse)}", err=True)
    return not worse


def verify_kernels(search: Path, published: str) -> None:
    """Prints the new verdict on each published kernel; exits where one is not correct, or none was
    judged."""
    with judging(), told(ValueError, OSError, ModelError, about=search):
        found = kernels.verify_kernels(search, published, open_judge)
    for one in found:
        typer.echo(_line(one))
    if wrong := [one.name for one in found if not one.holds]:
        typer.echo(f"{published}: not correct any more: {', '.join(wrong)}", err=True)
        raise typer.Exit(FAILED)
    if not any(one.is_judged for one in found):
        typer.echo(f"{published}: no kernel was judged here: nothing is verified", err=True)
        raise typer.Exit(FAILED)


def _line(again: kernels.JudgedAgain) -> str:
    timing = again.evaluation.timing
    now, claimed = timing.speedup if timing else None, again.claimed
    speeds = [
        f"{word} {speedup(one.median)} [{speedup(one.low)}, {speedup(one.high)}]"
        for word, one in (("published", claimed), ("now", now))
        if one
    ]
    verdict = f"{again.evaluation.verdict} ({again.evaluation.reason})"
    return " · ".join([again.name, verdict, *speeds])
