"""The command that searches, killed within a step: resumed, it ends as if it had not been."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.runs.records import read_records
from kernelwright.data.runs.stages import SEARCH
from kernelwright.envs.system.paths import own_environment
from tests.chat_script import chat_script
from tests.nouns import RELU_KERNEL, RELU_MODULE

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

WRONG = [RELU_KERNEL.replace("> 0", f"> {least}") for least in (1, 2)]
ANSWERS = [*WRONG, RELU_KERNEL.replace("i++", "i+++"), ""]
"""Two that are wrong, one that does not build, and none."""
RIGHT_AT = 9
"""The seed of the one right answer: the search of the first problem ends with it."""


@dataclass
class Model:
    """Answers by the seed alone. With the request of number `kills_at` it ends the process that
    asks, whose answers of that step are lost."""

    asked: int = 0
    kills_at: int = 0
    process: subprocess.Popen[str] | None = None

    def __call__(self, body: dict[str, Any]) -> str:
        self.asked += 1
        if self.asked == self.kills_at:
            assert self.process
            os.kill(self.process.pid, signal.SIGKILL)
        seed = body["seed"]
        kernel = RELU_KERNEL if seed == RIGHT_AT else ANSWERS[seed % len(ANSWERS)]
        return f"```cpp{kernel}```" if kernel else "I cannot."

    def searched(self, url: str, folder: Path, *words: str, kills_at: int = 0) -> int:
        """The exit code of a search of two modules."""
        self.asked, self.kills_at = 0, kills_at
        command = [
            sys.executable,
            "-m",
            "kernelwright",
            "search",
            f"modules:{folder.parent / 'in'}",
        ]
        command += ["--model", f"openai:scripted@{url}", "--budget", "12", "--batch", "2"]
        command += ["--target", "0", "--kinds", "bandit", "--knowledge", "k.jsonl", "--out", "out"]
        folder.mkdir(exist_ok=True)
        with (folder / "said").open("a+", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [*command, *words],
                cwd=folder,
                env=own_environment(),
                stdout=said,
                stderr=said,
                text=True,
            )
            return self.process.wait(timeout=300)


def kept(folder: Path) -> list[Any]:
    """What a search asked and heard. What the judge says of a fault names inputs that it drew."""
    return sorted(
        (one.id, one.completion, one.evaluation.verdict, one.parent, one.trajectory, one.turn)
        for one in read_records(folder / "out")
        if one.stage == SEARCH
    )


def test_a_search_killed_within_steps_ends_with_the_records_and_the_file_of_a_whole_one(
    tmp_path: Path,
) -> None:
    (tmp_path / "in").mkdir()
    for size in (4000, 5000):
        module = RELU_MODULE.replace("4000", str(size))
        (tmp_path / "in" / f"relu{size}.py").write_text(module, encoding="utf-8")
    whole, killed, model = tmp_path / "whole", tmp_path / "killed", Model()
    with chat_script(model) as (url, _):
        assert model.searched(url, whole) == 0, (whole / "said").read_text()
        assert model.searched(url, killed, kills_at=7) == -signal.SIGKILL
        first = kept(killed)
        assert model.searched(url, killed, "--resume") == 0, (killed / "said").read_text()
    assert kept(killed) == kept(whole)
    assert len(kept(whole)) == 10 + 12
    assert first
    assert model.asked == len(kept(whole)) - len(first)
    assert any(parent for _, _, _, parent, _, _ in kept(whole))
    assert (killed / "k.jsonl").read_bytes() == (whole / "k.jsonl").read_bytes()
    assert (whole / "k.jsonl").read_bytes().count(b"\n") == 1
