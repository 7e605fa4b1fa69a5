"""Computes what a step of GRPO takes: the tables of docs/scale.md, larger models and smaller cards.

Measured figures stand in docs/measured; what is assumed says so.

    python -m scripts.scale
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from kernelwright.recipe.auto import BY_GPU_GB


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

PROMPT, CONTEXT = 700, 1500
"""Assumed: tokens of a prompt, and what a row of `LARGE` holds in the mean."""
STEPS = 200
"""Of recipes/grpo-7b.yaml."""
RIGHT = 0.5
"""Assumed: share of answers that are right, and so are timed."""
SERVED, TRAINED_FLOP_S = 0.5, 0.25 * 989e12
"""Assumed: a server reaches this share of the memory's speed, training a quarter of an H100's."""
MOST_JUDGING = 0.1
CARDS_GB, FILLED = (8, 12, 16, 24, 48, 80, 141), 0.92
"""Cards that there are, and how much of one may be planned."""


class Work(NamedTuple):
    """A step of a recipe: answers that are sampled, that are trained on, and that are in one
    forward pass; tokens of its longest answer; the adapter's rank."""

    sampled: int
    rows: int
    micro_rows: int
    longest: int
    rank: int


LARGE = Work(sampled=64, rows=64, micro_rows=2, longest=4096, rank=32)
"""Of recipes/grpo-7b.yaml."""
AUTO = Work(sampled=40, rows=32, micro_rows=8, longest=680, rank=16)
"""Of recipes/grpo.yaml."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model as its card has it; the adapter is on all linear layers."""

    name: str
    parameters: float
    layers: int
    width: int
    key_bytes: int
    """Of one token's keys and values, in all layers."""
    nf4_bytes: float
    adapter: float
    """Parameters of the adapter for each rank."""


QWEN_05B = Model("0.5B", 0.494e9, 24, 896, 12_288, 0.46e9, 0.55e6)
QWEN_15B = Model("1.5B", 1.54e9, 28, 1536, 28_672, 1.14e9, 1.15e6)
QWEN_7B = Model("7B", 7.6e9, 28, 3584, 57_344, 5.6e9, 2.52e6)
QWEN_32B = Model("32B", 32.8e9, 64, 5120, 262_144, 19.3e9, 8.38e6)
BY_NAME = {
    "qwen2.5-coder-0.5b": QWEN_05B,
    "Qwen/Qwen2.5-Coder-1.5B-Instruct": QWEN_15B,
    "Qwen/Qwen2.5-Coder-7B-Instruct": QWEN_7B,
}
"""What `model.name: auto` may choose."""


@dataclass(frozen=True, slots=True)
class Plan:
    """GPUs that train and judge, and those that serve vLLM; without any the trainers sample."""

    model: Model
    trainers: int
    servers: int = 0
    work: Work = LARGE

    @property
    def says(self) -> str:
        held = "bfloat16, vLLM" if self.servers else "NF4, own decoder"
        gpus = str(self.trainers) + (f" + {self.servers}" if self.servers else "")
        return f"{self.model.name} on {gpus}: {held}"

    @property
    def rows(self) -> int:
        """Of one GPU that trains."""
        return math.ceil(self.work.rows / self.trainers)

    @property
    def sampled(self) -> int:
        """By one GPU that trains, or for it."""
        return math.ceil(self.work.sampled / self.trainers)

    def generate_s(self) -> float:
        """The longest answer decides: a token of it is a step of decoding."""
        if not self.servers:
            return self.work.longest * self.model.layers * DECODE_LAYER_S
        read = 2 * self.model.parameters + self.work.sampled * CONTEXT * self.model.key_bytes
        return self.work.longest * read / (self.servers * SERVED * COPIED_BYTES_S.value)

    def train_s(self) -> float:
        """Every row is padded to the longest; forward, forward again, and back to the adapter."""
        tokens = self.rows * (PROMPT + self.work.longest)
        return tokens * 6 * self.model.parameters / TRAINED_FLOP_S

    def judge_s(self) -> float:
        return self.sampled * (60 / CHECKED_A_MINUTE.value + RIGHT * TIMED_S.value)

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
        one, tokens = self.model, PROMPT + self.work.longest
        weights = 2 * one.parameters if self.servers else one.nf4_bytes
        keys = 0 if self.servers else min(self.sampled, ROWS_AT_ONCE) * tokens * one.key_bytes
        kept = 2 * self.work.micro_rows * tokens * one.width * 2 * one.layers
        judge = JUDGE_WORKERS * (REPLAY_BYTES.value + REFERENCE_BYTES.value)
        return weights + 16 * one.adapter * self.work.rank + max(keys, kept) + judge

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


def chosen(card_gb: int) -> Plan:
    """What `auto` makes of recipes/grpo.yaml on a card of so many GB."""
    name = next(name for least, name in BY_GPU_GB if card_gb >= least)
    return Plan(BY_NAME[name], 1, work=AUTO)


def card_table() -> str:
    """The same recipe on one card of each size, as a table in Markdown."""
    head = "| card | `model.name: auto` | needs | generate | train | judge | a step |"
    rows = [head, "|" + "---|" * (head.count("|") - 1)]
    for card_gb in CARDS_GB[:-1]:
        one = chosen(card_gb)
        parts = one.generate_s(), one.train_s(), one.judge_s()
        cells = [
            f"{card_gb} GB",
            f"{one.model.name}, NF4",
            f"{one.memory_bytes() / 1e9:.1f} GB",
            *(f"{part:.0f} s" for part in parts),
            f"{one.step_s() / 60:.1f} min",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table(), card_table(), sep="\n\n")
