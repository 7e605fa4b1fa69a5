"""Every private name of TRL that we touch, in one place (tests/test_trl_contract.py watches them).

Rollouts go through TRL's public `rollout_func`. Private is what the training pass reads and logs,
and the method that samples from vLLM (`rl/policies/trl_vllm.py`). Everything else is stock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from kernelwright.rl.train.fast_pass import Clip, backward_pass, finish_gradients, pass_metrics
from kernelwright.rl.train.lm_head import not_plain, score_learned_positions

LOG = logging.getLogger(__name__)


def why_not_fast(trainer: Any) -> str | None:
    """What `rl/train/fast_pass.py` does not do and this trainer asks for; None where it does
    all."""
    args, inner = trainer.args, trainer.accelerator.unwrap_model(trainer.model).get_base_model()
    adapters = trainer.model.peft_config.values()
    needs = {
        "it runs on a GPU": trainer.accelerator.device.type != "cpu",
        "another loss than dr_grpo": args.loss_type != "dr_grpo",
        "a KL term (beta)": args.beta != 0,
        "an entropy bonus": bool(args.entropy_coef or args.use_adaptive_entropy),
        "top_entropy_quantile": args.top_entropy_quantile < 1,
        "off_policy_mask_threshold": args.off_policy_mask_threshold is not None,
        "delta": args.delta is not None,
        "importance sampling by sequence": args.importance_sampling_level != "token",
        "dropout": any(one.lora_dropout for one in adapters),
        **not_plain(inner),
        "activation checkpointing": any(
            getattr(module, "gradient_checkpointing", False) for module in inner.modules()
        ),
    }
    return ", ".join(need for need, asked in needs.items() if asked) or None


def fast_loss(trainer: Any, inputs: Mapping[str, Any]) -> Any:
    """TRL's loss of a batch, its gradient already in the parameters; a number to log remains."""
    import torch

    mode, accelerator, args = "train", trainer.accelerator, trainer.args
    windows = trainer.current_gradient_accumulation_steps
    rows = len(inputs["advantages"])
    clip = Clip(
        low=trainer.epsilon_low,
        high=trainer.epsilon_high,
        normalizer=rows * args.max_completion_length * windows,
        temperature=trainer.temperature,
    )
    totals = backward_pass(accelerator.unwrap_model(trainer.model), inputs, clip)
    finish_gradients(trainer.model, accelerator)
    clipped = torch.zeros(rows, 2)
    for row, shares in totals.clipped.items():
        clipped[row] = torch.tensor(shares)
    lengths = inputs["completion_mask"].sum(dim=1)
    for name, value in pass_metrics(totals, clipped, lengths, accelerator).items():
        trainer._metrics[mode][name].append(value)
    return torch.tensor(totals.loss, requires_grad=True)


@lru_cache
def kernel_trainer_class() -> type[Any]:
    """`GRPOTrainer` with a training pass of our own. Imports torch, hence a function."""
    from trl import GRPOTrainer

    class KernelGRPOTrainer(GRPOTrainer):  # type: ignore[misc]
        """The training pass is `rl/train/fast_pass.py`'s on a CPU, where `fast_pass` and it can."""

        def __init__(self, *, fast_pass: bool, **options: Any) -> None:
            super().__init__(**options)
            score_learned_positions(self.model, self.temperature)
            reason = why_not_fast(self) if fast_pass else "grpo.fast_pass is false"
            self.fast = not reason
            if reason and self.accelerator.device.type == "cpu":
                LOG.warning("the training pass is TRL's own, slower on a CPU: %s", reason)

        def compute_loss(
            self, model: Any, inputs: Any, return_outputs: bool = False, **options: Any
        ) -> Any:
            if not self.fast or return_outputs or not self.model.training or "tool_mask" in inputs:
                return super().compute_loss(model, inputs, return_outputs, **options)
            return fast_loss(self, inputs)

        def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
            if not self.args.get_warmup_steps(num_training_steps):
                return super().create_scheduler(num_training_steps, optimizer)
            made = super().create_scheduler(num_training_steps + 1, optimizer)
            self.lr_scheduler = one_step_on(made)
            return self.lr_scheduler

    return KernelGRPOTrainer


def one_step_on(scheduler: Any) -> Any:
    """The same schedule without its first step: transformers' warm-ups begin at 0, where a step
    moves nothing."""
    from torch.optim.lr_scheduler import LambdaLR

    if not isinstance(scheduler, LambdaLR):
        return scheduler

    def later(rate: Callable[[int], float]) -> Callable[[int], float]:
        return lambda step: rate(step + 1)

    return LambdaLR(scheduler.optimizer, [later(rate) for rate in scheduler.lr_lambdas])
