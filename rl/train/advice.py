"""Turns a step's metrics into warnings where training cannot work, each with a remedy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

FEW_LIVE, FEW_DISTINCT, LOW_ENTROPY, MUCH_TRUNCATED = 0.2, 0.3, 0.01, 0.5
"""Shares of a step's groups, of a group's answers, nats a token, and a share of all answers."""
STEPS = 3
"""Steps in a row that make a warning; dead groups alone make one in the first step too."""


def complaints(logged: Mapping[str, float | None]) -> dict[str, str]:
    """Kind → sentence, of everything that is wrong with this step; None is unknown."""
    metrics = {name: one for name, one in logged.items() if one is not None}
    found: dict[str, str] = {}
    live, dead = metrics.get("groups/live", 0.0), metrics.get("groups/dead", 0.0)
    sampled = live + dead
    if sampled and live < FEW_LIVE * sampled:
        none_right = metrics.get("verdict/correct", 0.0) == 0
        cure = (
            "no answer is right: more SFT (sft.epochs), easier problems (data.train_suite), or "
            "reward first_right, which also pays for a kernel that builds or runs"
            if none_right
            else "answers of a group are all alike: raise grpo.temperature, grpo.group_size or "
            "grpo.oversampled_groups, or take harder problems"
        )
        found["dead groups"] = f"{live:.0f} of {sampled:.0f} groups can teach anything; {cure}"
    if metrics.get("groups/distinct_answers", 1.0) < FEW_DISTINCT:
        share = metrics["groups/distinct_answers"]
        found["few distinct answers"] = (
            f"{share:.0%} of a group's answers differ; raise grpo.temperature, or lower sft.epochs"
        )
    if metrics.get("sampled/entropy", 1.0) < LOW_ENTROPY:
        entropy = metrics["sampled/entropy"]
        found["entropy collapse"] = (
            f"{entropy:.3f} nats a token: the policy has stopped exploring; lower "
            "grpo.learning_rate, raise grpo.temperature, or go back to an earlier checkpoint"
        )
    if metrics.get("sampled/truncated", 0.0) > MUCH_TRUNCATED:
        share = metrics["sampled/truncated"]
        found["truncation"] = (
            f"{share:.0%} of the answers reach grpo.max_completion_length and earn nothing; raise "
            "it, or train SFT for longer so that answers end"
        )
    return found


@dataclass
class Adviser:
    """Says each kind of warning once, when it has lasted; dead groups at the first step too."""

    seen: dict[str, int] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)

    def hear(self, step: int, metrics: Mapping[str, float | None]) -> list[str]:
        """The warnings that are due after this step; `step` counts from 1. A step without a rollout
        of its own, as with `iterations`, says nothing."""
        if "groups/live" not in metrics:
            return []
        found = complaints(metrics)
        self.seen = {kind: self.seen.get(kind, 0) + 1 for kind in found}
        due = [
            kind
            for kind, steps in self.seen.items()
            if kind not in self.said and (steps >= STEPS or (step == 1 and kind == "dead groups"))
        ]
        self.said.update(due)
        return [f"grpo step {step}: {kind}: {found[kind]}" for kind in due]
