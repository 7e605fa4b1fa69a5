"""Runs for tests of the viewer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.types import CaseCheck, Check, Evaluation, Record, Reward, Verdict
from tests.nouns import correct, record, timing

EVIL = "</script><img src=x onerror=alert(1)>\u202e\x00\ud800"
SHOWN = "</script><img src=x onerror=alert(1)>\\u202e\\u0000\\ud800"
"""How a page shows it."""
BODY = "// lines\nint x = {};\nreturn;\n"


def rollout(stage: str, step: int, row: int, **changed: Any) -> Record:
    """Even rows are correct and twice as fast, odd ones wrong; rows 0 and 1 are a group."""
    source = BODY.format(row)
    wrong = Evaluation(
        verdict=Verdict.WRONG,
        reason="mismatch",
        log="off by one",
        seconds=1.5,
        check=Check(rounds=(CaseCheck(case="odd", passed=False, error=2.0, note="3 values"),)),
    )
    fields: dict[str, Any] = {
        "problem": f"p{row // 2}",
        "problem_key": f"k{row // 2}",
        "prompt": f"do p{row // 2}",
        "completion": f"It adds.\n```cpp\n{source}```\nDone.",
        "source": source,
        "evaluation": wrong if row % 2 else correct(timing()),
        "reward": Reward(parts={"correct": float(row % 2 == 0)}),
        "credit": 0.5 - row % 2,
    }
    return record(stage, step, row, **fields | changed)


def run_of(folder: Path, steps: int = 3, text: str = "") -> Path:
    """A run of two problems, asked twice a step, with metrics and a line that is being written."""
    folder.mkdir(parents=True, exist_ok=True)
    changed = {"completion": text, "source": text, "prompt": text} if text else {}
    rows = [rollout("grpo", step, row, **changed) for step in range(steps) for row in range(4)]
    RecordStore(folder).append(rows)
    metrics = [
        {"stage": "grpo", "step": step + 1, "sampled/tokens": 10.0, "seconds/generate": 4.0}
        | {
            "groups/live": 1,
            "groups/dead": 1,
            "sampled/entropy": 0.5,
            "gpu/memory_bytes": 7,
            "new": "x",
        }
        for step in range(steps)
    ]
    lines = "".join(json.dumps(one) + "\n" for one in metrics)
    (folder / "metrics.jsonl").write_text(lines + '{"stage": "grpo", "st', encoding="utf-8")
    with (folder / "records.jsonl").open("a") as file:
        file.write('{"stage":"grpo","step":9,')
    return folder


def held(found: dict[str, Any] | None, run: int = 0) -> list[dict[str, Any]]:
    """The rows that a payload has of a run."""
    assert found is not None
    table = found["runs"][run]["rows"]
    return [dict(zip(table["names"], row, strict=True)) for row in table["rows"]]
