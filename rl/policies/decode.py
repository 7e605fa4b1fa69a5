"""Sampling from a causal language model: one decoder for training and for evaluation.

A row leaves the batch with its last token and the next waiting prompt takes its place, so that one
long answer does not keep the machine. Equal prompts are read once, and answers to one are decoded
as one row until their tokens differ. Keys and values are written in place, and attention does not
repeat keys for each query head. Adapters are folded into a copy of the weights, on a GPU where it
has room for one; there, a step is a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.policies.attention import not_decoded
from kernelwright.rl.policies.decode_step import step_of
from kernelwright.rl.policies.folded_adapters import copies_fit, folded_adapters
from kernelwright.rl.policies.kv_slots import Slots, attending_in_slots, rows_at_once

if TYPE_CHECKING:
    import numpy as np
    import torch

PREFILL_TOKENS = 4096
"""Tokens in a batch of prompts that are read at once, which bounds the memory."""
BLOCK = 256
"""Tokens in a block of the vocabulary, whose probabilities are summed before one is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """One completion. `logprobs` are those of the distribution its tokens were drawn from.

    That is the model's at the temperature; greedy tokens are given the untempered model's.
    `token_ids` has the end token last where it `ended`, else `max_new_tokens` cut it off.
    """

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    ended: bool


class BatchOptions(TypedDict, total=False):
    """`rows` are in work at once, None: as many as suit the device. `on_finished` hears of each
    row, by its place, when it ends. `numbers` are what rows draw by, in place of their places."""

    rows: int | None
    numbers: Sequence[int] | None
    on_finished: Callable[[int, Sampled], None] | None


@dataclass(slots=True)
class _Row:
    """An answer being written."""

    row: int
    uniforms: np.ndarray[Any, Any] | None
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


@dataclass(slots=True)
class _Strand:
    """Answers that are the same so far, in a slot of the batch."""

    rows: list[_Row]
    length: int
    token: int


def sample(
    model: Any,
    prompts: Sequence[Sequence[int]],
    *,
    max_new_tokens: int,
    temperature: float,
    end_token_ids: Collection[int],
    seed: int,
    **options: Unpack[BatchOptions],
) -> list[Sampled]:
    """One completion of each prompt, in order, from the model's own distribution.

    No top-k, no top-p; temperature 0 is greedy. The same arguments give the same tokens, and a
    row's depend on the seed, its number and its prompt only, up to rounding: not on which others
    share its batch. `model` is one of transformers, or PEFT's around one, not wrapped for
    distributed training. Raises ModelError for one with other layers than of attention.
    """
    on_finished = options.get("on_finished")
    if max_new_tokens < 1 or not all(map(len, prompts)):
        raise ValueError("a prompt has at least one token, and so has a completion")
    if not prompts:
        return []
    finished: dict[int, Sampled] = {}
    longest = max(map(len, prompts)) + max_new_tokens
    with _ready(model, longest) as inner:
        rows = min(options.get("rows") or rows_at_once(inner, longest), len(prompts))
        batch = _Batch(inner, prompts, rows, longest)
        batch.numbers = options.get("numbers") or batch.numbers
        while batch.active or batch.waiting:
            batch.admit(seed if temperature > 0 else None, max_new_tokens)
            tokens, logprobs = _choose(batch.logits(), batch.uniforms(), temperature)
            for one, token, logprob in zip(batch.rows(), tokens, logprobs, strict=True):
                one.token_ids.append(token)
                one.logprobs.append(logprob)
            for one in batch.finished(end_token_ids, max_new_tokens):
                finished[one.row] = _sampled(one, one.token_ids[-1] in end_token_ids)
                if on_finished:
                    on_finished(one.row, finished[one.row])
    return [finished[row] for row in range(len(prompts))]


def _sampled(row: _Row, ended: bool) -> Sampled:
    return Sampled(token_ids=tuple(row.token_ids), logprobs=tuple(row.logprobs), ended=ended)


@contextmanager
def _ready(model: Any, longest: int) -> Iterator[Any]:
    """The model of transformers inside, evaluating, without gradients; afterwards as it was."""
    import torch

    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    if why := not_decoded(inner, longest):
        raise ModelError(why)
    training = [module for module in inner.modules() if module.training]
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        if copies_fit(inner):
            stack.enter_context(folded_adapters(inner))
        stack.enter_context(attending_in_slots(inner))
        inner.eval()
        try:
            yield inner
        finally:
            for module in training:
                module.training = True


class _Batch:
    """The answers being written: `active[slot]` belongs to row `slot` of the cache. There are at
    most as many of them as slots, so that each could have one of its own."""

    def __init__(
        self, model: Any, prompts: Sequence[Sequence[int]], slots: int, longest: int
    ) -> None:
        self.model = model
        self.prompts = [tuple(prompt) for prompt in prompts]
        self.numbers: Sequence[int] = range(len(prompts))
        self.slots = slots
        self.kept = Slots(slots, model.device, longest)
        self.step = step_of(model, self.kept)
        self.active: list[_Strand] = []
        self.waiting = list(reversed(range(len(prompts))))
        self.read: dict[tuple[int, ...], list[tuple[torch.Tensor, torch.Tensor]]] = {}

    def admit(self, seed: int | None, steps: int) -> None:
        """Waiting rows into free slots; a prompt's keys are kept while a row waits for them."""
        free = min(self.slots - sum(1 for _ in self.rows()), len(self.waiting))
        new: dict[tuple[int, ...], list[_Row]] = {}
        for row in [self.waiting.pop() for _ in range(free)]:
            table = None if seed is None else _uniforms(seed, self.numbers[row], steps)
            new.setdefault(self.prompts[row], []).append(_Row(row, table))
        self._read(new)
        for prompt, rows in new.items():
            self.kept.fill(len(self.active), self.read[prompt], len(prompt) - 1)
            self.active.append(_Strand(rows, len(prompt) - 1, prompt[-1]))
        if self.read:
            wanted = {self.prompts[row] for row in self.waiting[-1:]}
            self.read = {prompt: kept for prompt, kept in self.read.items() if prompt in wanted}

    def _read(self, prompts: Iterable[tuple[int, ...]]) -> None:
        """Keys and values of all but the last token of each prompt not read yet.

        Padded on the right: what comes later in a row is not seen by what comes before.
        """
        import torch
        from transformers import DynamicCache

        unread = sorted((one for one in prompts if one not in self.read), key=len)
        while unread:
            count = max(1, min(len(unread), PREFILL_TOKENS // len(unread[-1])))
            group, unread = unread[-count:], unread[:-count]
            ids = torch.zeros(count, max(1, len(group[-1]) - 1), dtype=torch.long)
            for place, prompt in enumerate(group):
                known = prompt[:-1] or prompt
                ids[place, : len(known)] = torch.tensor(known)
            cache = DynamicCache()
            # Without the head: of one position a row it would be copied for every row.
            self.model.get_decoder()(
                input_ids=ids.to(self.model.device), past_key_values=cache, use_cache=True
            )
            for place, prompt in enumerate(group):
                known_length = len(prompt) - 1
                self.read[prompt] = [
                    (one.keys[place, :, :known_length], one.values[place, :, :known_length])
                    for one in cache.layers
                ]

    def logits(self) -> torch.Tensor:
        """Of the next token of every answer; their last tokens enter the cache."""
        import torch

        tokens = [one.token for one in self.active]
        found = self.step(tokens, [one.length for one in self.active])
        for one in self.active:
            one.length += 1
        counts = [len(one.rows) for one in self.active]
        if max(counts) == 1:
            return found
        return found.repeat_interleave(torch.tensor(counts, device=found.device), dim=0)

    def uniforms(self) -> torch.Tensor | None:
        import torch

        drawn = [
            float(one.uniforms[len(one.token_ids)])
            for one in self.rows()
            if one.uniforms is not None
        ]
        if not drawn:
            return None
        return torch.tensor(drawn, dtype=torch.float64, device=self.model.device)

    def rows(self) -> Iterator[_Row]:
        """Every answer, in the order of `logits`."""
        return (row for one in self.active for row in one.rows)

    def finished(self, end_token_ids: Collection[int], most: int) -> Iterator[_Row]:
        """Answers that their last token ends; the others go on, in slots of their own where they
        differ."""
        for slot in reversed(range(len(self.active))):
            strand = self.active[slot]
            going: dict[int, list[_Row]] = {}
            for row in strand.rows:
                token = row.token_ids[-1]
                if token in end_token_ids or len(row.token_ids) == most:
                    yield row
                else:
                    going.setdefault(token, []).append(row)
            if not going:
                self._drop(slot)
                continue
            (strand.token, strand.rows), *others = going.items()
            for token, rows in others:
                self.kept.move(slot, len(self.active), strand.length)
                self.active.append(_Strand(rows, strand.length, token))

    def _drop(self, slot: int) -> None:
        """The last strand takes the place of a finished one."""
        last = self.active.pop()
        if slot < len(self.active):
            self.kept.move(len(self.active), slot, last.length)
            self.active[slot] = last


def _uniforms(seed: int, row: int, count: int) -> np.ndarray[Any, Any]:
    """A row's own stream of random numbers in [0, 1)."""
    import numpy as np

    return np.random.Generator(np.random.Philox(key=[seed % 2**64, row])).random(count)


def _choose(
    logits_BV: torch.Tensor, uniform_B: torch.Tensor | None, temperature: float
) -> tuple[list[int], list[float]]:
    """A token of each row by inverting its distribution function, and its log-probability."""
    import torch

    if uniform_B is None:
        token_B = logits_BV.argmax(dim=1)
        chosen = logits_BV.gather(1, token_B[:, None])[:, 0]
        return token_B.tolist(), (chosen - logits_BV.logsumexp(dim=1)).tolist()
    logits_BV = logits_BV / temperature
    B, V = logits_BV.shape
    top_B1 = logits_BV.amax(dim=1, keepdim=True)
    weights = logits_BV.new_zeros(B, -(-V // BLOCK) * BLOCK)
    torch.sub(logits_BV, top_B1, out=weights[:, :V]).exp_()
    weights[:, V:] = 0
    weights_BNW = weights.view(B, -1, BLOCK)
    reached_BN = weights_BNW.sum(dim=2, dtype=torch.float64).cumsum(dim=1)
    target_B = uniform_B * reached_BN[:, -1]
    block_B = torch.searchsorted(reached_BN, target_B[:, None], right=True)[:, 0]
    before_B = torch.nn.functional.pad(reached_BN, (1, 0)).gather(1, block_B[:, None])[:, 0]
    each = torch.arange(B, device=logits_BV.device)
    inside_BW = weights_BNW[each, block_B].double().cumsum(dim=1)
    rest_B = (target_B - before_B).clamp(min=0).minimum(inside_BW[:, -1] * (1 - 1e-12))
    place_B = torch.searchsorted(inside_BW, rest_B[:, None], right=True)[:, 0]
    token_B = block_B * BLOCK + place_B
    chosen = logits_BV.gather(1, token_B[:, None])[:, 0] - top_B1[:, 0]
    return token_B.tolist(), (chosen - reached_BN[:, -1].log()).tolist()
