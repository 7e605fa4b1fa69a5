"""What training costs on this machine: measured before minutes are spent, in a process of its own.

A few decoding steps and one training pass at the longest answer, and one SFT step at the longest
example, as far as the recipe has these stages, with its own model. Seconds and peak memory come
out; the memory goes back with the process. What was measured is kept, for the dry run and the start
ask the same.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kernelwright.envs.hardware import visible_gpus
from kernelwright.envs.lifetime import die_with
from kernelwright.envs.paths import cache_folder, own_environment, write_whole
from kernelwright.envs.types import content_hash
from kernelwright.rl.config import Recipe

DECODING_STEPS = 12
PROMPT_TOKENS = 256
ANSWERS = 4
"""Answers of the training pass; more take longer and no more memory (`rl/fast_pass.py`)."""


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
        [sys.executable, "-P", "-m", "kernelwright.rl.probe", str(os.getpid())],
        input=recipe.model_dump_json(),
        capture_output=True,
        text=True,
        env=own_environment(),
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


def _key(recipe: Recipe) -> str:
    """What decides the figures: the model, the sizes of steps, the machine and the code."""
    sft, grpo = recipe.sft, recipe.grpo
    sizes = (sft.batch_size, sft.micro_batch_size, sft.max_length, grpo.rollouts_per_step)
    whose = (recipe.stages, grpo.fast_pass, grpo.micro_batch_size, sorted(grpo.trainer))
    code = [path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))]
    model, length = recipe.model.model_dump_json(), grpo.max_completion_length
    asked = (model, sizes, whose, length, version("torch"), _gpu(recipe))
    processor = (len(os.sched_getaffinity(0)), os.environ.get("ATEN_CPU_CAPABILITY"), _processor())
    return content_hash(repr((asked, processor)), *code)


def _gpu(recipe: Recipe) -> list[str]:
    """The GPU that trains, and what decides its figures besides; empty where there is none."""
    if not visible_gpus():
        return []
    gpu, grpo = visible_gpus()[0], recipe.grpo
    card = (gpu.name, gpu.driver, gpu.memory_bytes)
    rows = (grpo.rows_per_group, grpo.oversampled_groups, recipe.sft.trainer, grpo.trainer)
    asked = (recipe.data.model_dump_json(), recipe.eval.model_dump_json())
    return [repr((card, rows, asked))]


def _processor() -> list[str]:
    """The lines that name the processor and what it can do, each once."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))})


def measure(recipe: Recipe) -> Probe:
    """Runs the steps here and now, on the GPU where there is one."""
    import torch

    if torch.cuda.is_available():
        from kernelwright.rl.probe_gpu import measure_on

        return measure_on("cuda", recipe)

    from kernelwright.rl.adapter import policy_model
    from kernelwright.rl.models import hush_libraries, load_tokenizer

    hush_libraries()
    torch.set_num_threads(len(os.sched_getaffinity(0)))  # accelerate leaves a process with one
    tokenizer = load_tokenizer(recipe.model.name)
    model = policy_model(recipe, None)
    decoding_s, rows = _decode(recipe, model, len(tokenizer))
    model.train()
    trained_s = _train(recipe, model, len(tokenizer)) if "grpo" in recipe.stages else None
    sft_s = _sft(recipe, model, len(tokenizer)) if "sft" in recipe.stages else None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Probe(
        sft_step_s=sft_s,
        trained_token_s=trained_s,
        decoding_step_s=decoding_s,
        rows=rows,
        peak_bytes=peak,
    )


def _decode(recipe: Recipe, model: Any, vocabulary: int) -> tuple[float, int]:
    from kernelwright.rl.decode import sample

    rows = min(48, recipe.grpo.rollouts_per_step)
    prompts = [_ids(PROMPT_TOKENS, vocabulary).tolist() for _ in range(rows)]

    def few(steps: int) -> float:
        return _timed(
            lambda: sample(
                model,
                prompts,
                max_new_tokens=steps,
                temperature=1.0,
                end_token_ids=(),
                seed=0,
            )
        )

    sample(  # every token ends a row: room is made for whole answers, and they take no time
        model,
        prompts,
        max_new_tokens=recipe.grpo.max_completion_length,
        temperature=1.0,
        end_token_ids=range(vocabulary),
        seed=0,
    )
    return max(0.0, few(DECODING_STEPS + 1) - few(1)) / DECODING_STEPS, rows


def _train(recipe: Recipe, model: Any, vocabulary: int) -> float:
    """Seconds for a token of an answer."""
    import torch

    from kernelwright.rl.fast_pass import Clip, backward_pass
    from kernelwright.rl.grpo import is_ours

    length = recipe.grpo.max_completion_length
    if not is_ours(recipe, model):
        count = recipe.grpo.micro_batch_size
        rows = [_ids(PROMPT_TOKENS + length, vocabulary) for _ in range(count)]
        return _timed(lambda: _learn(model, torch.stack(rows))) / (count * length)
    prompt, answers = _ids(PROMPT_TOKENS, vocabulary), [_ids(length, vocabulary)] * ANSWERS
    answers = [torch.roll(one, number) for number, one in enumerate(answers)]
    inputs = {
        "prompt_ids": prompt.expand(ANSWERS, -1),
        "prompt_mask": torch.ones(ANSWERS, PROMPT_TOKENS, dtype=torch.long),
        "completion_ids": torch.stack(answers),
        "completion_mask": torch.ones(ANSWERS, length, dtype=torch.long),
        "advantages": torch.tensor([1.0, -1.0] * (ANSWERS // 2)),
    }
    clip = Clip(low=0.2, high=0.28, normalizer=1.0, temperature=1.0)
    return _timed(lambda: backward_pass(model, inputs, clip)) / (ANSWERS * length)


def _learn(model: Any, ids: Any, learned_from: int = 0) -> None:
    """A pass of the model's own loss."""
    labels = ids.clone()
    labels[:, :learned_from] = -100
    model(input_ids=ids, attention_mask=ids.new_ones(ids.shape), labels=labels).loss.backward()


def _sft(recipe: Recipe, model: Any, vocabulary: int) -> float:
    """Seconds of an optimiser step, as the trainer does it: what `score_learned_positions` cannot
    score is scored as the model itself does."""
    import torch

    from kernelwright.rl.head import score_learned_positions

    section, ours = recipe.sft, score_learned_positions(model)
    ids = torch.stack([_ids(section.max_length, vocabulary)] * section.micro_batch_size)
    labels = ids.clone()
    labels[:, : section.max_length // 3] = -100

    def learn() -> None:
        if not ours:
            return _learn(model, ids, section.max_length // 3)
        mask = torch.ones_like(ids)
        found = model(input_ids=ids, attention_mask=mask, labels=labels, fused_lm_head=True)
        (-found.log_probs.sum()).backward()

    return section.batch_size // section.micro_batch_size * _timed(learn)


def _ids(count: int, vocabulary: int) -> Any:
    import torch

    return torch.randint(vocabulary, (count,))


def _timed(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def main() -> None:
    """Reads a recipe, writes what was measured or which part finds no room, as JSON."""
    die_with(int(sys.argv[1]))
    asked = Recipe.model_validate_json(sys.stdin.read())
    try:
        found = asdict(measure(asked))
    except ProbeFullError as error:
        found = {"full": error.part}
    print(json.dumps(found))


if __name__ == "__main__":
    import kernelwright.rl.probe  # the errors of this module, not of one more called __main__

    kernelwright.rl.probe.main()
