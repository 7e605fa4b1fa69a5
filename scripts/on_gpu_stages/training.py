"""Trains a recipe as `accelerate launch` starts one, fitted to a stage's minutes.

    accelerate launch ... -m scripts.on_gpu_stages.training RECIPE [KEY=VALUE]... [--resume]

The exploits that training tries on its judge first are left to the stage `verdicts`: all of them
take longer than a stage has. `ON_GPU_TRAINING` holds `Fit` as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kernelwright.launch import start
from kernelwright.preflight.budget import Budget, budget
from kernelwright.rl.recipe.schema import Recipe
from scripts.on_gpu_stages.worker import CORES, program

VARIABLE = "ON_GPU_TRAINING"
STEP_S, MEASURED_S = 1.15, 1.3
"""Assumed duration of a further step over the last, of a second evaluation over the first."""
REPORT_S = 6.0


@dataclass(frozen=True, kw_only=True)
class Fit:
    """What is decided while the run goes: where answers are judged, how many, until when.

    `ends` is by `time.monotonic`, which a machine's processes share; None is no limit.
    """

    on_cores: bool = False
    """Whether answers are judged as on a machine without a GPU, though there is one."""
    probed: bool = False
    """Whether a step is tried before."""
    rows: int | None = None
    """Answers that are written side by side at most; None: as many as suit the GPU."""
    ends: float | None = None
    step_s: float = 40.0
    """About how long judging a step's answers may take."""
    fewest: int = 32
    most: int = 512
    """Answers of a step."""


def launched(words: list[str], fit: Fit) -> tuple[list[str], dict[str, str]]:
    """(command, environment) that train so."""
    options = ["--quiet", "--num_processes=1", "--num_machines=1", "--mixed_precision=no"]
    launcher = ["-m", "accelerate.commands.launch", *options, "--dynamo_backend=no"]
    command = [sys.executable, *launcher, "-m", "scripts.on_gpu_stages.training", *words]
    return command, {**os.environ, VARIABLE: json.dumps(asdict(fit)), "HF_HUB_OFFLINE": "1"}


def main() -> None:
    import kernelwright.preflight.budget
    import kernelwright.preflight.check
    import kernelwright.rl.policies.kv_slots
    from kernelwright.envs.workers.pool import Worker

    fit = Fit(**json.loads(os.environ.get(VARIABLE, "{}")))
    kernelwright.preflight.check.fooled = lambda recipe: []
    if fit.rows is not None:
        kernelwright.rl.policies.kv_slots.MOST_ROWS = fit.rows
    kernelwright.preflight.budget.budget = budget_of(fit)  # type: ignore[assignment]
    if fit.on_cores:
        Worker.PROGRAM = program(CORES)
    if fit.ends is not None:
        fit_steps(fit)
    words = [word for word in sys.argv[1:] if word != "--resume"]
    code = start(Path(words[0]), words[1:], resume="--resume" in sys.argv)
    sys.exit(code)


def budget_of(fit: Fit) -> Callable[[Recipe], Budget]:
    """What a run takes, without the pace of the judge: to measure that takes longer than a stage
    has. Nothing is tried where it is not to be."""
    if fit.probed:
        return partial(budget, pace=lambda _: None)
    return lambda recipe: Budget(recipe=recipe)


def fit_steps(fit: Fit) -> None:
    """Each step has as many answers as are judged in its time, by the pace of those before GRPO;
    no step is begun that would end too late for the measurement after it."""
    from kernelwright.envs.judge import Judge
    from kernelwright.rl.train import grpo
    from kernelwright.run.train import Run

    judging, trainer, run_grpo = Judge.evaluate_many, grpo._trainer, Run.grpo
    answers, seconds = [0], [0.0]

    def evaluate_many(self: Any, jobs: Any, **options: Any) -> Any:
        started = time.monotonic()
        found = judging(self, jobs, **options)
        answers[0] += len(found)
        seconds[0] += time.monotonic() - started
        return found

    def fitted(self: Run) -> None:
        section = self.recipe.grpo
        groups = groups_of(fit, answers[0], seconds[0], section.group_size)
        print(
            f"pace: {answers[0]} answers in {seconds[0]:.0f} s; {groups} groups a step", flush=True
        )
        grpo_section = section.model_copy(update={"groups_per_step": groups})
        self.recipe = self.recipe.model_copy(update={"grpo": grpo_section})
        run_grpo(self)

    def stopping(recipe: Any, *words: Any) -> Any:
        found = trainer(recipe, *words)
        found.add_callback(stop_callback(fit, recipe.run_dir))
        return found

    Judge.evaluate_many = evaluate_many  # type: ignore[method-assign]
    Run.grpo = fitted  # type: ignore[method-assign]
    grpo._trainer = stopping  # type: ignore[assignment]


def groups_of(fit: Fit, judged: int, judged_s: float, group_size: int) -> int:
    """Groups of a step, an even number: two are trained on at a time."""
    wanted = fit.step_s * judged / judged_s if judged_s else fit.fewest
    return max(2, 2 * round(min(max(wanted, fit.fewest), fit.most) / group_size / 2))


def stop_callback(fit: Fit, run_dir: Path) -> Any:
    """Ends training where what has to come after another step would be late."""
    from transformers import TrainerCallback

    from kernelwright.run.run_folder import RunFolder

    class Stop(TrainerCallback):  # type: ignore[misc]
        began = 0.0

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.began = time.monotonic()

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            now = time.monotonic()
            before_s = RunFolder(run_dir).seconds().get("eval_before", 0.0)
            after_s = MEASURED_S * before_s + REPORT_S
            assert fit.ends is not None
            if now + STEP_S * (now - self.began) + after_s > fit.ends:
                control.should_training_stop = True

    return Stop()


if __name__ == "__main__":
    main()
