"""The tutorial leads where it says: its commands, in order, in a folder of their own."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from kernelwright.envs.system.paths import own_environment
from tests.documented import text_of
from tests.hub_server import TOKEN, Hub, Repository
from tests.tiny_model import save_writer

pytestmark = [pytest.mark.sandbox, pytest.mark.model]

STEP = re.compile(
    r"Save this as `(?P<file>\S+)`|replace `(?P<old>[^`]+)` by `(?P<new>[^`]+)`"
    r"|^```(?P<language>\w*)\n(?P<block>.*?)^```$|^    (?P<command>\S[^\n]*)$",
    re.DOTALL | re.MULTILINE,
)
INSTALLATION = ("make venv", ". .venv/bin/activate")
"""What the Python that runs this test comes from."""
BASE = "tests/writer"
TINY = (
    *(f"model.name={BASE}", "data.max_triples=2", "sft.epochs=1", "sft.max_length=2048"),
    *("grpo.steps=1", "grpo.group_size=2", "grpo.groups_per_step=2", "grpo.micro_batch_size=2"),
    *("grpo.max_completion_length=16", "eval.problems=1", "eval.max_new_tokens=16"),
)
"""What replaces the recipe's model and numbers."""
MORE = {"train": TINY, "eval": ("--problems", "1")}
"""Command → what it is given besides what the page says."""


@dataclass
class Reader:
    """Does what the page says, in a folder."""

    folder: Path
    environment: dict[str, str]
    saved: str = ""
    said: str = ""

    def do(self, step: re.Match[str]) -> None:
        found = step.groupdict()
        if found["file"]:
            self.saved = found["file"]
        elif found["old"]:
            changed = self.folder / self.saved
            before = changed.read_text(encoding="utf-8")
            assert found["old"] in before
            changed.write_text(before.replace(found["old"], found["new"]), encoding="utf-8")
        elif found["language"]:
            (self.folder / self.saved).write_text(found["block"], encoding="utf-8")
        elif found["block"]:
            self.read(found["block"])
        elif found["command"] not in INSTALLATION:
            self.run(shlex.split(found["command"]))

    def read(self, block: str) -> None:
        """Writes the modules that a block lists, or finds in the last output what it shows."""
        modules = re.findall(r"^(mine/\S+) +(return .*)$", block, re.MULTILINE)
        for path, line in modules:
            module = (self.folder / "module.py").read_text(encoding="utf-8")
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            whole = re.sub(r"return \(x.*", line, module)
            (self.folder / path).write_text(whole, encoding="utf-8")
        for part in () if modules else re.split(" · |\n", unmeasured(block)):
            assert part in unmeasured(self.said)

    def run(self, words: list[str]) -> None:
        """A command has the exit code of its kind, and writes the file that `--out` names."""
        program, command, *_ = words
        if program == "kernelwright":
            words = ["-m", *words, *MORE.get(command, ())]
        else:
            assert program == "python", words
            words = words[1:]
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        self.said = done.stdout
        wrong = command == "judge" and not self.said.startswith("correct")
        assert done.returncode == int(wrong), f"{words}: {done.stdout}{done.stderr}"
        for word, name in pairwise(words):
            assert word != "--out" or (self.folder / name).exists(), words


def unmeasured(text: str) -> str:
    """What a command prints, but for numbers, the case that failed first, and the sandbox."""
    return re.sub(r"-?\d[\d.e-]*|case \w+|sandbox \w+", "#", text)


@pytest.mark.slow
def test_the_tutorials_commands_lead_to_a_published_checkpoint(hub: Hub, tmp_path: Path) -> None:
    page, folder = text_of("tutorial"), tmp_path / "reader"
    (kernel,) = re.findall(r"^```cpp\n.*?^```$", page, re.DOTALL | re.MULTILINE)
    base = save_writer(tmp_path / "base", kernel)
    files = {one.name: one.read_bytes() for one in base.iterdir()}
    hub.repositories[BASE] = Repository(private=False, files=files)
    folder.mkdir()
    known = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HF_HOME": str(tmp_path / "home")}
    reader = Reader(folder, own_environment(**known))
    for step in STEP.finditer(page):
        reader.do(step)
    for name in re.findall(r"`(runs/[\w./-]+)`", page):
        assert (folder / name).exists(), name
    assert hub.repositories["user/name"].files.keys() >= {"adapter_model.safetensors", "README.md"}
