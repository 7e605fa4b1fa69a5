"""Keys and values of a batch whose rows come and go, written in place."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kernelwright.rl.models.free_memory import all_bytes
from kernelwright.rl.policies.attention import attending

if TYPE_CHECKING:
    import torch

ROOM = 64
"""Room is a multiple of this number of tokens, as the longest row needs.

All of it takes part in each product, because oneDNN first copies what is not contiguous: slices of
a larger room took two thirds of an evaluation's time.
"""

ROWS = 48
"""Answers in work at once on a CPU, where more of them have no part in the time a token takes."""
MOST_ROWS, OF_MEMORY = 256, 8
"""The same on a GPU at most, and what part of all its memory their keys and logits may have. Its
size decides, not what is free: a run that is resumed rounds as it did before."""
LOGIT_COPIES = 6
"""Of the next token's logits, in float32: what drawing a token makes of them."""


def rows_at_once(model: Any, longest: int) -> int:
    """How many answers of at most `longest` tokens, prompt and all, suit the model's device."""
    if model.device.type == "cpu":
        return ROWS
    config = model.config.get_text_config()
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    numbers = 2 * config.num_hidden_layers * heads * head * longest
    row_bytes = numbers * model.dtype.itemsize + LOGIT_COPIES * 4 * config.vocab_size
    return int(min(MOST_ROWS, max(1, all_bytes(model.device) // OF_MEMORY // row_bytes)))


class Slots:
    """Row `slot` holds an answer's tokens from 0 on, at most `most`; what lies behind is masked.

    On a CPU keys are kept as (slots, heads, dimension, tokens): their product with a query is
    several times faster so in bfloat16. On a GPU room grows by doubling: a little at a time, each
    growth asked for a block larger than all that were free, until the GPU was full of them.
    """

    def __init__(self, count: int, device: torch.device, most: int) -> None:
        self.count, self.most = count, most
        self.turned = device.type == "cpu"
        self.doubles = device.type != "cpu"
        self.keys: list[torch.Tensor] = []
        self.values: list[torch.Tensor] = []
        self.room = 0
        self.rows: torch.Tensor
        self.positions: torch.Tensor

    def fill(
        self, slot: int, known: Sequence[tuple[torch.Tensor, torch.Tensor]], length: int
    ) -> None:
        """Puts the keys and values of a prompt of this length into a slot."""
        if not self.keys:
            self.room = _rounded(length)
            for keys_KTD, values_KTD in known:
                keys, values = (self._empty(one) for one in (keys_KTD, values_KTD))
                self.keys.append(keys.transpose(2, 3).contiguous() if self.turned else keys)
                self.values.append(values)
        self._grow(length)
        for layer, (keys_KTD, values_KTD) in enumerate(known):
            self._keys(layer)[slot, :, :length] = keys_KTD
            self.values[layer][slot, :, :length] = values_KTD

    def _empty(self, one_KTD: torch.Tensor) -> torch.Tensor:
        K, _, D = one_KTD.shape
        return one_KTD.new_zeros(self.count, K, self.room, D)

    def _keys(self, layer: int) -> torch.Tensor:
        """As (slots, heads, tokens, dimension), however they are kept."""
        keys = self.keys[layer]
        return keys.transpose(2, 3) if self.turned else keys

    def _grow(self, width: int) -> None:
        from torch.nn.functional import pad

        if width > self.room:
            room = _rounded(width)
            if self.doubles:
                room = max(room, min(2 * self.room, _rounded(self.most)))
            more = room - self.room
            self.room += more
            for layer in range(len(self.keys)):
                ends = (0, more) if self.turned else (0, 0, 0, more)
                self.keys[layer] = pad(self.keys[layer], ends)
                self.values[layer] = pad(self.values[layer], (0, 0, 0, more))

    def move(self, source: int, target: int, length: int) -> None:
        for layer in range(len(self.keys)):
            keys, values = self._keys(layer), self.values[layer]
            keys[target, :, :length] = keys[source, :, :length]
            values[target, :, :length] = values[source, :, :length]

    def begin_step(self, positions: torch.Tensor, width: int) -> torch.Tensor:
        """The mask (rows, 1, 1, room) for one new token a row at these positions below width, which
        the step will write."""
        self.aim(positions)
        return self.mask(positions, width)

    def aim(self, positions: torch.Tensor) -> None:
        """Steps write a token a row at these positions from now on."""
        import torch

        self.positions = positions
        self.rows = torch.arange(len(positions), device=positions.device)

    def mask(self, positions: torch.Tensor, width: int) -> torch.Tensor:
        """That of `begin_step`, once there is room."""
        import torch

        self._grow(width)
        late = torch.arange(self.room, device=positions.device) > positions[:, None]
        mask = torch.zeros(late.shape, device=positions.device)
        return mask.masked_fill_(late, -torch.inf)[:, None, None]

    def step(
        self, key_BK1D: torch.Tensor, value_BK1D: torch.Tensor, layer: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Writes one new token a row; everything up to it."""
        keys, values = self._keys(layer), self.values[layer]
        keys[self.rows, :, self.positions] = key_BK1D[:, :, 0]
        values[self.rows, :, self.positions] = value_BK1D[:, :, 0]
        count = len(self.rows)
        return keys[:count], values[:count]


def _rounded(length: int) -> int:
    return -(-max(length, 1) // ROOM) * ROOM


def as_cache(slots: Slots) -> Any:
    """The slots as a cache of transformers, for decoding steps."""
    return _cache_class()(slots)


@lru_cache
def _cache_class() -> type[Any]:
    from transformers import Cache

    class SlotCache(Cache):  # type: ignore[misc]
        def __init__(self, slots: Slots) -> None:
            super().__init__(layers=[])
            self.slots = slots

        def update(self, keys: Any, values: Any, layer_idx: int, *_: Any, **__: Any) -> Any:
            return self.slots.step(keys, values, layer_idx)

        def get_seq_length(self, layer_idx: int = 0) -> int:
            return self.slots.room

    return SlotCache


def attending_in_slots(model: Any) -> AbstractContextManager[None]:
    """`attend` in place of torch's attention; any other (it may do more) stays."""
    from transformers.masking_utils import sdpa_mask

    if model.config._attn_implementation != "sdpa":
        return nullcontext()
    return attending(model, "kernelwright", attend, sdpa_mask)


def attend(
    module: Any,
    query_BHQD: torch.Tensor,
    key_BKTD: torch.Tensor,
    value_BKTD: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of one new token per row, H/K query heads to each key head in one product.

    On a CPU torch's own takes three times as long for it in bfloat16; on a GPU, with a mask, it is
    given a copy of the keys for each query head. More than one new token goes there, with the mask
    that transformers makes of a layer's window; here that is ours to make.
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    B, H, Q, D = query_BHQD.shape
    K = key_BKTD.shape[1]
    if Q > 1:
        output: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query_BHQD, key_BKTD, value_BKTD, attention_mask, **options
        )
        return output
    query = query_BHQD.reshape(B, K, H // K, D) * (options.get("scaling") or D**-0.5)
    scores = query @ key_BKTD.transpose(2, 3)
    if attention_mask is not None:
        window = options.get("sliding_window")
        scores = scores + (narrowed(attention_mask, window) if window else attention_mask)
    weights = scores.float().softmax(dim=-1).to(query.dtype)
    return (weights @ value_BKTD).view(B, 1, H, D), None


def narrowed(mask_B11T: torch.Tensor, window: int) -> torch.Tensor:
    """The mask of a step that sees every token up to each row's own, of which `window` are seen."""
    import torch

    T = mask_B11T.shape[-1]
    if window >= T:
        return mask_B11T
    own_B111 = (mask_B11T == 0).sum(dim=-1, keepdim=True) - 1
    early = torch.arange(T, device=mask_B11T.device) <= own_B111 - window
    return mask_B11T.masked_fill(early, -torch.inf)
