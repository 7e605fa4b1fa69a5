"""The judge as a reward function for any TRL script, and its problems as a data set.

```python
from kernelwright.trl_reward import KernelReward, kernel_dataset

dataset = kernel_dataset("starter:train")
trainer = GRPOTrainer(model, reward_funcs=KernelReward("starter:train"), train_dataset=dataset)
```
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelwright.data.runs.records import RecordStore
from kernelwright.data.suites.load import load_suite
from kernelwright.environments.lazy_judge import LazyJudge, launch_number
from kernelwright.environments.tasks import Tasks
from kernelwright.envs.dialects import known_dialect
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.judged import Batch, Response, judged
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.types import Problem, Record, Task, Verdict
from kernelwright.rewards.price import price_groups, require_preset
from kernelwright.rl.models.free_memory import give_back

STAGE = "grpo"
"""Of the records that are kept."""


def kernel_dataset(suite: str, dialect: str = "cpp") -> Any:
    """A `datasets.Dataset` with a row for each problem of a suite: its prompt, and its key."""
    from datasets import Dataset

    rows = [
        {
            "prompt": [{"role": "user", "content": task_prompt(task)}],
            "problem": task.problem.key,
        }
        for task in Tasks(suite, dialect)
    ]
    return Dataset.from_list(rows)


class KernelReward:
    """A reward function for `GRPOTrainer`: each completion is built, checked and timed.

    Data sets need the column `problem` of `kernel_dataset`. A completion that the judge could not
    judge gets None, which TRL leaves out of the group. `preset` names how verdicts are priced
    (`rewards/`), those of a call and a problem together. With `records` every judged completion is
    kept in that folder, where `kernelwright replay` and the report read it. Steps that a run does
    again, after it was resumed, take the place of those there. The judge starts at the first call
    and ends with the process; each process of a launch has its share of the cores.
    """

    def __init__(
        self,
        suite: str,
        *,
        dialect: str = "cpp",
        preset: str = "default",
        timed: bool = True,
        records: str | Path | None = None,
        judge: AnyJudge | None = None,
    ) -> None:
        require_preset(preset)
        self.suite, self.dialect = suite, known_dialect(dialect)
        self.preset, self.timed = preset, timed
        self.problems = load_suite(suite).by_key()
        self.store = _store(Path(records)) if records else None
        self.__name__ = "kernel"
        self._judge = LazyJudge(judge)
        self._rows: Counter[int] = Counter()
        self._began = False

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        problem: Sequence[str] = (),
        trainer_state: Any = None,
        log_metric: Callable[[str, float], None] | None = None,
        **_: Any,
    ) -> list[float | None]:
        """One reward for each completion; None where it is unjudged."""
        problems = self._problems(problem, len(completions))
        texts = [_text(one) for one in completions]
        tasks = [Task(problem=one, dialect=self.dialect) for one in problems]
        give_back()  # a GPU's memory, too: the judge needs it
        step = trainer_state.global_step if trainer_state else 0
        if trainer_state:
            self._take_back(step)
        rows = self._next_rows(step, len(texts))
        responses = [
            Response.of_completion(task, row, _text(asked), text)
            for task, row, asked, text in zip(tasks, rows, prompts, texts, strict=True)
        ]
        unpriced = judged(
            self._judge.opened(), responses, Batch(stage=STAGE, step=step), timed=self.timed
        )
        rewards = price_groups(self.preset, problem, [one.evaluation for one in unpriced])
        records = [
            replace(one, reward=reward) for one, reward in zip(unpriced, rewards, strict=True)
        ]
        if self.store:
            self.store.append(records)
        if log_metric:
            _log(records, log_metric)
        return [one.reward.total if one.reward else None for one in records]

    def close(self) -> None:
        """Ends the judge; the next call starts another."""
        self._judge.close()

    def _problems(self, keys: Sequence[str], count: int) -> list[Problem]:
        if len(keys) != count or not self.problems.keys() >= set(keys):
            raise ValueError(
                f"the data set's column `problem` does not hold problems of {self.suite}: "
                f"take kernel_dataset({self.suite!r}, {self.dialect!r})"
            )
        return [self.problems[key] for key in keys]

    def _take_back(self, step: int) -> None:
        """Before the first call, takes back this process's records of its step and later ones: an
        attempt that ended early wrote them."""
        if self._began or not self.store:
            return
        self._began = True
        rank, world = launch_number("RANK", 0), launch_number("WORLD_SIZE", 1)
        lost = [
            one
            for one in self.store.read()
            if one.stage == STAGE and one.step >= step and one.row % world == rank
        ]
        if lost:
            self.store.void(lost)

    def _next_rows(self, step: int, count: int) -> list[int]:
        """Record numbers of a step, distinct over calls and processes."""
        first, rank, world = (
            self._rows[step],
            launch_number("RANK", 0),
            launch_number("WORLD_SIZE", 1),
        )
        self._rows[step] += count
        return [(first + place) * world + rank for place in range(count)]


def _store(folder: Path) -> RecordStore:
    """The folder's records. Removes a half-written last line if no other process writes."""
    folder.mkdir(parents=True, exist_ok=True)
    store = RecordStore(folder)
    if launch_number("WORLD_SIZE", 1) == 1:
        store.cut_unfinished()
    return store


def _text(message: Any) -> str:
    """The text of a completion or prompt, conversational or not."""
    return str(message if isinstance(message, str) else message[-1]["content"])


def _log(records: Sequence[Record], log_metric: Callable[[str, float], None]) -> None:
    """Shares of the verdicts, so that a curve of the reward can be read."""
    verdicts = Counter(one.evaluation.verdict for one in records)
    for verdict in Verdict:
        log_metric(f"verdict/{verdict}", verdicts[verdict] / len(records))
