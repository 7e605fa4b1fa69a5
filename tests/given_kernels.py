"""A provider whose answers are the starter suite's own kernels, some of them broken: for whole
evaluations. `tests.given_kernels:FOLDER` leaves in the folder what each process was asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.data.runs.process import this_process
from kernelwright.data.triples.templates import triples_of
from kernelwright.envs.policy import Completion, Finish, OnFinished, Policy, Prompt, Sampling
from kernelwright.envs.prompt import task_prompt
from kernelwright.rl.policies.providers import base

SUITE = "starter:train"


@dataclass
class Given:
    """The right kernel, one that does nothing, or none: by the number of the prompt."""

    folder: Path

    def __post_init__(self) -> None:
        self.kernels = {task_prompt(one.task): one for one in triples_of(SUITE, "cpp")[:8]}

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        found = []
        for place, prompt in enumerate(prompts):
            number = sampling.number(place)
            with (self.folder / f"asked-{this_process().rank}").open("a") as file:
                file.write(f"{number}\n")
            found.append(Completion(text=self.one(str(prompt), number), finish=Finish.STOP))
            if on_finished:
                on_finished(place, found[-1])
        return found

    def one(self, prompt: str, number: int) -> str:
        right = self.kernels[prompt].completion()
        if number % 3 == 1:
            return "It cannot be done."
        return right if number % 3 == 0 else right.replace(") {\n", ") {\n    return;\n", 1)


class Provider(base.Provider):
    def open(self, model: str) -> Policy:
        return Given(Path(model))
