"""GRPO's training pass on a CPU: the gradient of Dr. GRPO's loss, without redundant computation.

Rows without advantage are left out. Each prompt is read once, with gradients through its keys and
values; equal answers to it are learned once, with the sum of their credit; a chunk of answers is as
wide as its own longest one, and its gradient is taken before the next chunk begins. So memory is
bounded by tokens, not by rows. The gradient is that of TRL's own pass up to rounding. Each token
is weighted by how much likelier training finds it than sampling did (truncated importance
sampling), as TRL weighs what vLLM sampled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kernelwright.rl.policies.attention import attending
from kernelwright.rl.train.lm_head import head_scores

if TYPE_CHECKING:
    import torch

CHUNK_TOKENS = 768
"""Most positions in a chunk of answers, padding included."""
MOST_IMPORTANCE = 2.0
"""Largest importance weight of a token that training finds likelier than sampling did."""
MISMATCH, MISMATCH_KL = "sampling/mismatch", "sampling/mismatch_kl"
DROPPED = "sampling/dropped"
LEAST_RATIO = 1e-4
"""A token that training finds so much less likely than sampling did has its answer dropped, where
answers are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """Dr. GRPO's loss: the sum over tokens of -min(r·A, clip(r)·A), divided by `normalizer`; of
    answers that `is_far` finds no further from their sampling than `most_far`, if that is set."""

    low: float
    high: float
    normalizer: float
    temperature: float
    most_far: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One row's credit for an answer. `old`: log-probs before this batch's first update."""

    row: int
    advantage_T: torch.Tensor
    old_T: torch.Tensor | None
    sampling_T: torch.Tensor | None
    importance_T: torch.Tensor | None


@dataclass(slots=True)
class Answer:
    """A completion that some rows share."""

    token_ids: tuple[int, ...]
    copies: list[Copy] = field(default_factory=list)


@dataclass(slots=True)
class Totals:
    """Sums over the tokens of the rows that were learned."""

    loss: float = 0.0
    tokens: int = 0
    entropy: float = 0.0
    mismatch: float = 0.0
    mismatch_kl: float = 0.0
    mismatch_tokens: int = 0
    rows: int = 0
    dropped: int = 0
    clipped: dict[int, tuple[float, float]] = field(default_factory=dict)
    logprobs: dict[int, torch.Tensor] = field(default_factory=dict)
    """Row → log-probs of its tokens, as of this pass."""


def credited_answers(inputs: Mapping[str, Any]) -> dict[tuple[int, ...], list[Answer]]:
    """The answers to each prompt that have credit, longest first, equal ones together."""
    found: dict[tuple[int, ...], dict[tuple[int, ...], Answer]] = {}
    prompt_mask, mask = inputs["prompt_mask"].bool(), inputs["completion_mask"].bool()

    def of_tokens(key: str, row: int) -> torch.Tensor:
        found: torch.Tensor = inputs[key][row].expand(mask.shape[1])[mask[row]]
        return found

    for row in range(len(mask)):
        advantage_T = of_tokens("advantages", row)
        if not advantage_T.any():
            continue
        known = {
            name: None if inputs.get(key) is None else of_tokens(key, row)
            for name, key in (
                ("old_T", "old_per_token_logps"),
                ("sampling_T", "sampling_per_token_logps"),
                ("importance_T", "importance_sampling_ratio"),
            )
        }
        token_ids = tuple(inputs["completion_ids"][row][mask[row]].tolist())
        prompt = tuple(inputs["prompt_ids"][row][prompt_mask[row]].tolist())
        answer = found.setdefault(prompt, {}).setdefault(token_ids, Answer(token_ids))
        answer.copies.append(Copy(row=row, advantage_T=advantage_T, **known))
    return {
        prompt: sorted(answers.values(), key=lambda one: -len(one.token_ids))
        for prompt, answers in found.items()
    }


def backward_pass(model: Any, inputs: Mapping[str, Any], clip: Clip) -> Totals:
    """Adds the loss's gradient to the trained parameters' `.grad`; no tensor of it stays alive."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    totals = Totals()
    with _attending_behind_a_prefix(inner):
        for prompt, answers in credited_answers(inputs).items():
            _learn_group(inner, prompt, answers, clip, totals)
    return totals


def _learn_group(
    inner: Any, prompt: tuple[int, ...], answers: list[Answer], clip: Clip, totals: Totals
) -> None:
    import torch

    read = _read_prefix(inner, prompt[:-1]) if len(prompt) > 1 else []
    prefix = [
        (key.detach().requires_grad_(), value.detach().requires_grad_()) for key, value in read
    ]
    for chunk in chunks(answers):
        hidden_NH, target_N = _hidden(inner, prefix, prompt, chunk)
        scores = head_scores(inner.get_output_embeddings(), hidden_NH, target_N, clip.temperature)
        lengths = [len(one.token_ids) for one in chunk]
        logprobs = torch.split(scores.logprob_N.detach(), lengths)
        entropies = torch.split(scores.entropy_N, lengths)
        slopes = [
            _slope(answer, logprob_T, entropy_T, clip, totals)
            for answer, logprob_T, entropy_T in zip(chunk, logprobs, entropies, strict=True)
        ]
        torch.autograd.backward(scores.logprob_N, torch.cat(slopes))
    pairs = [
        (one, leaf.grad)
        for both, leaves in zip(read, prefix, strict=True)
        for one, leaf in zip(both, leaves, strict=True)
        if leaf.grad is not None and one.requires_grad
    ]
    if pairs:
        torch.autograd.backward([one for one, _ in pairs], [grad for _, grad in pairs])


def chunks(answers: Sequence[Answer]) -> Iterator[list[Answer]]:
    """Answers, longest first, in lists of at most `CHUNK_TOKENS` positions or of one answer."""
    start = 0
    while start < len(answers):
        count = max(1, CHUNK_TOKENS // len(answers[start].token_ids))
        yield list(answers[start : start + count])
        start += count


def _slope(
    answer: Answer, logprob_T: torch.Tensor, entropy_T: torch.Tensor, clip: Clip, totals: Totals
) -> torch.Tensor:
    """The loss's derivative by each token's log-probability; the loss goes into the totals."""
    import torch

    slope_T = torch.zeros_like(logprob_T)
    for copy in answer.copies:
        old_T = logprob_T
        if copy.old_T is not None:  # NaN: sampling did not tell
            old_T = logprob_T.where(copy.old_T.isnan(), copy.old_T)
        ratio_T = (logprob_T - old_T).exp()
        low_T = (ratio_T < 1 - clip.low) & (copy.advantage_T < 0)
        high_T = (ratio_T > 1 + clip.high) & (copy.advantage_T > 0)
        bounded_T = ratio_T.clamp(1 - clip.low, 1 + clip.high)
        importance_T = _importance(copy, old_T, clip, totals)
        weight_T = importance_T * (-copy.advantage_T / clip.normalizer)
        slope_T += torch.where(low_T | high_T, 0.0, ratio_T) * weight_T
        totals.loss += float((torch.where(low_T | high_T, bounded_T, ratio_T) * weight_T).sum())
        totals.clipped[copy.row] = (float(low_T.float().mean()), float(high_T.float().mean()))
        totals.logprobs[copy.row] = logprob_T
        totals.tokens += len(logprob_T)
        totals.entropy += float(entropy_T.sum())
    return slope_T


def _importance(copy: Copy, old_T: torch.Tensor, clip: Clip, totals: Totals) -> torch.Tensor:
    """How much likelier training finds each sampled token than sampling did, truncated; 0 of an
    answer that is dropped."""
    import torch

    totals.rows += 1
    if copy.importance_T is not None:
        return copy.importance_T
    if copy.sampling_T is None:
        return torch.ones_like(old_T)
    difference_T = (old_T - copy.sampling_T).nan_to_num(nan=0.0)
    totals.mismatch += float(difference_T.abs().sum())
    totals.mismatch_kl += float((difference_T.expm1() - difference_T).sum())
    totals.mismatch_tokens += len(difference_T)
    if is_far(difference_T, clip.most_far):
        totals.dropped += 1
        return torch.zeros_like(old_T)
    return difference_T.exp().clamp(max=MOST_IMPORTANCE)


def is_far(difference_T: torch.Tensor, most: float | None) -> bool:
    """Whether an answer is too far from its sampling: the geometric mean of its tokens' ratios is
    outside of exp(±most), or one is below `LEAST_RATIO`. Nothing is where `most` is None.

    Dr. Kernel (arXiv 2602.05885), mismatch rejection sampling.
    """
    if most is None or not len(difference_T):
        return False
    mean, least = float(difference_T.mean()), float(difference_T.min())
    return abs(mean) > most or least < math.log(LEAST_RATIO)


# Across processes


def finish_gradients(model: Any, accelerator: Any) -> None:
    """Makes every trained parameter's gradient the mean over processes, in one message.

    A parameter that no credited row has reached gets zero, as from TRL's own pass.
    """
    import torch

    trained = [one for one in model.parameters() if one.requires_grad]
    for one in trained:
        if one.grad is None:
            one.grad = torch.zeros_like(one)
    if accelerator.num_processes > 1 and accelerator.sync_gradients:
        flat = torch.cat([one.grad.flatten() for one in trained if one.grad is not None])
        mean = accelerator.reduce(flat, reduction="mean")
        for one, part in zip(trained, mean.split([one.numel() for one in trained]), strict=True):
            one.grad = part.view_as(one).to(one.dtype)


def pass_metrics(
    totals: Totals, clipped_R2: torch.Tensor, length_R: torch.Tensor, accelerator: Any
) -> dict[str, float]:
    """What TRL logs of a training pass, over all processes; entropy is of credited rows alone.

    And how far the log-probs of sampling are from those of training, where they are known.
    """
    import torch

    tokens_R2 = clipped_R2 * length_R[:, None].cpu()
    sums = torch.tensor(
        [
            *tokens_R2.sum(dim=0).tolist(),
            float(length_R.sum()),
            totals.entropy,
            totals.tokens,
            totals.mismatch,
            totals.mismatch_kl,
            totals.mismatch_tokens,
            totals.rows,
            totals.dropped,
        ],
        dtype=torch.float32,
        device=accelerator.device,
    )
    found_all = accelerator.reduce(sums, "sum").tolist()
    low, high, length, entropy, tokens, far, kl, known, rows, dropped = found_all
    rows_R2 = accelerator.gather(clipped_R2.to(accelerator.device))
    found = {
        "entropy": entropy / max(tokens, 1),
        "clip_ratio/low_mean": low / max(length, 1),
        "clip_ratio/high_mean": high / max(length, 1),
        "clip_ratio/region_mean": (low + high) / max(length, 1),
        "clip_ratio/low_min": float(rows_R2[:, 0].min()),
        "clip_ratio/high_max": float(rows_R2[:, 1].max()),
    }
    if known:
        found[MISMATCH] = far / known
        found[MISMATCH_KL] = kl / known
        found[DROPPED] = dropped / rows
    return found


# The model behind a prefix


def _read_prefix(inner: Any, prefix: tuple[int, ...]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Each layer's keys and values of the prompt, differentiable."""
    import torch

    cache = _prefix_cache_class()([])
    ids = torch.tensor([prefix], device=inner.device)
    inner.base_model(
        input_ids=ids,
        attention_mask=_causal(0, len(prefix), inner),
        position_ids=torch.arange(len(prefix), device=inner.device)[None],
        past_key_values=cache,
    )
    found: list[tuple[torch.Tensor, torch.Tensor]] = cache.read
    return found


def _hidden(
    inner: Any,
    prefix: list[tuple[torch.Tensor, torch.Tensor]],
    prompt: tuple[int, ...],
    chunk: list[Answer],
) -> tuple[torch.Tensor, torch.Tensor]:
    """The hidden states that predict the chunk's tokens, row after row, and those tokens.

    Rows are padded on the right, where no token that counts looks.
    """
    import torch

    width = max(len(one.token_ids) for one in chunk)
    ids = torch.zeros(len(chunk), width, dtype=torch.long)
    mask = torch.zeros(len(chunk), width, dtype=torch.bool)
    for row, answer in enumerate(chunk):
        known = (prompt[-1], *answer.token_ids[:-1])
        ids[row, : len(known)] = torch.tensor(known)
        mask[row, : len(known)] = True
    start = len(prompt) - 1
    hidden = inner.base_model(
        input_ids=ids.to(inner.device),
        attention_mask=_causal(start, width, inner),
        position_ids=torch.arange(start, start + width, device=inner.device)[None],
        past_key_values=_prefix_cache_class()(prefix),
    ).last_hidden_state
    targets = [token for answer in chunk for token in answer.token_ids]
    return hidden[mask.to(inner.device)], torch.tensor(targets, device=inner.device)


def _causal(start: int, width: int, inner: Any) -> torch.Tensor:
    """The additive mask (1, 1, width, start + width) of tokens from position `start` on."""
    import torch

    mask = torch.full((width, start + width), -torch.inf, dtype=inner.dtype, device=inner.device)
    return mask.triu_(start + 1)[None, None]


@lru_cache
def _prefix_cache_class() -> type[Any]:
    import torch
    from transformers import Cache

    class PrefixCache(Cache):  # type: ignore[misc]
        """Every row's keys and values follow the prefix's; what is read is kept in `read`."""

        def __init__(self, prefix: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
            super().__init__(layers=[])
            self.prefix = prefix
            self.read: list[tuple[torch.Tensor, torch.Tensor]] = []

        def update(self, keys: Any, values: Any, layer_idx: int, *_: Any, **__: Any) -> Any:
            if not self.prefix:
                self.read.append((keys, values))
                return keys, values
            before = (one.expand(len(keys), -1, -1, -1) for one in self.prefix[layer_idx])
            return tuple(
                torch.cat([known, new], dim=2)
                for known, new in zip(before, (keys, values), strict=True)
            )

        def get_seq_length(self, layer_idx: int = 0) -> int:
            return self.prefix[0][0].shape[2] if self.prefix else 0

    return PrefixCache


def _attending_behind_a_prefix(inner: Any) -> AbstractContextManager[None]:
    from transformers.masking_utils import eager_mask

    return attending(inner, "kernelwright_rows", attend, eager_mask)


def attend(
    module: Any,
    query_BHQD: torch.Tensor,
    key_BKTD: torch.Tensor,
    value_BKTD: torch.Tensor,
    attention_mask: torch.Tensor,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """torch's attention, with the H/K query heads of a key head one after the other in one head:
    keys and values are not repeated, neither here nor in what is kept for the backward pass."""
    from torch.nn.functional import scaled_dot_product_attention

    B, H, Q, D = query_BHQD.shape
    K = key_BKTD.shape[1]
    found = scaled_dot_product_attention(
        query_BHQD.reshape(B, K, H // K * Q, D),
        key_BKTD,
        value_BKTD,
        attn_mask=attention_mask.repeat(1, 1, H // K, 1),
        scale=options.get("scaling"),
    )
    return found.view(B, H, Q, D).transpose(1, 2), None
