"""Callbacks of GRPO's trainer: warnings, and the validation curve."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.rollout.rows import Rollouts
from kernelwright.rl.tracking.metrics_callback import log_metrics
from kernelwright.rl.train.adapter import save_adapter
from kernelwright.rl.train.advice import Adviser
from kernelwright.rl.train.validation import Validation, best_step

OF_THE_TRAINED = re.compile(r"reward|reward_std|frac_reward_zero_std|rewards/credit/.*")
"""What TRL says of the credit that it was handed: of the groups that are trained on, with zeros
where nothing is learned. `sampled/reward` is that of all answers."""


def advice_callback() -> Any:
    """Prints a warning, once of each kind, where a step's metrics say that training cannot work."""
    from transformers import TrainerCallback

    adviser = Adviser()

    class Advice(TrainerCallback):  # type: ignore[misc]
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if state.is_world_process_zero and logs:
                for line in adviser.hear(state.global_step, logs):
                    print(f"warning: {line}", file=sys.stderr)

    return Advice()


def phases_callback(rollouts: Rollouts) -> Any:
    """Logs how long a step trained and how long the step before took to save, beside its rollout;
    takes from the log what would pass for the reward (`OF_THE_TRAINED`).

    It goes before every other callback: what those do after a step is not training.
    """
    from transformers import TrainerCallback

    class Phases(TrainerCallback):  # type: ignore[misc]
        began = logged = trained_s = 0.0
        saved_s: float | None = None

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.began = monotonic()

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.trained_s = max(0.0, monotonic() - self.began - rollouts.seconds)
            rollouts.seconds = 0.0

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if logs and "train_runtime" not in logs:
                for name in filter(OF_THE_TRAINED.fullmatch, list(logs)):
                    del logs[name]
                logs["seconds/train"] = self.trained_s
                if self.saved_s is not None:
                    logs["seconds/save"] = self.saved_s
                self.logged = monotonic()

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.saved_s = monotonic() - self.logged

    return Phases()


def validation_callback(recipe: Recipe, validation: Validation, trainer: Any, out: Path) -> Any:
    """Measures the start and every `grpo.validate_every` steps; keeps the best adapters so far.

    Those of the two checkpoints that a run may go on from are kept too: what was better since may
    be none the next time.
    """
    from transformers import TrainerCallback

    def measure(step: int) -> None:
        rates = validation.rates()
        if step in rates:
            return
        shutil.rmtree(best_folder(out, step), ignore_errors=True)  # of an attempt that was cut off
        started = monotonic()
        rate = validation.measure(trainer, step)
        figures = {"validation/correct_rate": rate, "seconds/validate": monotonic() - started}
        log_metrics(recipe, "grpo", step, {k: v for k, v in figures.items() if v is not None})
        if rate is not None and step and best_step({**rates, step: rate}) == step:
            save_adapter(
                trainer.accelerator.unwrap_model(trainer.model), recipe, best_folder(out, step)
            )
            kept = _bests_of_checkpoints(recipe, step, rates)
            for older in [one for one in best_steps(out) if one < step and one not in kept]:
                shutil.rmtree(best_folder(out, older))

    class Curve(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == 0:
                measure(0)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            due = state.global_step % recipe.grpo.validate_every == 0
            if due or state.global_step == state.max_steps:
                measure(state.global_step)

    return Curve()


def _bests_of_checkpoints(recipe: Recipe, step: int, rates: Mapping[int, float]) -> set[int | None]:
    """The best steps up to each of the last two checkpoints before a step."""
    each = recipe.grpo.steps_at_once
    last = (step - 1) // each * each
    return {
        best_step({one: rate for one, rate in rates.items() if one <= until})
        for until in (last, last - each)
    }


def best_folder(out: Path, step: int) -> Path:
    """Where the adapter of a step that did best lies beside the final one."""
    return out.with_name(f"grpo-best-{step}")


def best_steps(out: Path) -> list[int]:
    """The steps whose adapters are kept so, in order."""
    names = (folder.name.rpartition("-")[2] for folder in out.parent.glob("grpo-best-*"))
    return sorted(int(name) for name in names if name.isdecimal())
