"""Interface of a tracker, and one class for each: wandb, trackio, TensorBoard."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml

from kernelwright.envs.system.paths import write_whole
from kernelwright.rl.recipe.schema import Recipe

FILE = "tracker.json"
FLUSH_S = 1.0
"""Most seconds of its offline file that a killed run loses; wandb's own default is 15."""


class TrackerError(RuntimeError):
    """The tracker that the recipe names cannot work; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Named columns and rows of plain values."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Tracker(Protocol):
    """Receives the numbers of a run, besides its folder."""

    def log(self, stage: str, step: int, values: Mapping[str, float]) -> None:
        """Sends `stage/key` for every value, at `stage/step`."""

    def table(self, stage: str, step: int, table: Table) -> None:
        """Sends what was sampled in a step, as `stage/samples`."""

    def summarise(self, values: Mapping[str, float]) -> None:
        """Sends the figures that stand for the whole run."""

    def keep(self, files: Sequence[Path]) -> None:
        """Sends files of the run, where the tracker keeps files."""

    def close(self, *, failed: bool) -> None:
        """Sends what is left; nothing may be sent afterwards."""


class Attempts:
    """`tracker.json`: what the tracker calls this run, and how many rows it was sent so far.

    Kept over all attempts, so that a resumed run goes on where the last one ended.
    """

    def __init__(self, run_dir: Path) -> None:
        self.path = run_dir / FILE
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            self.id, self.rows = str(kept["id"]), int(kept["rows"])
        except (OSError, ValueError, KeyError, TypeError):
            self.id, self.rows = secrets.token_hex(4), 0
            self._write()

    def next_row(self) -> int:
        """Number of the row that is sent now."""
        self.rows += 1
        self._write()
        return self.rows - 1

    def _write(self) -> None:
        write_whole(self.path, json.dumps({"id": self.id, "rows": self.rows}) + "\n")


def open_tracker(recipe: Recipe, attempts: Attempts) -> Tracker:
    """The tracker that the recipe names. Raises TrackerError."""
    config = recipe.model_dump(mode="json")
    if recipe.report_to == "wandb":
        return Wandb(recipe, config, attempts)
    if recipe.report_to == "trackio":
        return Trackio(recipe, config, attempts)
    return TensorBoard(recipe.run_dir / "tensorboard", config)


class Wandb:
    """Weights & Biases: one run with one id. Its files, all there is offline, are in the folder."""

    def __init__(self, recipe: Recipe, config: dict[str, Any], attempts: Attempts) -> None:
        import wandb

        self.attempts, self.axes = attempts, set[str]()
        try:
            self.run = wandb.init(
                project=recipe.project,
                name=recipe.name,
                id=attempts.id,
                resume="allow",
                reinit="create_new",  # not `wandb.run`: TRL asks that for a URL at every save
                dir=str(recipe.run_dir),
                config=config,
                tags=[*recipe.data.dialects, recipe.grpo.method.name],
                settings=wandb.Settings(
                    console="off", silent=True, x_transaction_log_flush_interval=FLUSH_S
                ),
            )
        except wandb.errors.Error as error:
            raise TrackerError(f"report_to wandb: {' '.join(str(error).split())}") from None
        if self.run.url:  # none offline
            print(f"wandb: {self.run.url}", file=sys.stderr)

    def log(self, stage: str, step: int, values: Mapping[str, float]) -> None:
        self._send(stage, step, {f"{stage}/{key}": value for key, value in values.items()})

    def table(self, stage: str, step: int, table: Table) -> None:
        import wandb

        rows = [list(row) for row in table.rows]
        sent = wandb.Table(columns=list(table.columns), data=rows, allow_mixed_types=True)
        self._send(stage, step, {f"{stage}/samples": sent})

    def _send(self, stage: str, step: int, values: Mapping[str, Any]) -> None:
        axis = f"{stage}/step"
        if axis not in self.axes:
            self.run.define_metric(axis, hidden=True)
            self.run.define_metric(f"{stage}/*", step_metric=axis)
            self.axes.add(axis)
        self.run.log({axis: step, **values}, step=self.attempts.next_row(), commit=True)

    def summarise(self, values: Mapping[str, float]) -> None:
        self.run.summary.update(dict(values))

    def keep(self, files: Sequence[Path]) -> None:
        import wandb

        artifact = wandb.Artifact(f"run-{self.attempts.id}", type="run")
        for file in files:
            artifact.add_file(str(file))
        self.run.log_artifact(artifact)

    def close(self, *, failed: bool) -> None:
        self.run.finish(exit_code=int(failed))


class Trackio:
    """Trackio: a local database, under the name of the run and its id."""

    def __init__(self, recipe: Recipe, config: dict[str, Any], attempts: Attempts) -> None:
        import trackio

        self.attempts = attempts
        self.run = trackio.init(
            project=recipe.project,
            name=f"{recipe.name}-{attempts.id}",
            config=config,
            resume="allow",
            embed=False,
        )

    def log(self, stage: str, step: int, values: Mapping[str, float]) -> None:
        self._send(stage, step, {f"{stage}/{key}": value for key, value in values.items()})

    def table(self, stage: str, step: int, table: Table) -> None:
        import trackio

        rows = [list(row) for row in table.rows]
        sent = trackio.Table(columns=list(table.columns), data=rows)
        self._send(stage, step, {f"{stage}/samples": sent})

    def _send(self, stage: str, step: int, values: Mapping[str, Any]) -> None:
        self.run.log({f"{stage}/step": step, **values}, step=self.attempts.next_row())

    def summarise(self, values: Mapping[str, float]) -> None:
        self.run.log(dict(values), step=self.attempts.next_row())

    def keep(self, files: Sequence[Path]) -> None:
        """They stay in the run's folder."""

    def close(self, *, failed: bool) -> None:
        self.run.finish()


class TensorBoard:
    """TensorBoard: event files in the run's folder, below it one folder a stage; tags that start
    alike share an axis. Of a step that is done again after a resume it shows the later values."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.folder, self.stages = folder, dict[str, Any]()
        self.writer = _event_writer(folder)
        self.writer.add_text("recipe", _indented(yaml.safe_dump(config, sort_keys=False)))

    def log(self, stage: str, step: int, values: Mapping[str, float]) -> None:
        writer = self._of(stage, step)
        for key, value in values.items():
            writer.add_scalar(f"{stage}/{key}", value, step)
        writer.flush()

    def table(self, stage: str, step: int, table: Table) -> None:
        blocks = ["\n".join(map(_cell, table.columns, row)) for row in table.rows]
        writer = self._of(stage, step)
        writer.add_text(f"{stage}/samples", "\n\n---\n\n".join(blocks), step)
        writer.flush()

    def summarise(self, values: Mapping[str, float]) -> None:
        for key, value in values.items():
            self.writer.add_scalar(key, value)

    def keep(self, files: Sequence[Path]) -> None:
        """They lie beside the events."""

    def close(self, *, failed: bool) -> None:
        for writer in (self.writer, *self.stages.values()):
            writer.close()

    def _of(self, stage: str, step: int) -> Any:
        """The stage's writer. Its first step and later ones, as an earlier attempt sent them, are
        not shown any more."""
        if stage not in self.stages:
            self.stages[stage] = _event_writer(self.folder / stage, purge_step=step)
        return self.stages[stage]


def _event_writer(folder: Path, **options: int) -> Any:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), **options)


def _cell(column: str, value: Any) -> str:
    text = "–" if value is None else str(value)
    return f"**{column}**\n\n{_indented(text)}\n" if "\n" in text else f"**{column}** {text}  "


def _indented(text: str) -> str:
    """A block of code in Markdown, whatever the text is."""
    return "\n".join(f"    {line}" for line in text.splitlines())


WANDB_ANSWERS_S = 60.0
_ASK_WANDB = """
import os, wandb
ready = wandb.setup().settings.mode in ("offline", "dryrun", "disabled")
ready = ready or wandb.login(prompt=False, verify=False)
os._exit(0 if ready else 3)
"""


def _wandb_ready() -> str | None:
    """Asked in a process of its own, which is left at once: wandb starts a service, and without a
    network its end may be waited for without end."""
    words = [sys.executable, "-c", _ASK_WANDB]
    try:
        done = subprocess.run(words, capture_output=True, timeout=WANDB_ANSWERS_S, check=False)
    except subprocess.TimeoutExpired:
        return f"report_to: wandb did not answer in {WANDB_ANSWERS_S:.0f} s; is there a network?"
    if done.returncode == 0:
        return None
    return (
        "report_to: wandb has no API key here; run `wandb login`, "
        "or set WANDB_MODE=offline to write into the run's folder alone"
    )


READY: Mapping[str, Callable[[], str | None]] = {"wandb": _wandb_ready}
"""Checks of what a tracker needs besides its package."""
