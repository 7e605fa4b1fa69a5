"""Commands about problems and answers: what they are, what they are worth, what may be tried."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from kernelwright.commands.option_types import (
    DEFAULT,
    PRECISION,
    PROFILE,
    SANITIZE,
    TORCH_ALLOWED,
    AskedDialect,
)
from kernelwright.commands.shared import (
    FAILED,
    MISUSED,
    RunFolder,
    judging,
    logged_in_cache,
    refuse_tf32,
    refuse_tools,
    told,
)
from kernelwright.commands.verdict_text import verdict_text
from kernelwright.environments.verdict_object import verdict_object
from kernelwright.envs.system.tools import Tool
from kernelwright.envs.types import Dialect, Precision, Verdict
from kernelwright.envs.workers.gpu_config import GpuConfig

app = typer.Typer()
ProblemFile = Annotated[
    Path, typer.Argument(metavar="PROBLEM.py", help="Python file in KernelBench's format.")
]
suites = typer.Typer(help="Look after problems.", no_args_is_help=True)
app.add_typer(suites, name="suite")


@app.command()
def prompt(
    problem: ProblemFile,
    dialect: Annotated[AskedDialect, typer.Option(help="What it asks for.")] = DEFAULT,
) -> None:
    """Print the prompt of a problem: the module, its shapes, and the form of an answer."""
    from kernelwright.commands.problem_prompt import ask

    with told(OSError, ValueError, about=problem):
        typer.echo(ask(problem, dialect)[1])


@app.command()
def judge(  # noqa: PLR0913  one parameter for each option
    problem: ProblemFile,
    answer: Annotated[
        Path,
        typer.Argument(
            metavar="ANSWER", help="The kernel's source; a .md file is a completion with it."
        ),
    ],
    dialect: Annotated[AskedDialect, typer.Option(help="What the answer is written in.")] = DEFAULT,
    torch_allowed: Annotated[bool, typer.Option("--torch-allowed", help=TORCH_ALLOWED)] = False,
    precision: Annotated[Precision, typer.Option(help=PRECISION)] = Precision.IEEE,
    sanitize: Annotated[bool, typer.Option("--sanitize", help=SANITIZE)] = False,
    profile: Annotated[bool, typer.Option("--profile", help=PROFILE)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge one kernel: build it, check it, time it, all in a sandbox. Exit code 0 if correct."""
    from kernelwright.commands.problem_prompt import expected_form
    from kernelwright.data.suites.kernelbench import load_problem
    from kernelwright.envs.answer import extract
    from kernelwright.envs.judge import NO_CODE_BLOCK
    from kernelwright.envs.remote.open_judge import open_judge
    from kernelwright.envs.types import Candidate

    with told(OSError, ValueError, about=problem):
        asked = load_problem(problem)
    with told(OSError, UnicodeDecodeError, about=answer):
        text = answer.read_text(encoding="utf-8")
    _refuse_other_language(answer, dialect)
    refuse_tf32(precision, dialect)
    asked_tools = {"--sanitize": Tool.SANITIZER} if sanitize else {}
    asked_tools |= {"--profile": Tool.PROFILER} if profile else {}
    refuse_tools(asked_tools, dialect)
    on_gpu = GpuConfig(precision=precision, tools=tuple(asked_tools.values()))
    source = extract(text, dialect) if answer.suffix == ".md" else text
    if source is None:
        evaluation = NO_CODE_BLOCK
    else:
        candidate = Candidate(
            problem_key=asked.key, dialect=dialect, source=source, torch_allowed=torch_allowed
        )
        with judging(), open_judge(1, on_gpu=on_gpu) as the_judge:
            evaluation = the_judge.evaluate(asked, candidate)
    if as_json:
        typer.echo(json.dumps(verdict_object(evaluation)))
    else:
        typer.echo(verdict_text(evaluation))
        if evaluation.verdict is Verdict.BUILD_FAILED:
            typer.echo(f"expected:\n{expected_form(asked, dialect)}")
    raise typer.Exit(0 if evaluation.verdict is Verdict.CORRECT else FAILED)


def _refuse_other_language(answer: Path, dialect: Dialect) -> None:
    """Exits where Python is given for a native kernel, or the other way round."""
    from kernelwright.envs.dialects import DIALECTS

    wanted = Path(f"kernel{DIALECTS[dialect].suffix}").suffix
    if answer.suffix in (".py", ".cpp", ".cu") and (answer.suffix == ".py") != (wanted == ".py"):
        typer.echo(f"{answer}: {dialect} answers are {wanted} files; see --dialect", err=True)
        raise typer.Exit(MISUSED)


@app.command()
def replay(
    run: RunFolder,
    record: Annotated[str, typer.Argument(metavar="RECORD", help="STAGE/STEP/ROW, as grpo/3/12.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge a stored kernel again, on the same inputs. Exit code 0 if the verdict holds."""
    from kernelwright.commands.replay import ReplayError, text
    from kernelwright.commands.replay import replay as judge_again
    from kernelwright.data.runs.records import StoreError
    from kernelwright.machine.facts import versions

    with judging(), told(ReplayError, StoreError, OSError):
        found = judge_again(run, record, versions())
    typer.echo(json.dumps(found.plain()) if as_json else text(found))
    raise typer.Exit(0 if found.holds else FAILED)


@app.command()
def reprice(
    run: RunFolder,
    stage: Annotated[str, typer.Option(help="Whose records: grpo, eval_after, …")] = "grpo",
    method: Annotated[str, typer.Option(help="Whose advantages: grpo, kevin, trloo, …")] = "grpo",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Print what each reward would have paid for a run's stored answers; nothing is judged."""
    from kernelwright.commands.reprice import RepriceError, plain, text
    from kernelwright.commands.reprice import reprice as price_again
    from kernelwright.data.runs.records import StoreError

    with told(RepriceError, StoreError, OSError):
        found = price_again(run, stage, method)
    typer.echo(json.dumps(plain(found)) if as_json else text(found))


@app.command()
def gallery(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge every exploit and every honest kernel. Exit code 1 if the judge is not just."""
    from kernelwright.data.gallery.judge_check import (
        gallery_object,
        gallery_text,
        is_just,
        run_gallery,
    )

    with judging(), logged_in_cache("gallery"):
        outcome, leftovers = run_gallery()
    if as_json:
        typer.echo(json.dumps(gallery_object(outcome, leftovers)))
    else:
        typer.echo(gallery_text(outcome, leftovers))
    raise typer.Exit(0 if is_just(outcome, leftovers) else FAILED)


@suites.command()
def check(
    suite: Annotated[
        str,
        typer.Argument(metavar="SUITE", help="starter:train, or kernelbench:FOLDER?levels=1,2."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="File for the result, which a suite can carry.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Try trivial answers on every problem, and mutants of its module.

    Exit code 1 if one is accepted, or a problem cannot be tried.
    """
    from kernelwright.commands.suite_table import checked, print_table
    from kernelwright.data.suites.check import write_admissions
    from kernelwright.data.suites.load import jobs_of, load_suite
    from kernelwright.envs.codec import to_plain

    with told(ValueError, OSError):
        loaded = load_suite(suite)
        for note in loaded.notes:
            typer.echo(note, err=True)
        jobs = jobs_of(loaded)
        with logged_in_cache("suite-check"):
            found = list(checked(jobs))
        if out:
            write_admissions(out, found)
    if as_json:
        typer.echo(json.dumps(to_plain(found)))
    else:
        print_table(found)
    raise typer.Exit(0 if all(one.admitted for one in found) else FAILED)
