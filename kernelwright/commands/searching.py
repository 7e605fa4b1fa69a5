"""The command that searches: `search`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from kernelwright.commands.option_types import AskedDialect, Kinds, Mode, Start, Surrogate
from kernelwright.commands.shared import FAILED, judging, told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelwright.commands.search_folder import Wanted
    from kernelwright.data.suites.load import Suite
    from kernelwright.envs.types import Problem
    from kernelwright.evals.numbers.search_results import Found
    from kernelwright.rl.search.kinds import Choice
    from kernelwright.rl.search.surrogate import Surrogate as Chosen


def _checked(knowledge: Path | None) -> Path | None:
    """The file, before anything slow; exits with a line where it cannot be read and added to."""
    if knowledge:
        from kernelwright.rl.search.knowledge import check_knowledge

        with told(OSError, ValueError):
            check_knowledge(knowledge)
    return knowledge


app = typer.Typer()
Option = typer.Option
What = Annotated[
    str,
    typer.Argument(
        metavar="MODULE.py|SUITE",
        help="Python file in KernelBench's format, or a suite as eval takes it.",
    ),
]
Model = Annotated[str, Option(help="Run's folder, embedded name, Hub id, folder, or endpoint.")]
HowMade = Annotated[Mode, Option("--mode", help="How answers are made from earlier ones.")]
Options = Annotated[
    list[str] | None, Option("-o", metavar="KEY=VALUE", help="An option of the mode; repeatable.")
]
KindsChosen = Annotated[
    Kinds, Option("--kinds", help="How the kind of rewriting is chosen that a prompt asks for.")
]
Forecasts = Annotated[
    Surrogate,
    Option("--surrogate", help="on: kernels forecast to be slow are not timed; watch: told alone."),
]
Remembered = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="Which kinds helped in earlier searches; the end adds to it.",
        callback=_checked,
    ),
]
Budget = Annotated[int, Option(min=1, help="Answers to each problem.")]
Batch = Annotated[int, Option(min=1, help="Answers to a problem in one step.")]
Target = Annotated[float | None, Option(min=0, help="A problem ends once it is surely so fast.")]
Problems = Annotated[int | None, Option(min=1, help="At most this many.")]
Written = Annotated[AskedDialect | None, Option(help="The run's own, else cpp.")]
Temperature = Annotated[float, Option(min=0, help="Above 0.")]
Tokens = Annotated[int | None, Option(min=1, help="Of an answer; the run's own, else 512.")]
Seed = Annotated[int, Option(min=0, help="Another one, other answers.")]
Out = Annotated[Path | None, Option(help="Folder to write; runs/search-NAME.")]
Resume = Annotated[bool, Option("--resume", help="Continue in the same folder.")]
AsJson = Annotated[bool, Option("--json", help="Print one JSON object.")]

FORECASTS = (
    "forecasts: {untimed} right kernels were left untimed; {timed} with a forecast were timed; "
    "{were_slower} of {forecast_slower} that were forecast to be slower than the best were"
)
"""What `--surrogate` came to."""


@app.command()
def search(  # noqa: PLR0913  one parameter for each option
    what: What,
    model: Model,
    mode: HowMade = "evolve",
    option: Options = None,
    kinds: KindsChosen = "none",
    surrogate: Forecasts = "off",
    knowledge: Remembered = None,
    start: Start = None,
    budget: Budget = 64,
    batch: Batch = 8,
    target: Target = None,
    problems: Problems = None,
    dialect: Written = None,
    temperature: Temperature = 0.8,
    max_new_tokens: Tokens = None,
    seed: Seed = 0,
    out: Out = None,
    resume: Resume = False,
    as_json: AsJson = False,
) -> None:
    """Search for fast kernels: answers made from earlier ones. Exit code 1 if none is correct."""
    from kernelwright.commands.best_of_n import habits_of
    from kernelwright.commands.search_folder import Wanted, given_kernels
    from kernelwright.data.runs.folder import SEARCH_RESULTS
    from kernelwright.machine.facts import versions
    from kernelwright.rl.models.weights import ModelError
    from kernelwright.rl.search.settings import SearchSettings

    with told(OSError, ValueError, ModelError):
        habits = habits_of(model, dialect)
        settings = SearchSettings(
            dialect=habits.dialect,
            budget=budget,
            batch=min(batch, budget),
            max_new_tokens=max_new_tokens or habits.max_new_tokens,
            temperature=temperature,
            seed=seed,
            kinds=cast("Choice", str(kinds)),
            surrogate=cast("Chosen", str(surrogate)),
            target=target,
            versions=versions(),
        )
        suite = _suite(what, problems)
        wanted = Wanted(
            model=model,
            suite=suite,
            mode=str(mode),
            options=_options(option or []),
            settings=settings,
            knowledge=knowledge,
            given=given_kernels(start, suite.problems, habits.dialect) if start else {},
        )
    folder = out or Path("runs", f"search-{_short(what)}")
    found = _searched(wanted, folder, resume=resume)
    if as_json:
        typer.echo((folder / SEARCH_RESULTS).read_text(encoding="utf-8").rstrip())
    else:
        _show(found, wanted, folder)
    raise typer.Exit(0 if any(one.source for one in found) else FAILED)


def _searched(wanted: Wanted, folder: Path, *, resume: bool) -> list[Found]:
    """What is found; exits with a line where that cannot be searched, or not here."""
    from kernelwright.commands.best_of_n import check_model
    from kernelwright.commands.search_folder import search_model
    from kernelwright.data.runs.records import StoreError
    from kernelwright.envs.system.hardware import GpuError
    from kernelwright.evals.evaluate.model import EvalError, held_alone
    from kernelwright.preflight.check import not_judged_here
    from kernelwright.rl.models.weights import ModelError
    from kernelwright.rl.search.mode import start_mode

    errors = (EvalError, ModelError, StoreError, GpuError, ValueError, OSError)
    with told(*errors):
        check_model(wanted.model)
        start_mode(wanted.mode, dict(wanted.options))
    if why := not_judged_here(wanted.settings.dialect):
        typer.echo(why, err=True)
        raise typer.Exit(FAILED)
    count, budget = len(wanted.suite.problems), wanted.settings.budget
    typer.echo(f"{wanted.model} is asked for {budget} answers, problems: {count}", err=True)
    again = f": --resume goes on with {folder}"
    with judging(again), told(*errors), held_alone(folder):
        return search_model(wanted, folder, resume=resume)


def _suite(what: str, first: int | None) -> Suite:
    """One module as a suite, or the suite's first problems; prints what was left out. Raises
    ValueError where nothing is left."""
    from kernelwright.commands.problem_prompt import ask
    from kernelwright.data.runs.progress import told_while_waiting
    from kernelwright.data.suites.broken import RUN, broken
    from kernelwright.data.suites.load import Suite, load_suite

    if what.endswith(".py"):
        return Suite(spec=what, problems=(ask(Path(what), "cpp")[0],))
    whole = load_suite(what)
    for note in whole.notes:
        typer.echo(note, err=True)
    asked = _each_once(whole.problems[:first])
    with told_while_waiting(lambda: RUN):
        silent = broken(asked)
    for one in asked:
        if one.key in silent:
            typer.echo(
                f"left out, its module does not run: {one.name}: {silent[one.key]}", err=True
            )
    if len(silent) == len(asked):
        raise ValueError(f"{what} has no problem that can be searched")
    return Suite(spec=whole.spec, problems=tuple(one for one in asked if one.key not in silent))


def _each_once(problems: Sequence[Problem]) -> list[Problem]:
    """The problems without copies of earlier ones, which a search knows by what they hold; prints
    what was left out."""
    found: dict[str, Problem] = {}
    for one in problems:
        if (same := found.setdefault(one.key, one)) is not one:
            typer.echo(f"left out, the same as {same.name}: {one.name}", err=True)
    return list(found.values())


def _options(pairs: list[str]) -> dict[str, Any]:
    """The options of a mode. Raises ValueError where one is no KEY=VALUE."""
    found = {}
    for one in pairs:
        key, equals, value = one.partition("=")
        if not (key and equals):
            raise ValueError(f"-o {one}: give KEY=VALUE, as islands=4")
        found[key] = value
    return found


def _short(what: str) -> str:
    return re.sub(r"[^\w.-]+", "-", Path(what).stem if what.endswith(".py") else what).strip("-")


def _show(found: list[Found], wanted: Wanted, folder: Path) -> None:
    """A line a problem, all of them together, what helped, and where it all is."""
    from kernelwright.commands.search_folder import file_of, kinds_seen, results_seen

    for one in found:
        at = f"  {file_of(folder, one.problem, wanted.settings.dialect)}"
        typer.echo(_line(one) + (at if one.source is not None else ""))
    if len(found) > 1:
        typer.echo(_together(results_seen(folder)))
    for kind, known in sorted(kinds_seen(folder).items(), key=lambda one: -one[1].mean):
        saved = f"{known.mean:.1%} of the time saved on average"
        typer.echo(f"{kind}: asked for {known.asked} times, helped {known.helped} times, {saved}")
    if wanted.settings.surrogate != "off":
        typer.echo(FORECASTS.format(**results_seen(folder)["forecasts"]))


def _line(one: Found) -> str:
    """What was found for a problem."""
    line = f"{one.problem}: {one.right} of {one.asked} answers correct"
    if not one.asked:
        line = f"{one.problem}: nothing was asked, the given kernel is correct"
        line += " and at the target" if one.given else " and was not timed"
    if speed := one.again or one.first:
        line += f", best {speed.median:.2f} times ({speed.low:.2f} to {speed.high:.2f})"
    elif one.asked and one.source is not None:
        line += ", the best has no speed"
    if one.again and one.first:
        line += f", {one.first.median:.2f} when it was found"
    if one.given:
        line += f"; the given kernel {one.given.median:.2f} times"
    if one.changed:
        line += f"; {one.changed} not correct when measured again"
    return line


def _together(seen: Mapping[str, Any]) -> str:
    """What was found for all problems, with 95 % intervals over them."""
    from kernelwright.evals.page.report import percent, speedup, sure

    count = len(seen["problems"])
    shares = [
        f"{word} {seen[key]} of {count}: {sure(seen[key] / count, seen[f'{key}_ci'], percent)}"
        for key, word in (("solved", "solved"), ("faster", "surely faster than PyTorch"))
    ]
    best = sure(seen["geomean_speedup"], seen["geomean_speedup_ci"], speedup)
    timed = f"best kernels {best} over {seen['timed_again']} timed again"
    return " · ".join([*shares, *([timed] if seen["timed_again"] else [])])
