"""What a GRPO step costs: our training pass and decoder against stock TRL's and transformers'.

One process, one model (an embedded one, NF4 and a LoRA adapter, as recipes/quickstart.yaml has it),
the same rows for both, in turns: CPU seconds and the peak of resident memory above what lay there
before. Prompts are those of the training problems; answers to be learned are random tokens of
lengths spread from a third of the longest to the longest, no two alike.

    python -m scripts.bench_step [--groups 3] [--group-size 8] [--longest 352] [--dtype auto]
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from kernelwright.data.suites.load import load_suite
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.types import Task
from kernelwright.recipe.resolve import resolve
from kernelwright.rl.models.free_memory import give_back
from kernelwright.rl.models.load import hush_libraries, load_tokenizer
from kernelwright.rl.policies.decode import sample
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.adapter import float32_kept, policy_model
from kernelwright.rl.train.grpo import grpo_options
from kernelwright.rl.train.trl_adapter import kernel_trainer_class

SEED = 1


@dataclass(frozen=True, slots=True)
class Cost:
    cpu_s: float
    peak_bytes: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=3)
    parser.add_argument("--group-size", type=int, default=8)
    parser.add_argument("--longest", type=int, default=352, help="tokens of an answer")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--skip-generation", action="store_true")
    options = parser.parse_args()
    hush_libraries()
    import torch

    with tempfile.TemporaryDirectory() as folder:
        recipe = bench_recipe(Path(folder), options)
        ours, stock = trainers(recipe)
        prompts = prompt_ids(recipe, options.groups)
        rows = [prompt for prompt in prompts for _ in range(options.group_size)]
        table = Table("", "CPU s, ours", "CPU s, stock", "ratio", "peak GB, ours", "peak GB, stock")
        for name, dead in (("training pass, no dead row", 0), ("half the groups dead", 2)):
            inputs = random_rows(rows, options.group_size, options.longest, dead)
            costs = [cost(partial(learn, one, inputs, recipe)) for one in (ours, stock)]
            show(table, name, *costs)
        if not options.skip_generation:
            model = ours.model
            show(
                table,
                "generation",
                cost(partial(decoded, model, rows, options.longest)),
                cost(partial(generated, model, rows, options.longest)),
            )
        title = f"{len(rows)} rows, {next(ours.model.get_base_model().parameters()).dtype}"
        table.title = f"{title}, {torch.get_num_threads()} threads"
        Console(width=110).print(table)


def bench_recipe(folder: Path, options: argparse.Namespace) -> Recipe:
    """The quickstart's, with the sizes asked for."""
    changes = [
        f"run_dir={folder}",
        f"model.dtype={options.dtype}",
        f"grpo.groups_per_step={options.groups}",
        f"grpo.group_size={options.group_size}",
        f"grpo.max_completion_length={options.longest}",
    ]
    return resolve(Path("recipes/quickstart.yaml"), changes).recipe


def trainers(recipe: Recipe) -> tuple[Any, Any]:
    """Ours with all rows of a step in one batch, TRL's with the recipe's micro-batches."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    def made(kind: Any, **options: Any) -> Any:
        known = {**grpo_options(recipe), "report_to": []}
        model = policy_model(recipe, None)
        with float32_kept(model):
            trainer = kind(
                model=model,
                args=GRPOConfig(**known),
                reward_funcs=lambda **_: [],
                train_dataset=Dataset.from_list([{"prompt": "a"}]),
                processing_class=load_tokenizer(recipe.model.name),
                **options,
            )
        trainer.current_gradient_accumulation_steps = 1
        return trainer

    return made(kernel_trainer_class(), fast_pass=True), made(GRPOTrainer)


def prompt_ids(recipe: Recipe, count: int) -> list[list[int]]:
    tokenizer = load_tokenizer(recipe.model.name)
    found = []
    for problem in list(load_suite(recipe.data.train_suite).by_key().values())[:count]:
        message = {
            "role": "user",
            "content": task_prompt(Task(problem=problem, dialect="cpp")),
        }
        text = tokenizer.apply_chat_template([message], tokenize=False, add_generation_prompt=True)
        found.append(tokenizer(text, add_special_tokens=False).input_ids)
    return found


def random_rows(
    prompts: list[list[int]], group_size: int, longest: int, dead_of: int
) -> dict[str, Any]:
    """Rows as TRL's trainer holds them; of `dead_of` groups every first has no credit."""
    import torch

    torch.manual_seed(SEED)
    width = max(map(len, prompts))
    shape = len(prompts), width
    ids, mask = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, width - len(prompt) :] = torch.tensor(prompt)
        mask[row, width - len(prompt) :] = 1
    lengths = torch.linspace(longest / 3, longest, len(prompts)).long()
    lengths = lengths[torch.randperm(len(prompts))]
    answers = torch.randint(10, 40_000, (len(prompts), longest))
    advantages = torch.randn(len(prompts))
    if dead_of:
        for row in range(len(prompts)):
            advantages[row] *= (row // group_size) % dead_of != 0
    return {
        "prompt_ids": ids,
        "prompt_mask": mask,
        "completion_ids": answers,
        "completion_mask": (torch.arange(longest) < lengths[:, None]).long(),
        "advantages": advantages,
    }


def learn(trainer: Any, inputs: dict[str, Any], recipe: Recipe) -> None:
    """Forward and backward of a whole step: in one batch, or in the recipe's micro-batches."""
    trainer.model.train()
    trainer.model.zero_grad()
    count = len(inputs["advantages"])
    size = count if getattr(trainer, "fast", False) else recipe.grpo.micro_batch_size
    for start in range(0, count, size):
        piece = {name: value[start : start + size] for name, value in inputs.items()}
        trainer.compute_loss(trainer.model, piece).backward()


def decoded(model: Any, rows: list[list[int]], longest: int) -> int:
    found = sample(
        model,
        rows,
        max_new_tokens=longest,
        temperature=1.0,
        end_token_ids=ends(model),
        seed=SEED,
    )
    return sum(len(one.token_ids) for one in found)


def ends(model: Any) -> set[int]:
    known = model.generation_config.eos_token_id
    return {known} if isinstance(known, int) else set(known)


def generated(model: Any, rows: list[list[int]], longest: int) -> int:
    """By transformers; tokens up to the end of each answer count."""
    import torch
    from transformers import GenerationConfig

    torch.manual_seed(SEED)
    width, end = max(map(len, rows)), sorted(ends(model))
    ids = torch.tensor([[0] * (width - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    config = GenerationConfig(
        max_new_tokens=longest, do_sample=True, top_k=0, top_p=1.0, eos_token_id=end, pad_token_id=0
    )
    model.eval()
    found = model.generate(input_ids=ids, attention_mask=mask, generation_config=config)
    return int((found[:, width:] != 0).sum())


def cost(work: Callable[[], int | None]) -> tuple[Cost, int | None]:
    """Of a piece of work, by this process's CPU time and the kernel's high-water mark."""
    gc.collect()
    give_back()
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    started = os.times()
    result = work()
    ended = os.times()
    spent = ended.user + ended.system - started.user - started.system
    return Cost(spent, memory("VmHWM") - before), result


def memory(name: str) -> int:
    status = Path("/proc/self/status").read_text()
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def show(table: Table, name: str, *costs: tuple[Cost, int | None]) -> None:
    (ours, tokens), (stock, others) = costs
    ratio = stock.cpu_s / ours.cpu_s
    if tokens and others:
        name = f"{name}, {tokens} and {others} tokens"
        ratio *= tokens / others
    table.add_row(
        name,
        f"{ours.cpu_s:.1f}",
        f"{stock.cpu_s:.1f}",
        f"{ratio:.1f}x",
        f"{ours.peak_bytes / 1e9:.2f}",
        f"{stock.peak_bytes / 1e9:.2f}",
    )


if __name__ == "__main__":
    main()
