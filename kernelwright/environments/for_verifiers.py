"""The judge as an environment of PrimeIntellect's `verifiers`, under the id `kernelwright`.

    vf-eval kernelwright --env.taskset.suite starter:held_out --env.turns 2 --model MODEL

Importing this module imports `verifiers`, which finds the classes by `kernelwright/__init__.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar

import verifiers.v1 as vf
from openai import AsyncOpenAI
from verifiers.v1.dialects.chat import message_to_wire

from kernelwright.environments.episode import Episode, Rules
from kernelwright.environments.lazy_judge import LazyJudge
from kernelwright.environments.tasks import Tasks
from kernelwright.envs.prompt import task_prompt

JUDGE = LazyJudge()
"""Of this process: environments of one process share it."""
tasks_of = lru_cache(Tasks)


class KernelData(vf.TaskData):  # type: ignore[misc]
    """What travels of a task: the suite's name and the key of the problem."""

    suite: str
    dialect: str
    problem: str


class KernelTaskConfig(vf.TaskConfig):  # type: ignore[misc]
    """How answers are priced, and whether they are timed."""

    preset: str = "default"
    timed: bool = True


class KernelTask(vf.Task[KernelData, vf.State, KernelTaskConfig]):  # type: ignore[misc]
    """A problem whose rubric is the judge."""

    @property
    def key(self) -> str:
        return str(self.data.problem)

    def episode(self, turns: int) -> Episode:
        """A conversation about this problem, of that many answers."""
        rules = Rules(preset=self.config.preset, timed=self.config.timed, turns=turns)
        episode = Episode(JUDGE.opened(), rules)
        episode.reset(tasks_of(self.data.suite, self.data.dialect).find(self.data.problem))
        return episode

    @vf.reward  # type: ignore[untyped-decorator]
    async def kernel(self, trace: Any) -> dict[str, float]:
        """The parts of the last answer's reward. An answer without a verdict is an error."""
        step = await asyncio.to_thread(self.episode(turns=1).step, trace.last_reply)
        trace.record_metric(f"verdict/{step.evaluation.verdict}", 1.0)
        if step.evaluation.timing is not None:
            trace.record_metric("speedup", step.evaluation.timing.speedup.median)
        return dict(step.reward.parts)


class KernelTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which problems, and the language of their answers."""

    suite: str = "starter:train"
    dialect: str = "cpp"
    task: KernelTaskConfig = KernelTaskConfig()


class Kernels(vf.Taskset[KernelTask, KernelTasksetConfig]):  # type: ignore[misc]
    """The problems of a suite."""

    def load(self) -> Iterator[KernelTask]:
        suite, dialect = self.config.suite, self.config.dialect
        for task in tasks_of(suite, dialect):
            data = KernelData(
                name=task.problem.name,
                prompt=task_prompt(task),
                suite=suite,
                dialect=dialect,
                problem=task.problem.key,
            )
            yield KernelTask(data, self.config.task)


class KernelChatConfig(vf.HarnessConfig):  # type: ignore[misc]
    """No options."""


class KernelChat(vf.Harness[KernelChatConfig]):  # type: ignore[misc]
    """One completion for each turn, asked for from this process: nothing runs in the runtime."""

    APPENDS_SYSTEM_PROMPT: ClassVar[bool] = True
    SUPPORTS_RESUME: ClassVar[bool] = True
    EXECUTES_CODE: ClassVar[bool] = False
    NEEDS_CONTAINER: ClassVar[bool] = False

    async def launch(
        self,
        ctx: Any,
        trace: Any,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: Any,
        data: Any,
    ) -> Any:
        system, prompt = self.resolve_prompt(data)
        messages: list[Any] = [{"role": "system", "content": system}] if system else []
        if isinstance(prompt, str):
            messages.append({"role": "user", "content": prompt})
        else:
            messages += [message_to_wire(one) for one in prompt or ()]
        async with AsyncOpenAI(base_url=endpoint, api_key=secret, max_retries=0) as client:
            await client.chat.completions.create(model=ctx.model, messages=messages)
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


class KernelEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """The agent that writes kernels, and how many answers it may give."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    turns: int = 1


class KernelEnv(vf.Env[KernelEnvConfig]):  # type: ignore[misc]
    """A conversation: what the judge says of an answer is the next message; the last one counts."""

    async def run(self, task: Any, agents: Any) -> None:
        turns = self.config.turns
        episode = await asyncio.to_thread(task.episode, turns)
        async with agents.agent.interaction(task) as interaction:
            segment = await interaction.turn()
            for _ in range(turns - 1):
                if segment.terminated:
                    break
                step = await asyncio.to_thread(episode.step, segment.last_reply)
                segment = await interaction.turn(step.feedback)
