"""Every private name of TRL that we touch, in one place (tests/test_trl_contract.py watches them).

Rollouts go through TRL's public `rollout_func`. Private is where advantages are made, what the
training pass reads and logs, and what makes TRL's own pass weigh tokens as it does those of its
vLLM. Everything else is stock.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from kernelwright.rl.methods.base import Advantage
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.train.fast_pass import (
    DROPPED,
    MISMATCH,
    MISMATCH_KL,
    MOST_IMPORTANCE,
    Clip,
    backward_pass,
    finish_gradients,
    is_far,
    pass_metrics,
)
from kernelwright.rl.train.lm_head import not_plain, score_learned_positions
from kernelwright.rl.train.trimmed import trimmed

if TYPE_CHECKING:
    import torch

LOG = logging.getLogger(__name__)
MISMATCHED = (
    "what samples and what trains differ by {:.3g} nats a token, more than grpo.most_mismatch "
    "({:.3g}) allows: do both have the same base, quantization, dtype and temperature?"
)


def why_not_fast(trainer: Any, *, asked: bool = True) -> str | None:
    """What `rl/train/fast_pass.py` does not do and this trainer asks for; None where it does
    all."""
    args, inner = trainer.args, trainer.accelerator.unwrap_model(trainer.model).get_base_model()
    adapters = trainer.model.peft_config.values()
    needs = {
        "grpo.fast_pass is false": not asked,
        "it runs on a GPU": trainer.accelerator.device.type != "cpu",
        "another loss than dr_grpo": args.loss_type != "dr_grpo",
        "a KL term (beta)": args.beta != 0,
        "an entropy bonus": bool(args.entropy_coef or args.use_adaptive_entropy),
        "top_entropy_quantile": args.top_entropy_quantile < 1,
        "off_policy_mask_threshold": args.off_policy_mask_threshold is not None,
        "delta": args.delta is not None,
        "importance sampling by sequence": args.importance_sampling_level != "token",
        "vllm_importance_sampling options": corrects_otherwise(args),
        "dropout": not args.disable_dropout and any(one.lora_dropout for one in adapters),
        **not_plain(inner),
        "activation checkpointing": any(
            getattr(module, "gradient_checkpointing", False) for module in inner.modules()
        ),
    }
    return ", ".join(need for need, is_so in needs.items() if is_so) or None


def corrects_otherwise(args: Any) -> bool:
    """Whether TRL is to correct for the mismatch of sampling in another way than the fast pass."""
    ours = (True, "token_truncate", MOST_IMPORTANCE, None)
    names = ("correction", "mode", "clip_max", "clip_min")
    return ours != tuple(getattr(args, f"vllm_importance_sampling_{one}") for one in names)


def fast_loss(trainer: Any, inputs: dict[str, Any]) -> Any:
    """TRL's loss of a batch, its gradient already in the parameters; a number to log remains.

    Of several passes over a batch the first one leaves its log-probs there, those that the others
    compare with. Before the first update they are what `old_logprobs` says.
    """
    import torch

    mode, accelerator, args = "train", trainer.accelerator, trainer.args
    windows = trainer.current_gradient_accumulation_steps
    rows = len(inputs["advantages"])
    clip = Clip(
        low=trainer.epsilon_low,
        high=trainer.epsilon_high,
        normalizer=rows * args.max_completion_length * windows,
        temperature=trainer.temperature,
        most_far=trainer.drop_mismatched,
    )
    old = old_logprobs(trainer, inputs)
    totals = backward_pass(accelerator.unwrap_model(trainer.model), {**inputs, **old}, clip)
    if trainer.num_iterations > 1 and not old and inputs.get("old_per_token_logps") is None:
        inputs["old_per_token_logps"] = by_column(totals.logprobs, inputs["completion_mask"])
    finish_gradients(trainer.model, accelerator)
    clipped = torch.zeros(rows, 2)
    for row, shares in totals.clipped.items():
        clipped[row] = torch.tensor(shares)
    lengths = inputs["completion_mask"].sum(dim=1)
    for name, value in pass_metrics(totals, clipped, lengths, accelerator).items():
        trainer._metrics[mode][name].append(value)
        if name == MISMATCH:
            refuse_mismatch(value, trainer.most_mismatch)
    return torch.tensor(totals.loss, requires_grad=True)


def old_logprobs(trainer: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What a step compares with where others have changed the weights since its answers were
    sampled: the log-probs of sampling, which no pass of training has measured. Else nothing.
    """
    args, sampled = trainer.args, inputs.get("sampling_per_token_logps")
    each = trainer.num_iterations * args.steps_per_generation // args.gradient_accumulation_steps
    first = trainer.state.global_step % each == 0
    if first or sampled is None or inputs.get("old_per_token_logps") is not None:
        return {}
    return {"old_per_token_logps": sampled, "sampling_per_token_logps": None}


def by_column(logprobs: Mapping[int, torch.Tensor], mask_RT: torch.Tensor) -> torch.Tensor:
    """Each row's numbers at its tokens' places, (rows, width) as the mask; 0 elsewhere."""
    import torch

    found_RT = torch.zeros(mask_RT.shape, dtype=torch.float32, device=mask_RT.device)
    for row, logprob_T in logprobs.items():
        found_RT[row, mask_RT[row].bool()] = logprob_T
    return found_RT


def refuse_mismatch(found: float, most: float) -> None:
    """Raises ModelError where sampling is too far from training for weights to mend it."""
    if found > most:
        raise ModelError(MISMATCHED.format(found, most))


def stock_mismatch(trainer: Any, inputs: Mapping[str, Any]) -> tuple[float, float] | None:
    """(mean distance of a token's log-probs, its KL) of answers that TRL's own pass trains on, over
    all processes; None where it is not known."""
    old, sampled = (inputs.get(key) for key in ("old_per_token_logps", "sampling_per_token_logps"))
    if old is None or sampled is None:
        return None
    difference = (old - sampled).nan_to_num(nan=0.0)[inputs["completion_mask"].bool()]
    each = (
        difference.abs(),
        difference.expm1() - difference,
        difference.new_ones(difference.shape),
    )
    sums = difference.new_tensor([float(one.sum()) for one in each])
    far, kl, tokens = trainer.accelerator.reduce(sums, "sum").tolist()
    return far / max(tokens, 1), kl / max(tokens, 1)


def drop_far(trainer: Any, scored: dict[str, Any]) -> None:
    """Takes the credit from answers that are too far from their sampling, where TRL's own pass
    trains and knows both."""
    old, sampled = (scored.get(key) for key in ("old_per_token_logps", "sampling_per_token_logps"))
    if trainer.fast or trainer.drop_mismatched is None or old is None or sampled is None:
        return
    difference = (old - sampled).nan_to_num(nan=0.0)
    masks, advantages = scored["completion_mask"].bool(), scored["advantages"]
    credited = [row for row in range(len(masks)) if bool(advantages[row].any())]
    far = [row for row in credited if is_far(difference[row][masks[row]], trainer.drop_mismatched)]
    advantages[far] = 0.0
    share = difference.new_tensor([float(len(far)), float(len(credited))])
    dropped, rows = trainer.accelerator.reduce(share, "sum").tolist()
    trainer._metrics["train"][DROPPED].append(dropped / max(rows, 1))


def narrowed(trainer: Any, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """A batch for TRL's own pass without common padding, unless a multiple is asked for."""
    if trainer.args.pad_to_multiple_of is not None:
        return inputs
    return trimmed(inputs, prompts=is_rotary(trainer.model.config))


def is_rotary(config: Any) -> bool:
    """Whether a model of transformers sees differences of positions, however far they are."""
    rope = getattr(config.get_text_config(), "rope_parameters", None) or {}
    return bool(rope.get("rope_type") == "default")


def final_advantages(
    trls_R: torch.Tensor, own: Sequence[Advantage | None], width: int
) -> torch.Tensor:
    """TRL's advantages with the method's own in the place of those that it gave: a number a row,
    or, where one of them has a number a token, (rows, width)."""
    numbers = {row: one for row, one in enumerate(own) if isinstance(one, float)}
    tokens = {row: one for row, one in enumerate(own) if isinstance(one, tuple)}
    found_R = trls_R.clone()
    for row, number in numbers.items():
        found_R[row] = number
    if not tokens:
        return found_R
    found_RT = found_R[:, None].repeat(1, width)
    for row, each in tokens.items():
        found_RT[row] = 0.0
        found_RT[row, : len(each)] = found_RT.new_tensor(each)
    return found_RT


def weigh_as_vllms(trainer: Any) -> None:
    """Has TRL's own pass correct for the mismatch, as for its vLLM's answers: whatever samples, its
    log-probabilities differ by rounding. What it asks of that before a rollout, current weights, is
    done in the rollout."""
    trainer.use_vllm, trainer._last_loaded_step = True, -1
    trainer.vllm_generation = SimpleNamespace(sync_weights=lambda: None)


@contextmanager
def no_old_logprobs(trainer: Any) -> Iterator[None]:
    """Within it TRL computes no log-probs for later steps on a batch to compare with, where the
    fast pass trains: `fast_loss` has them. It does where answers far from their sampling are
    dropped: of what is trained on after the first step nothing else tells. Then by micro batches,
    for the fast pass takes a whole step at once."""
    args, iterations = trainer.args, trainer.num_iterations
    shared, passes = args.steps_per_generation, args.gradient_accumulation_steps
    rows = args.per_device_train_batch_size
    if trainer.fast:
        args.per_device_train_batch_size = min(rows, trainer.micro_batch_size)
        if shared == passes or trainer.drop_mismatched is None:
            trainer.num_iterations, args.steps_per_generation = 1, passes
    try:
        yield
    finally:
        trainer.num_iterations, args.steps_per_generation = iterations, shared
        args.per_device_train_batch_size = rows


def part_of_generation(trainer: Any, batch: Any) -> Any:
    """What a pass trains on: TRL's part of what was sampled at once, but for its shuffle. So groups
    stay whole in steps that share a generation: what the answers of a group have in common is
    neither right nor wrong, and a part of them would teach it as if it were."""
    from trl.trainer.utils import split_tensor_dict

    shared = trainer.args.steps_per_generation
    if trainer._step % (shared * trainer.num_iterations) == 0 or trainer._buffered_inputs is None:
        scored = trainer._generate_and_score_completions(batch)
        trainer._buffered_inputs = split_tensor_dict(scored, shared)
    return trainer._buffered_inputs[trainer._step % shared]


def note_stock_mismatch(trainer: Any, inputs: Any) -> None:
    """Logs how far sampling is from TRL's own pass, over all that was sampled at once, and refuses
    what is too far before anything is learned of it. The fast pass measures its own."""
    found = None if trainer.fast else stock_mismatch(trainer, inputs)
    if found is not None:
        for name, value in zip((MISMATCH, MISMATCH_KL), found, strict=True):
            trainer._metrics["train"][name].append(value)
        refuse_mismatch(found[0], trainer.most_mismatch)


@lru_cache
def kernel_trainer_class() -> type[Any]:
    """`GRPOTrainer` with a training pass of our own. Imports torch, hence a function."""
    from trl import GRPOTrainer

    class KernelGRPOTrainer(GRPOTrainer):  # type: ignore[misc]
        """The pass is `rl/train/fast_pass.py`'s where `fast_pass` asks for it, and a CPU trains."""

        def __init__(
            self,
            *,
            fast_pass: bool,
            most_mismatch: float = math.inf,
            drop_mismatched: float | None = None,
            micro_batch_size: int | None = None,
            **options: Any,
        ) -> None:
            super().__init__(**options)
            self.most_mismatch, self.drop_mismatched = most_mismatch, drop_mismatched
            self.micro_batch_size = micro_batch_size or self.args.per_device_train_batch_size
            score_learned_positions(self.model, self.temperature)
            reason = why_not_fast(self, asked=fast_pass)
            self.fast = not reason
            if reason:
                weigh_as_vllms(self)
                if self.accelerator.device.type == "cpu":
                    LOG.warning("the training pass is TRL's own, slower on a CPU: %s", reason)

        def _generate_and_score_completions(self, inputs: Any) -> Any:
            with no_old_logprobs(self):
                scored = super()._generate_and_score_completions(inputs)
            scored["advantages"] = final_advantages(
                scored["advantages"],
                [one.get("advantage") for one in inputs],
                scored["completion_ids"].shape[1],
            )
            note_stock_mismatch(self, scored)
            drop_far(self, scored)
            return scored

        def _prepare_inputs(self, generation_batch: Any) -> Any:
            return part_of_generation(self, generation_batch)

        def compute_loss(
            self, model: Any, inputs: Any, return_outputs: bool = False, **options: Any
        ) -> Any:
            if not self.fast or return_outputs or not self.model.training or "tool_mask" in inputs:
                inputs = narrowed(self, inputs)
                return super().compute_loss(model, inputs, return_outputs, **options)
            return fast_loss(self, inputs)

        def _get_train_sampler(self, dataset: Any = None) -> Any:
            return _sampler_class()(super()._get_train_sampler(dataset), self)

        def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
            warms_up = bool(self.args.get_warmup_steps(num_training_steps))
            made = super().create_scheduler(num_training_steps + warms_up, optimizer)
            self.lr_scheduler = one_step_on(made) if warms_up else made
            return self.lr_scheduler

    return KernelGRPOTrainer


@lru_cache
def _sampler_class() -> type[Any]:
    import torch

    class OrderOfEpochs(torch.utils.data.Sampler):  # type: ignore[type-arg]
        """TRL's sampler, in the order that each epoch has in a run that nothing ended. By itself a
        resumed run would begin with the order of the first one."""

        def __init__(self, made: Any, trainer: Any) -> None:
            self.made, self.trainer = made, trainer

        def __len__(self) -> int:
            return len(self.made)

        def __iter__(self) -> Any:
            if self.made.shuffle:
                self.made.generator.manual_seed(self.made.seed)
                for _ in range(int(self.trainer.state.epoch or 0)):
                    torch.randperm(self.made.num_samples, generator=self.made.generator)
            return iter(self.made)

    return OrderOfEpochs


def one_step_on(scheduler: Any) -> Any:
    """The same schedule without its first step: transformers' warm-ups begin at 0, where a step
    moves nothing."""
    from torch.optim.lr_scheduler import LambdaLR

    if not isinstance(scheduler, LambdaLR):
        return scheduler

    def later(rate: Callable[[int], float]) -> Callable[[int], float]:
        return lambda step: rate(step + 1)

    return LambdaLR(scheduler.optimizer, [later(rate) for rate in scheduler.lr_lambdas])
