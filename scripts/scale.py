"""Computes what a step of GRPO takes with larger models: the table of docs/scale.md.

Measured figures stand in docs/measured; what is assumed says so.

    python -m scripts.scale
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple


class Measured(NamedTuple):
    """A figure, and the words of docs/measured/README.md that it is from."""

    value: float
    words: str


SAMPLED_A_S = Measured(497, "497 tokens a second")
"""Tokens that our decoder writes on an H200, 48 rows at once, with a model of 30 layers."""
CHECKED_A_MINUTE = Measured(129, "CUDA 129")
"""Answers in CUDA that one H200 checks."""
TIMED_S = Measured(66 / 16, "16 answers of `data/answers/wild` in 66 s")
"""Seconds of one GPU for an answer that is checked and timed."""
COPIED_BYTES_S = Measured(4.2e12, "copy 4.2 TB/s")
REPLAY_BYTES = Measured(0.527e9, "a replay 527 MB")
REFERENCE_BYTES = Measured(0.839e9, "a reference 839 MB")

ROWS_AT_ONCE, MEASURED_LAYERS, JUDGE_WORKERS = 48, 30, 4
DECODE_LAYER_S = ROWS_AT_ONCE / SAMPLED_A_S.value / MEASURED_LAYERS
"""Of one step of decoding. It was bound by launches, so it grows with layers and not with width."""

PROMPT, LONGEST, CONTEXT = 700, 4096, 1500
"""Assumed: tokens of a prompt, of a step's longest answer, and what a row holds in the mean."""
ROWS, STEPS = 64, 200
"""Of recipes/grpo-7b.yaml."""
RIGHT = 0.5
"""Assumed: share of answers that are right, and so are timed."""
SERVED, TRAINED_FLOP_S = 0.5, 0.25 * 989e12
"""Assumed: a server reaches this share of the memory's speed, training a quarter of an H100's."""
MOST_JUDGING = 0.1
MICRO_ROWS = 2
"""Rows of a forward pass."""
CARDS_GB, FILLED = (24, 48, 80, 141), 0.92
"""Cards that there are, and how much of one may be planned."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model as its card has it; the adapter is of rank 32 on all linear layers."""

    name: str
    parameters: float
    layers: int
    width: int
    key_bytes: int
    """Of one token's keys and values, in all layers."""
    nf4_bytes: float
    adapter: float
    """Parameters of the adapter."""


QWEN_7B = Model("7B", 7.6e9, 28, 3584, 57_344, 5.6e9, 81e6)
QWEN_32B = Model("32B", 32.8e9, 64, 5120, 262_144, 19.3e9, 268e6)


@dataclass(frozen=True, slots=True)
class Plan:
    """GPUs that train and judge, and those that serve vLLM; without any the trainers sample."""

    model: Model
    trainers: int
    servers: int = 0

    @property
    def says(self) -> str:
        held = "bfloat16, vLLM" if self.servers else "NF4, own decoder"
        gpus = str(self.trainers) + (f" + {self.servers}" if self.servers else "")
        return f"{self.model.name} on {gpus}: {held}"

    @property
    def rows(self) -> int:
        """Of one GPU that trains."""
        return math.ceil(ROWS / self.trainers)

    def generate_s(self) -> float:
        """The longest answer decides: a token of it is a step of decoding."""
        if not self.servers:
            return LONGEST * self.model.layers * DECODE_LAYER_S
        read = 2 * self.model.parameters + ROWS * CONTEXT * self.model.key_bytes
        return LONGEST * read / (self.servers * SERVED * COPIED_BYTES_S.value)

    def train_s(self) -> float:
        """Every row is padded to the longest; forward, forward again, and back to the adapter."""
        return self.rows * (PROMPT + LONGEST) * 6 * self.model.parameters / TRAINED_FLOP_S

    def judge_s(self) -> float:
        return self.rows * (60 / CHECKED_A_MINUTE.value + RIGHT * TIMED_S.value)

    def step_s(self) -> float:
        return self.generate_s() + self.train_s() + self.judge_s()

    def judges(self) -> int:
        """GPUs that judge a step's answers within a tenth of its time."""
        rest = (self.generate_s() + self.train_s()) * MOST_JUDGING / (1 - MOST_JUDGING)
        return math.ceil(self.judge_s() * self.trainers / rest)

    def memory_bytes(self) -> float:
        """Of a GPU that trains: weights, adapter with Adam's moments, the judge beside it, and the
        larger of the keys of sampling and what a training pass keeps (assumed: twice its
        checkpoints)."""
        one, tokens = self.model, PROMPT + LONGEST
        weights = 2 * one.parameters if self.servers else one.nf4_bytes
        keys = 0 if self.servers else min(self.rows, ROWS_AT_ONCE) * tokens * one.key_bytes
        kept = 2 * MICRO_ROWS * tokens * one.width * 2 * one.layers
        judge = JUDGE_WORKERS * (REPLAY_BYTES.value + REFERENCE_BYTES.value)
        return weights + 16 * one.adapter + max(keys, kept) + judge

    def card_gb(self) -> int:
        """The smallest card that a GPU which trains may be."""
        return next(one for one in CARDS_GB if FILLED * one * 1e9 > self.memory_bytes())

    def slowest(self) -> str:
        parts = {
            self.generate_s(): "generate",
            self.train_s(): "train",
            self.judge_s(): "judge",
        }
        return parts[max(parts)]


PLANS = (
    Plan(QWEN_7B, 1),
    Plan(QWEN_7B, 8),
    Plan(QWEN_7B, 1, 1),
    Plan(QWEN_7B, 4, 1),
    Plan(QWEN_32B, 8),
    Plan(QWEN_32B, 8, 2),
)
HEAD = (
    "| model on GPUs (+ that serve) | needs, of a card of | generate | train | judge | a step | "
    "200 steps, GPU hours | slowest | judges |"
)


def table() -> str:
    """The plans as a table in Markdown."""
    rows = [HEAD, "|" + "---|" * (HEAD.count("|") - 1)]
    for one in PLANS:
        hours = STEPS * one.step_s() / 3600
        cells = [
            one.says,
            f"{one.memory_bytes() / 1e9:.0f}, {one.card_gb()} GB",
            *(f"{part:.0f} s" for part in (one.generate_s(), one.train_s(), one.judge_s())),
            f"{one.step_s() / 60:.1f} min",
            f"{hours:.0f} h, {hours * (one.trainers + one.servers):.0f}",
            one.slowest(),
            str(one.judges()),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
