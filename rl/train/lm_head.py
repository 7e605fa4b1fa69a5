"""Applies the LM head to learned positions only, in chunks, without a tensor of all logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import MethodType
from typing import TYPE_CHECKING, Any

from kernelwright.rl.policies.attention import window_of

if TYPE_CHECKING:
    import torch

POSITIONS = 256
"""Positions whose logits exist at a time: 50 MB for 49,152 words."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Of each position: its target's log-probability (with a gradient), entropy, and whether the
    target is the likeliest token."""

    logprob_N: torch.Tensor
    entropy_N: torch.Tensor
    is_top1_N: torch.Tensor


def head_scores(
    head: Any, hidden_NH: torch.Tensor, target_N: torch.Tensor, temperature: float
) -> Scores:
    """Scores of targets under softmax(head(hidden) / temperature), computed in float32.

    The derivative of a log-probability by its hidden state, (1[target] - softmax)·W, is made in the
    forward pass: two products with the head in place of three. The head itself learns nothing.
    """
    return Scores(*_function().apply(hidden_NH, head.weight, head.bias, target_N, temperature))


@lru_cache
def _function() -> type[Any]:
    import torch

    class HeadScores(torch.autograd.Function):
        @staticmethod
        def forward(
            ctx: Any, hidden: Any, weight: Any, bias: Any, target: Any, temperature: float
        ) -> Any:
            ctx.set_materialize_grads(False)
            stored, weight = weight, weight.float()
            wanted = ctx.needs_input_grad[0]
            count = len(hidden)
            logprob, entropy = hidden.new_empty(2, count, dtype=torch.float32)
            is_top1 = torch.empty(count, dtype=torch.bool, device=hidden.device)
            slope = hidden.new_empty(hidden.shape if wanted else 0, dtype=torch.float32)
            for start in range(0, count, POSITIONS):
                piece = slice(start, start + POSITIONS)
                logits = hidden[piece].float() @ weight.t()
                if bias is not None:
                    logits += bias.float()
                logits /= temperature
                aim = target[piece, None]
                top, place = logits.max(dim=1)
                is_top1[piece] = place == aim[:, 0]
                chosen = logits.gather(1, aim)[:, 0]
                logits -= top[:, None]
                shares = logits.exp()
                total = shares.sum(dim=1)
                logprob[piece] = chosen - top - total.log()
                entropy[piece] = total.log() - torch.linalg.vecdot(shares, logits) / total
                if wanted:
                    # In the head's own type, so the target's 1 is taken off before that rounds it.
                    shares.scatter_add_(1, aim, -total[:, None])
                    slope[piece] = torch.mm(shares.to(stored.dtype), stored)
                    slope[piece] /= -total[:, None] * temperature
            ctx.save_for_backward(slope)
            ctx.dtype = hidden.dtype
            ctx.mark_non_differentiable(entropy, is_top1)
            return logprob, entropy, is_top1

        @staticmethod
        def backward(ctx: Any, grad_logprob: Any, *_: Any) -> Any:
            (slope,) = ctx.saved_tensors
            return (slope * grad_logprob[:, None]).to(ctx.dtype), None, None, None, None

    return HeadScores


@dataclass(frozen=True, slots=True)
class LearnedScores:
    """The output of a forward pass with `fused_lm_head=True`, as TRL's trainers read it."""

    log_probs: torch.Tensor
    entropy: torch.Tensor
    is_top1: torch.Tensor
    label_mask: torch.Tensor
    aux_loss: None = None


def score_learned_positions(model: Any, temperature: float = 1.0) -> bool:
    """Makes a trainer's forward passes score the labelled positions only; False where it cannot.

    TRL's own head does so on a GPU; on a CPU it scores prompts and padding too, and its backward
    pass makes every logit anew. Call it once, when a trainer has been made with `model`.
    """
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    if inner.device.type != "cpu" or not has_plain_head(inner):
        return False
    inner.forward = MethodType(_forward_with(inner.forward, temperature), inner)
    return True


def is_plain(model: Any) -> bool:
    """Whether `rl/train/fast_pass.py` can compute all that this model does."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return not any(not_plain(inner).values())


def not_plain(inner: Any) -> dict[str, bool]:
    """What `rl/train/fast_pass.py` cannot compute → whether this model does it."""
    kinds = set(getattr(inner.config, "layer_types", None) or ())
    partly = bool(kinds - {"full_attention"}) or window_of(inner) is not None
    return {
        "experts, or logits that are more than a product": not has_plain_head(inner),
        "attention that is not causal throughout": partly,
    }


def has_plain_head(inner: Any) -> bool:
    """Whether logits are the frozen output layer's product with the hidden state, no more."""
    head, config = inner.get_output_embeddings(), inner.config.get_text_config()
    changes = ("final_logit_softcapping", "logit_scale", "output_multiplier", "lm_head_multiplier")
    changed = any(getattr(config, name, None) is not None for name in (*changes, "logits_scaling"))
    plain = type(head).__name__ == "Linear" and not head.weight.requires_grad
    experts = getattr(config, "num_experts", None) or getattr(config, "num_local_experts", None)
    return plain and not changed and not experts


def _forward_with(stock: Callable[..., Any], temperature: float) -> Callable[..., Any]:
    def forward(
        self: Any, *arguments: Any, fused_lm_head: bool = False, labels: Any = None, **options: Any
    ) -> Any:
        if not fused_lm_head:
            return stock(*arguments, labels=labels, **options)
        options["use_cache"] = False
        hidden = self.base_model(*arguments, **options).last_hidden_state[:, :-1]
        labels = labels[:, 1:]
        mask = labels != -100
        found = head_scores(self.get_output_embeddings(), hidden[mask], labels[mask], temperature)
        logprob, entropy, is_top1 = (
            one.new_zeros(mask.shape).masked_scatter(mask, one)
            for one in (found.logprob_N, found.entropy_N, found.is_top1_N)
        )
        return LearnedScores(logprob, entropy, is_top1, mask)

    return forward
