"""GRPO with TRL alone, its rewards from the judge: kernels that are right and fast are paid.

    python examples/trl_reward.py [MODEL] [any option of TRL's GRPOConfig]

MODEL is anything that transformers loads and that has a chat template.
"""

from __future__ import annotations

import sys

from transformers import HfArgumentParser
from trl import GRPOConfig, GRPOTrainer

from kernelwright.trl_reward import KernelReward, kernel_dataset

SUITE = "starter:train"


def main(model: str = "HuggingFaceTB/SmolLM2-135M-Instruct", *options: str) -> None:
    chosen = ["--output_dir", "runs/trl-reward", "--max_completion_length", "512", *options]
    (config,) = HfArgumentParser(GRPOConfig).parse_args_into_dataclasses(chosen)
    trainer = GRPOTrainer(
        model,
        reward_funcs=KernelReward(SUITE, records=config.output_dir),
        train_dataset=kernel_dataset(SUITE),
        args=config,
    )
    trainer.train()


if __name__ == "__main__":
    main(*sys.argv[1:])
