"""A provider that rewrites the kernel that its prompt shows, as a mark in it says: for whole
evaluations. `tests.rewriter:FOLDER` leaves in the folder how many prompts it was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.envs.policy import Completion, Finish, OnFinished, Policy, Prompt, Sampling
from kernelwright.rl.policies.providers import base
from tests.nouns import RELU_KERNEL

WAIT = "{ for (volatile int k = 0; k < 9; k = k + 1) {} "
SLOW = RELU_KERNEL.replace("out[i] =", f"{WAIT}out[i] =").replace(": 0;", ": 0; }")
WRONG = RELU_KERNEL.replace("> 0", "> 1")
GIVEN = {
    "made_faster": f"// quicken{SLOW}",
    "mended": f"// mend{WRONG}",
    "spoiled": f"// spoil{RELU_KERNEL}",
    "copied": f"// copy{RELU_KERNEL}",
}
"""Problem → its given kernel."""
ANSWERS = {"quicken": RELU_KERNEL, "mend": RELU_KERNEL, "spoil": WRONG, "copy": GIVEN["copied"]}


@dataclass
class Rewriter:
    """Answers by the mark of the kernel in the chat's second message."""

    folder: Path

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        with (self.folder / "asked").open("a") as file:
            file.write("one\n" * len(prompts))
        found = [Completion(text=self.one(chat), finish=Finish.STOP) for chat in prompts]
        for place, one in enumerate(found):
            if on_finished:
                on_finished(place, one)
        return found

    def one(self, chat: Prompt) -> str:
        assert not isinstance(chat, str)
        assert [one.role for one in chat] == ["user", "assistant", "user"]
        mark = next(one for one in ANSWERS if f"// {one}" in chat[1].content)
        return f"```cpp\n{ANSWERS[mark].strip()}\n```"


class Provider(base.Provider):
    def open(self, model: str) -> Policy:
        return Rewriter(Path(model))
