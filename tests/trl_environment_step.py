"""One step of TRL's own `GRPOTrainer`, as docs/environments.md sets it up. What the policy says is
given: of two rollouts one calls the tool with a right kernel, and one only talks."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import trl
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from kernelwright import trl_reward
from kernelwright.envs.prompt import task_prompt
from tests.documented import python_blocks
from tests.environment_answers import TRIPLE
from tests.tiny_model import tiny_model, tiny_tokenizer

CALL = json.dumps({"name": "submit", "arguments": {"source": TRIPLE.source}})
SAID = [f"<tool_call>\n{CALL}\n</tool_call>", "I would rather not."]
AFTERWARDS = "It is right."


def trainer_in(folder: Path) -> tuple[Any, Any]:
    """(what makes a trainer on a CPU, a model)"""
    tokenizer = tiny_tokenizer()
    templates = Path(trl.__file__).parent / "chat_templates"
    tokenizer.chat_template = (templates / "qwen3.jinja").read_text(encoding="utf-8")
    model = tiny_model()
    model.config.max_position_embeddings = 1 << 14
    config = GRPOConfig(
        output_dir=str(folder),
        max_steps=1,
        num_generations=2,
        per_device_train_batch_size=2,
        max_completion_length=4096,
        max_tool_calling_iterations=2,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        bf16=False,
    )
    return partial(GRPOTrainer, processing_class=tokenizer, args=config), model


def one_row(suite: str, dialect: str = "cpp") -> Any:
    """The data set of a suite, of which the trainer is to see one row."""
    asked = [{"role": "user", "content": task_prompt(TRIPLE.task)}]
    return Dataset.from_list([{"prompt": asked, "problem": TRIPLE.problem.key}])


def main(folder: str) -> None:
    made, model = trainer_in(Path(folder))
    trl_reward.kernel_dataset = one_row
    documented, _, last_line = python_blocks("environments")[0].rpartition("trainer.train()")
    assert last_line == "\n"
    names: dict[str, Any] = {"GRPOTrainer": made, "model": model}
    exec(documented, names)
    trainer = names["trainer"]
    ids = [trainer.processing_class(f"{one}<|im_end|>")["input_ids"] for one in SAID]
    last = trainer.processing_class(f"{AFTERWARDS}<|im_end|>")["input_ids"]
    turns = iter([ids, [last]])
    trainer._generate_single_turn = lambda *_, **__: (next(turns), None)
    paid: list[bool] = []
    calculate = trainer._calculate_rewards

    def seen(*words: Any, **named: Any) -> Any:
        found = calculate(*words, **named)
        paid.extend((found[:, 0] > 0).tolist())
        return found

    trainer._calculate_rewards = seen
    trainer.train()
    (logged,) = (one for one in trainer.state.log_history if "loss" in one)
    assert logged["rewards/KernelEnvironment/mean"] > 0
    assert logged["grad_norm"] > 0
    tools = [one.__name__ for one in trainer.tools]
    calls, failures = logged["tools/call_frequency"] * 2, logged["tools/failure_frequency"]
    print(f"tools {tools} calls {calls:.0f} paid {paid} failures {failures:.0f}")


if __name__ == "__main__":
    main(sys.argv[1])
