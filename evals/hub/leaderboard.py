"""What the Hub's leaderboards read: `.eval_results/*.yaml` beside a model.

Format: https://huggingface.co/docs/hub/eval-results
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from kernelwright.evals.hub.upload import PublishError
from kernelwright.evals.numbers.public_name import REPOSITORY
from kernelwright.evals.numbers.summary import dialects_of

FILE = Path(".eval_results", "kernelwright.yaml")
FIGURES = ("correct_rate", "fast_1", "geomean_speedup")
"""Each is a task of the data set."""
NAME = re.compile(rf"(?P<id>{REPOSITORY})(?:@(?P<revision>[0-9a-f]{{7,40}}))?")


def entries(summary: Mapping[str, Any], data_set: str) -> list[dict[str, Any]]:
    """What was measured after training, on this data set of the Hub: `owner/name[@REVISION]`.

    Raises PublishError for another name, and where nothing was measured after training.
    """
    found = NAME.fullmatch(data_set)
    if not found:
        raise PublishError(f"{data_set!r} is no data set of the Hub: give owner/name[@REVISION]")
    side = summary["held_out"].get("after", {})
    known = {name: side[name] for name in FIGURES if side.get(name) is not None}
    if not known:
        raise PublishError("nothing was measured after training: no leaderboard would have a value")
    named = {key: value for key, value in found.groupdict().items() if value}
    dialects = " and ".join(dialects_of(summary))
    notes = f"{side['n']} answers to {summary['suite']}, {dialects}, {summary['target']}"
    return [
        {
            "dataset": {**named, "task_id": name},
            "value": value,
            "date": summary["date"],
            "notes": notes + _interval(side.get(f"{name}_ci")),
        }
        for name, value in known.items()
    ]


def _interval(found: Sequence[float] | None) -> str:
    """In words; empty where there is none."""
    return f"; 95 % interval {found[0]:.4g} to {found[1]:.4g}" if found else ""


def write_entries(tree: Path, found: Sequence[Mapping[str, Any]]) -> None:
    """Writes them into a folder that is published."""
    (tree / FILE).parent.mkdir()
    text = yaml.safe_dump(found, sort_keys=False, allow_unicode=True)
    (tree / FILE).write_text(text, encoding="utf-8")
