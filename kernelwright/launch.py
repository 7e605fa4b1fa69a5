"""Starts a recipe: what `accelerate launch recipes/x.yaml` and `kernelwright train` share."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.data.runs.process import this_process
from kernelwright.recipe.resolve import RecipeError, Resolved, resolve
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.supervise.machine_faults import LOST, explained, lost_another
from kernelwright.supervise.quiet_threads import quieten_threads
from kernelwright.supervise.resume_command import resume_command
from kernelwright.supervise.supervisor import end_launcher, supervised

if TYPE_CHECKING:
    from kernelwright.preflight.budget import Budget

ALLOCATOR = {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}
"""Lets PyTorch's memory of a GPU grow in place. In blocks of fixed sizes, memory freed between
sampling and training rarely fits the next request, and the judge loses it too."""
FLAGS = {"--resume": "resume", "--dry-run": "dry_run", "--json": "as_json"}
"""What a recipe's command line may have beside values → what `start` calls it."""

OTHERS_S, LOST_S = 3.0, 15.0
"""How long processes of a launch after the first wait before they tell of a failure, and who only
lost its connection to another: the launcher ends them as soon as one has ended, and who may only
repeat what another says should not speak."""

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130


def run(recipe: str) -> None:
    """What the header of a recipe calls: reads the rest of the command line, then exits."""
    words = sys.argv[1:]
    overrides = [word for word in words if word not in FLAGS]
    code = start(Path(recipe), overrides, **{name: flag in words for flag, name in FLAGS.items()})
    if code:
        end_launcher()
    sys.exit(code)


def start(
    path: Path,
    overrides: Sequence[str] = (),
    *,
    resume: bool = False,
    dry_run: bool = False,
    as_json: bool = False,
) -> int:
    """Trains, or prints what would be trained, `as_json` as one object. Returns the exit code."""
    if as_json and not dry_run:
        return _fail(
            ["--json goes with --dry-run: what a run measured is in its summary.json"], MISUSED
        )
    quieten_threads()
    try:
        recipe_path = _short(path)
        resolved = resolve(recipe_path, overrides)
        recipe = resolved.recipe
        from kernelwright.preflight.check import preflight

        _set_allocator()
        reasons = preflight(recipe)
    except RecipeError as error:
        return _fail(error.lines, MISUSED)
    except (OSError, RuntimeError) as error:
        return _told(error, Path(), again=None)
    if this_process().leads and this_process().world > 1:
        world = this_process().world
        print(
            f"{world} processes, by --num_processes or accelerate's configuration", file=sys.stderr
        )
    if resolved.chosen and this_process().leads:
        print(*(f"auto: {line}" for line in resolved.chosen), sep="\n", file=sys.stderr)
    if dry_run:
        return _dry_run(resolved, reasons, as_json=as_json)
    if reasons:
        return _refuse(path, reasons)
    again = resume_command(recipe_path, overrides)
    alone = int(os.environ.get("WORLD_SIZE", 1)) == 1
    work = partial(_train, path, recipe, resume, again)
    return supervised(work, again, alone=alone, who=rank_words())


def _set_allocator() -> None:
    """Chooses how PyTorch holds a GPU's memory, where the user has not."""
    from kernelwright.envs.system.hardware import visible_gpus

    chosen = {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"} & os.environ.keys()
    if visible_gpus() and not chosen:
        os.environ.update(ALLOCATOR)


def _dry_run(resolved: Resolved, reasons: list[str], *, as_json: bool) -> int:
    """Prints the recipe and its cost, from a probe of its steps where possible. A missing model is
    not downloaded for it.
    """
    from kernelwright.preflight.budget import Budget, budget
    from kernelwright.preflight.check import unloadable, without_pairs
    from kernelwright.rl.models.load import is_here
    from kernelwright.run.dry_run import dry_run_json, dry_run_text

    if not this_process().leads:
        return FAILED if reasons else DONE
    here = not reasons and is_here(resolved.recipe.model.name)
    if here and (why := unloadable(resolved.recipe) or without_pairs(resolved.recipe)):
        here, reasons = False, [why]
    found = budget(resolved.recipe) if here else Budget(recipe=resolved.recipe)
    if found.reason:
        reasons = [*reasons, found.reason]
    told = dry_run_json if as_json else dry_run_text
    print(told(resolved, found, reasons))
    return FAILED if reasons else DONE


def _fitted(recipe: Recipe) -> Budget:
    """The recipe as it fits this machine; prints its cost. Several processes are not probed."""
    from kernelwright.preflight.budget import Budget, budget

    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        return Budget(recipe=recipe)
    found = budget(recipe)
    said = [*(f"memory: {note}" for note in found.notes), *filter(None, [found.line()])]
    print(*said, sep="\n", file=sys.stderr)
    return found


def _train(path: Path, recipe: Recipe, resume: bool, again: str) -> int:
    """Everything that is slow or heavy: the folder, the model, the judge, then the stages."""
    from kernelwright.data.runs.progress import logged
    from kernelwright.data.runs.records import StoreError
    from kernelwright.envs.sandbox.toolchain import SandboxUnavailableError
    from kernelwright.envs.workers.pool import JudgeError
    from kernelwright.preflight.budget import Budget
    from kernelwright.preflight.check import fooled, unprepared
    from kernelwright.rl.models.weights import ModelError
    from kernelwright.rl.policies.endpoint import EndpointError
    from kernelwright.rl.tracking.trackers import TrackerError
    from kernelwright.run.processes import join
    from kernelwright.run.run_folder import NotEmptyError, RunError, RunFolder
    from kernelwright.run.train import train

    folder, process = RunFolder(recipe.run_dir), this_process()
    try:
        with folder.held() if process.leads else nullcontext():
            if process.leads:
                folder.check(recipe, resume=resume)
            join(process)
            reasons = unprepared(recipe)
            fitted = Budget(recipe=recipe) if reasons else _fitted(recipe)
            reasons = reasons or [one for one in [fitted.reason] if one] or fooled(recipe)
            if reasons:
                return _refuse(path, reasons)
            with logged(recipe.run_dir if process.leads else None):
                train(recipe, resume=resume, fitted=fitted.recipe)
    except NotEmptyError as error:
        tell_failure(f"{error}: go on with it by  {again}  or give name=… anew")
    except EndpointError as error:
        tell_failure(f"{error}; once it answers, go on with: {again}")
    except (
        JudgeError,
        ModelError,
        RunError,
        SandboxUnavailableError,
        StoreError,
        TrackerError,
    ) as error:
        tell_failure(str(error))
    except KeyboardInterrupt:
        return _fail([f"interrupted; go on with: {again}"], INTERRUPTED)
    except Exception as error:  # noqa: BLE001  raised again where it is ours
        return _told(error, recipe.run_dir, again)
    else:
        return DONE
    return FAILED


def _refuse(path: Path, reasons: Sequence[str]) -> int:
    return _fail([f"{path.name} cannot run here: {reason}" for reason in reasons], FAILED)


def _told(error: Exception, run_dir: Path, again: str | None) -> int:
    """One line for a failure of the machine, in whichever process; raises mistakes of ours."""
    line = explained(error, run_dir)
    if line is None:
        raise error
    tell_failure(line if again is None else f"{line}; go on with: {again}", error)
    return FAILED


def _short(path: Path) -> Path:
    """The path as a user in the current folder would write it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _fail(lines: Sequence[str], code: int) -> int:
    """Says so, in the first process on each machine, which speaks for all that are there."""
    process = this_process()
    if process.here[0] == 0:
        words = "" if process.leads else rank_words()
        print(*(f"{words}{line}" for line in lines), sep="\n", file=sys.stderr)
    return code


def rank_words() -> str:
    """`rank 1 of 2 processes: `; nothing where there is one process.

    >>> rank_words()
    ''
    """
    process = this_process()
    return f"rank {process.rank} of {process.world} processes: " if process.world > 1 else ""


def tell_failure(line: str, error: BaseException | None = None) -> None:
    """Prints the last line of a process that fails, which may be this `error`."""
    if rank_words():
        lost = error is not None and lost_another(error)
        time.sleep(LOST_S if lost else OTHERS_S if this_process().rank else 0.0)
    print(f"{rank_words()}{line}", file=sys.stderr, flush=True)


@contextmanager
def as_one_of_several() -> Iterator[None]:
    """Exits with FAILED if another process of the launch is gone: that one says why."""
    try:
        yield
    except RuntimeError as error:
        if not lost_another(error):
            raise
        tell_failure(LOST, error)
        sys.exit(FAILED)
