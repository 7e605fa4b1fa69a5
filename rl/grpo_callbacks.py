"""What happens around a step of GRPO: warnings, and the validation curve."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic
from typing import Any

from kernelwright.rl.adapter import save_adapter
from kernelwright.rl.advice import Adviser
from kernelwright.rl.config import Recipe
from kernelwright.rl.metrics import log_metrics
from kernelwright.rl.rollout import Rollouts
from kernelwright.rl.validation import Validation, best_step


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
    """Logs how long a step trained and how long the step before took to save, beside its rollout.

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
                logs["seconds/train"] = self.trained_s
                if self.saved_s is not None:
                    logs["seconds/save"] = self.saved_s
                self.logged = monotonic()

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.saved_s = monotonic() - self.logged

    return Phases()


def validation_callback(recipe: Recipe, validation: Validation, trainer: Any, best: Path) -> Any:
    """Measures the start and every `grpo.validate_every` steps; keeps the best adapter so far."""
    from transformers import TrainerCallback

    def measure(step: int) -> None:
        rates = validation.rates()
        if step in rates:
            return
        started = monotonic()
        rate = validation.measure(trainer, step)
        figures = {"validation/correct_rate": rate, "seconds/validate": monotonic() - started}
        log_metrics(recipe, "grpo", step, {k: v for k, v in figures.items() if v is not None})
        if rate is not None and step and best_step({**rates, step: rate}) == step:
            save_adapter(trainer.accelerator.unwrap_model(trainer.model), recipe, best)

    class Curve(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == 0:
                measure(0)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            due = state.global_step % recipe.grpo.validate_every == 0
            if due or state.global_step == state.max_steps:
                measure(state.global_step)

    return Curve()


def best_folder(out: Path) -> Path:
    """Where the best adapter so far lies beside the final one."""
    return out.with_name("grpo-best")
