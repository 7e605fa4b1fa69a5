"""Many steps of GRPO, a tenth of whose answers nobody could judge: nothing grows, nothing hangs."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.runs.progress import resident_bytes
from kernelwright.data.runs.records import read_records
from kernelwright.envs.policy import Completion
from kernelwright.envs.types import Verdict
from tests.given_answers import Given
from tests.tiny_model import save_tiny
from tests.tiny_stages import recipe, train

pytestmark = pytest.mark.model

STEPS = int(os.environ.get("LONG_RUN_STEPS", "60"))
"""By hand 1,000: LONG_RUN_STEPS=1000 pytest tests/test_long_runs.py --capture no."""
SETTLED = STEPS // 3
"""Until then caches are filled."""
MOST_GROWTH_BYTES = 20_000_000


def test_steps_with_unjudged_answers_leave_no_memory_no_files_and_no_threads_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[tuple[int, int, int]] = []
    complete = Given.complete

    def counted(self: Given, prompts: Sequence[Any], *words: Any) -> list[Completion]:
        files = len(os.listdir("/proc/self/fd"))
        seen.append((resident_bytes() or 0, files, threading.active_count()))
        return complete(self, prompts, *words)

    monkeypatch.setattr(Given, "complete", counted)
    train("grpo", recipe(save_tiny(tmp_path / "model"), tmp_path / "run", steps=STEPS))
    assert len(seen) == STEPS
    (settled, *before), (last, *after) = seen[SETTLED], seen[-1]
    assert before == after
    assert last - settled < MOST_GROWTH_BYTES
    verdicts = [one.evaluation.verdict for one in read_records(tmp_path / "run")]
    assert len(verdicts) == STEPS * 8
    assert 0.05 < verdicts.count(Verdict.UNJUDGED) / len(verdicts) < 0.15
    assert "returned None" not in capsys.readouterr().err
    for step in {SETTLED, min(100, STEPS) - 1, STEPS - 1}:
        print(f"step {step + 1}: {seen[step][0] / 1e6:.1f} MB, {seen[step][1:]} files and threads")
