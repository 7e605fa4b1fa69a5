"""The judge as an environment of OpenEnv: its server over WebSocket, and a client for it.

```python
uvicorn.run(kernel_app("starter:train", turns=3), port=8000)

with KernelClient("http://127.0.0.1:8000").sync() as client:
    prompt = client.reset(problem="row_sum").observation.text
    result = client.step(KernelAction(answer=model(prompt)))
```

Importing this module imports `openenv`. Its server asks for no token: it is for one's own machine.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Any
from uuid import uuid4

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
from pydantic import Field

from kernelwright.environments.episode import Episode, EpisodeOverError, Rules
from kernelwright.environments.lazy_judge import LazyJudge
from kernelwright.environments.tasks import Tasks
from kernelwright.environments.verdict_object import verdict_object
from kernelwright.envs.judge import AnyJudge

JUDGE_LIMIT_S = 1800.0
"""How long a client waits for a verdict: longer than any answer may take (envs/judge.py)."""
SESSIONS = 64


class KernelAction(Action):  # type: ignore[misc]
    """A model's whole answer, in which the kernel is a code block."""

    answer: str


class KernelObservation(Observation):  # type: ignore[misc]
    """`text` is for the model: the task, or what the judge says of its answer."""

    text: str
    verdict: dict[str, Any] = Field(default_factory=dict)
    """The object of `kernelwright judge --json`; empty after a reset."""


class KernelState(State):  # type: ignore[misc]
    """The problem, and the conversation so far."""

    problem: str = ""
    turns: int = 1
    messages: list[dict[str, str]] = Field(default_factory=list)


class KernelSession(Environment[KernelAction, KernelObservation, KernelState]):  # type: ignore[misc]
    """One session. `reset` takes the name or key of a problem; without one the seed draws it."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, tasks: Tasks, judge: LazyJudge, rules: Rules) -> None:
        super().__init__()
        self._tasks, self._judge, self._rules = tasks, judge, rules
        self._episode: Episode | None = None
        self._id = str(uuid4())

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        problem: str | None = None,
        **_: Any,
    ) -> KernelObservation:
        drawn = random.Random(seed).randrange(len(self._tasks))
        task = self._tasks[drawn] if problem is None else self._tasks.find(problem)
        self._id = episode_id or str(uuid4())
        self._episode = Episode(self._judge.opened(), self._rules)
        return KernelObservation(text=self._episode.reset(task)[-1]["content"])

    def step(
        self, action: KernelAction, timeout_s: float | None = None, **_: Any
    ) -> KernelObservation:
        if self._episode is None:
            raise EpisodeOverError("reset the environment before the first step")
        step = self._episode.step(action.answer)
        return KernelObservation(
            text=step.feedback,
            verdict=verdict_object(step.evaluation),
            reward=step.reward.total,
            done=step.done,
        )

    @property
    def state(self) -> KernelState:
        state = KernelState(episode_id=self._id, turns=self._rules.turns)
        if self._episode is not None and self._episode.task is not None:
            state.problem = self._episode.task.problem.name
            state.step_count = len(self._episode.steps)
            state.messages = self._episode.messages
        return state


def kernel_app(
    suite: str,
    *,
    dialect: str = "cpp",
    preset: str = "default",
    turns: int = 1,
    timed: bool = True,
    judge: AnyJudge | None = None,
) -> Any:
    """OpenEnv's server over a suite, as an ASGI application. Its sessions share one judge."""
    rules = Rules(preset=preset, turns=turns, timed=timed)
    made = partial(KernelSession, Tasks(suite, dialect), LazyJudge(judge), rules)
    return create_fastapi_app(made, KernelAction, KernelObservation, max_concurrent_envs=SESSIONS)


class KernelClient(EnvClient[KernelAction, KernelObservation, KernelState]):  # type: ignore[misc]
    """OpenEnv's client, with the types of this environment."""

    def __init__(self, base_url: str, **options: Any) -> None:
        super().__init__(base_url=base_url, **{"message_timeout_s": JUDGE_LIMIT_S, **options})

    def _step_payload(self, action: KernelAction) -> dict[str, Any]:
        return dict(action.model_dump())

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[KernelObservation]:
        told = {name: payload.get(name) for name in ("reward", "done")}
        observation = KernelObservation(**{**payload["observation"], **told})
        return StepResult(observation=observation, **told)

    def _parse_state(self, payload: dict[str, Any]) -> KernelState:
        return KernelState(**payload)
