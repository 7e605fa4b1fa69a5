"""Measures the cost of training on this machine, in a process of its own, before a run begins.

Seconds and peak memory of the recipe's steps (`rl/train/probe_steps.py`) come out; the memory goes
back with the process. What was measured is kept, for the dry run and the start ask the same.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from kernelwright.envs.system.cores import usable_cores
from kernelwright.envs.system.hardware import visible_gpus
from kernelwright.envs.system.paths import cache_folder, own_environment, write_whole
from kernelwright.envs.types import content_hash
from kernelwright.rl.recipe.schema import Recipe

DECODING_STEPS = 12
PROMPT_TOKENS, SHOWN = 256, 0.6
"""Tokens of a task; what an answer that a prompt shows takes of `grpo.max_completion_length`."""
LAUNCHED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What torchrun and accelerate tell each process."""


class ProbeError(RuntimeError):
    """A step of this recipe does not run here; the message is the last line of what it said."""


class ProbeFullError(ProbeError):
    """The GPU has no room for a part of it: `part` is a key of `Probe.device_bytes`."""

    def __init__(self, part: str) -> None:
        super().__init__(f"the GPU has no room for {part}")
        self.part = part


class ProbeKilledError(ProbeError):
    """It was ended by a signal: most likely it took more memory than there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Seconds of each part, and the largest resident set of the process that ran all of them."""

    sft_step_s: float | None
    """An optimiser step on the longest examples that `sft.max_length` allows; None without SFT."""
    trained_token_s: float | None
    """A token of an answer that GRPO trains on; None without GRPO."""
    decoding_step_s: float
    """A token for each of as many rows as a rollout has, at most `rows`."""
    rows: int
    peak_bytes: int
    device_bytes: dict[str, int] = field(default_factory=dict)
    """Part (`sampling`, `grpo`, `sft`) → the most memory of a GPU that its tensors took."""
    reserved_bytes: int = 0
    """The most that PyTorch held of a GPU's memory, freed blocks among it."""


def probe(recipe: Recipe) -> Probe:
    """Measures, or reads what the same recipe's steps took before on the same machine.

    Raises ProbeError where a step fails, ProbeFullError where a GPU has no room for one, and
    ProbeKilledError where the system ended it.
    """
    kept = cache_folder() / "probes" / f"{_key(recipe)}.json"
    if kept.exists():
        return Probe(**json.loads(kept.read_text(encoding="utf-8")))
    print("a step of this recipe is tried, to tell its memory and minutes", file=sys.stderr)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kernelwright.rl.train.probe_steps", str(os.getpid())],
        input=recipe.model_dump_json(),
        capture_output=True,
        text=True,
        env=_alone(own_environment()),
        check=False,
    )
    if done.returncode < 0:
        raise ProbeKilledError(f"it was ended by {signal.Signals(-done.returncode).name}")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        raise ProbeError(lines[-1])
    said = json.loads(done.stdout.splitlines()[-1])
    if "full" in said:
        raise ProbeFullError(said["full"])
    found = Probe(**said)
    write_whole(kept, json.dumps(asdict(found)))
    return found


def shown_tokens(recipe: Recipe) -> int:
    """Tokens of the earlier answers in a prompt of GRPO, about."""
    grpo = recipe.grpo
    shown = grpo.method.shown_answers if "grpo" in recipe.stages else 0
    return round(shown * SHOWN * grpo.max_completion_length)


def _alone(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what a launcher says of its processes, which the probe is none of: its trainers
    would join them."""
    return {
        name: value
        for name, value in environment.items()
        if name not in LAUNCHED and not name.startswith("TORCHELASTIC_")
    }


def _key(recipe: Recipe) -> str:
    """What decides the figures: the model, the sizes of steps, the machine and the code."""
    sft, grpo = recipe.sft, recipe.grpo
    sizes = (
        sft.batch_size,
        sft.micro_batch_size,
        sft.max_length,
        grpo.rollouts_per_step,
        grpo.groups_at_once,
    )
    whose = (recipe.stages, grpo.fast_pass, grpo.micro_batch_size, sorted(grpo.trainer_options))
    code = [
        path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parents[1].rglob("*.py"))
    ]
    model, length = recipe.model.model_dump_json(), grpo.max_completion_length
    asked = (model, sizes, whose, length, shown_tokens(recipe), version("torch"), _gpu(recipe))
    processor = (len(usable_cores()), os.environ.get("ATEN_CPU_CAPABILITY"), _processor())
    return content_hash(repr((asked, processor)), *code)


def _gpu(recipe: Recipe) -> list[str]:
    """The GPU that trains, and what decides its figures besides; empty where there is none."""
    if not visible_gpus():
        return []
    gpu, grpo = visible_gpus()[0], recipe.grpo
    card = (gpu.name, gpu.driver, gpu.memory_bytes)
    rows = (grpo.rows_per_group, grpo.oversampled_groups, recipe.sft.trainer, grpo.trainer_options)
    asked = (recipe.data.model_dump_json(), recipe.eval.model_dump_json())
    return [repr((card, rows, asked))]


def _processor() -> list[str]:
    """The lines that name the processor and what it can do, each once."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))})
