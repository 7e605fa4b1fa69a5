"""The stages of a run: what each is called, what it trains or measures, how it is shown.

One row a stage, in the order in which they run. Which of them a recipe has is decided by
`rl/recipe/stage_names.py`; what a stage does stands in `kernelwright/run/train.py`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A row of the table."""

    name: str
    title: str = ""
    """What a report calls it; its name where there is none."""
    chosen: bool = False
    """Whether `stages` of a recipe may name it; the other stages follow from what is named."""
    trains: bool = False
    """Whether it leaves an adapter in `checkpoints/NAME-final`."""
    side: str | None = None
    """What its measurement is called in `held_out` of a summary; None where it measures nothing."""
    side_title: str = ""
    """What pages call that side."""
    measured: str | None = None
    """Of which stage's adapter it measures; None: what the run began with, or a given model."""
    greedy_of: str | None = None
    """The measurement that it repeats greedily."""
    also_shown: bool = False
    """Whether it only labels records of another stage or command, and is no stage of a run."""

    @property
    def axis(self) -> str:
        """Group of its metrics and of its time estimate: stages of one axis take about as long."""
        if self.side is None:
            return self.name
        return "eval_greedy" if self.greedy_of else "eval"


SEARCH_START, SEARCH, SEARCH_AGAIN = "search_start", "search", "search_again"
"""Kernels that a search or an evaluation was given, what a search asked for, and its fastest ones,
measured once more."""

EXAMPLES = "triples"
"""Records that the model did not write: what it is shown in SFT."""
NO_ANSWERS = (EXAMPLES, SEARCH_START, SEARCH_AGAIN)
"""Stages whose records are no answers of the model, or are of answers that are counted already."""

FORECAST, AT_MOST, BEST_BEFORE = "forecast_speedup", "forecast_at_most", "forecast_best"
LEFT_OUT = "forecast_untimed"
"""Facts of a kernel whose speed a search forecast: that speed, the upper end of it, the lower end
of the best kernel's at that time; and whether it was left untimed for that."""

_ROWS = (
    Stage(name=EXAMPLES, title="examples for SFT"),
    Stage(
        name="eval_before",
        title="held out, before training",
        side="before",
        side_title="before training",
    ),
    Stage(name="sft", chosen=True, trains=True),
    Stage(
        name="eval_sft",
        title="held out, after SFT",
        side="after_sft",
        side_title="after SFT",
        measured="sft",
    ),
    Stage(
        name="eval_greedy_sft",
        title="held out, after SFT, greedy",
        side="greedy_sft",
        side_title="after SFT, greedy",
        measured="sft",
        greedy_of="eval_sft",
    ),
    Stage(name="rft", title="rejection sampling", chosen=True, trains=True),
    Stage(name="dpo", title="preferences", chosen=True, trains=True),
    Stage(name="grpo", title="GRPO", chosen=True, trains=True),
    Stage(name="validation", title="validation, during GRPO", also_shown=True),
    Stage(name="final"),
    Stage(
        name="eval_after",
        title="held out, after training",
        side="after",
        side_title="after training",
        measured="final",
    ),
    Stage(
        name="eval_greedy",
        title="held out, after training, greedy",
        side="greedy",
        side_title="after training, greedy",
        measured="final",
        greedy_of="eval_after",
    ),
    Stage(name="baselines"),
    Stage(
        name="eval",
        title="held out",
        chosen=True,
        side="measured",
        side_title="this model",
        also_shown=True,
    ),
    Stage(name=SEARCH_START, title="given kernels, to improve on", also_shown=True),
    Stage(name=SEARCH, title="search", also_shown=True),
    Stage(name=SEARCH_AGAIN, title="the fastest of a search, timed again", also_shown=True),
)
STAGES = {row.name: row for row in _ROWS}

_SIDES_FIRST = ("before", "after_sft", "after", "greedy_sft", "greedy", "measured")
"""The order in which pages show sides: sampled ones, then greedy ones."""


def chosen() -> list[str]:
    """What `stages` of a recipe may name, in order; `eval` names every measurement."""
    return [row.name for row in STAGES.values() if row.chosen]


def training(names: tuple[str, ...] | None = None) -> list[str]:
    """The stages that train, in order; those of `names` where it is given."""
    trained = [row.name for row in STAGES.values() if row.trains]
    return [name for name in trained if names is None or name in names]


def sides() -> dict[str, str]:
    """Stage that measures → its side, in the order in which pages show them."""
    found = [(row.side, row.name) for row in STAGES.values() if row.side]
    return {name: side for side, name in sorted(found, key=lambda it: _SIDES_FIRST.index(it[0]))}


def axis(stage: str) -> str:
    """The axis of a stage; of an unknown one its own name."""
    return STAGES[stage].axis if stage in STAGES else stage
