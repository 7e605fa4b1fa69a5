"""The judge as an environment of TRL: the model hands kernels in by a tool and reads the verdicts.

```python
from kernelwright.environments.for_trl import kernel_environments
from kernelwright.trl_reward import kernel_dataset

trainer = GRPOTrainer(
    model,
    environment_factory=kernel_environments("starter:train", turns=3),
    train_dataset=kernel_dataset("starter:train"),
)
```
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kernelwright.environments.episode import Episode, Rules, UnjudgedError
from kernelwright.environments.lazy_judge import LazyJudge
from kernelwright.environments.tasks import Tasks
from kernelwright.envs.judge import AnyJudge
from kernelwright.rl.models.free_memory import give_back

HOW = "\nHand the kernel in with the tool `submit`. You have {turns}, and the last kernel counts."
OVER = "No turns are left: the last kernel counts."


class KernelEnvironment:
    """One rollout of `GRPOTrainer`. Its public methods but two are the model's tools.

    TRL makes one for each rollout of a batch, and calls `reset` with the columns of a data set's
    row. The reward is that of the last kernel, 0 where none was handed in, and None, which TRL
    leaves out of the group, where the judge gave no verdict.
    """

    def __init__(self, tasks: Tasks, judge: LazyJudge, rules: Rules) -> None:
        self._tasks, self._judge, self._rules = tasks, judge, rules
        self._episode: Episode | None = None
        self._failure: Exception | None = None

    def reset(self, problem: str, **_: Any) -> str:
        """Begins anew with the problem of this key; TRL adds the text to the prompt."""
        self._failure = None
        self._episode = Episode(self._judge.opened(), self._rules)
        self._episode.reset(self._tasks.find(problem))
        turns = self._rules.turns
        return HOW.format(turns="one turn" if turns == 1 else f"{turns} turns")

    def submit(self, source: str) -> str:
        """
        Builds, checks and times a kernel, and tells what is wrong with it or how fast it is.

        Args:
            source: The complete source code of the kernel.

        Returns:
            The verdict on the kernel.
        """
        assert self._episode is not None
        if not isinstance(source, str):  # the model wrote the call
            raise TypeError("source is a text: the kernel's source code")
        if self._episode.done:
            return OVER
        give_back()  # a GPU's memory, too: the judge needs it
        try:
            return self._episode.submit(source).feedback
        except Exception as error:
            self._failure = error  # TRL tells the model of it and goes on
            raise

    def get_reward(self) -> float | None:
        """The reward of the rollout. Raises what the judge raised where it cannot go on."""
        if self._failure is not None and not isinstance(self._failure, UnjudgedError):
            raise self._failure
        if self._failure is not None or self._episode is None:
            return None
        steps = self._episode.steps
        return steps[-1].reward.total if steps else 0.0


def kernel_environments(
    suite: str,
    *,
    dialect: str = "cpp",
    preset: str = "default",
    turns: int = 1,
    timed: bool = True,
    judge: AnyJudge | None = None,
) -> Callable[[], KernelEnvironment]:
    """TRL's `environment_factory` over a suite; its data set is `kernel_dataset` of the same suite.

    The judge starts at the first rollout and ends with the process.
    """
    rules = Rules(preset=preset, turns=turns, timed=timed)
    return partial(KernelEnvironment, Tasks(suite, dialect), LazyJudge(judge), rules)
