"""The nodes of a Ray cluster that judge: starts an actor on each, checks, refuses or replaces
it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelwright.envs.codec import from_plain, to_json
from kernelwright.envs.judge import Judge
from kernelwright.envs.sandbox.toolchain import code_version, toolchain_fingerprint
from kernelwright.envs.types import Candidate, Problem, content_hash
from kernelwright.envs.workers.pool import JudgeError

STARTS = 3
"""Actors that are started on a node in a row before it is dropped."""
START_LIMIT_S = 300.0
LOOK_S = 1.0
"""Seconds between looks at deadlines."""
END_LIMIT_S = 20.0
RESOURCE = "judge"
"""`ray start --resources='{"judge": 1}'` keeps judging to such nodes, away from the trainer's."""
CALLS = 1000
"""Most candidates of an actor at a time; far more than a node has workers."""


class NodeJudge:
    """The actor on a node: a local judge that takes and gives JSON."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.judge = Judge(**settings)

    def about(self) -> dict[str, Any]:
        devices = self.judge.devices()
        cards = sorted({one["environment"] for one in devices})
        own = toolchain_fingerprint()
        return {
            "workers": self.judge.workers,
            "level": self.judge.level,
            "environment": content_hash(own, *cards) if cards else own,
            "code": code_version(),
            "devices": devices,
        }

    def evaluate(self, line: str) -> str:
        job = json.loads(line)
        nouns = (from_plain(Problem, job["problem"]), from_plain(Candidate, job["candidate"]))
        (found,) = self.judge.evaluate_many(
            [nouns], timed=job["timed"], seed=job["seed"], limit_s=job["limit_s"]
        )
        return to_json(found)

    def close(self) -> None:
        self.judge.close()


@dataclass(eq=False, slots=True)
class Node:
    """The trainer's state of a node. It is `up` once its actor has described itself."""

    id: str
    share: tuple[int, int]
    """Which of how many processes it judges for; each has cores of its own there."""
    actor: Any
    starting: Any
    """The reference of the actor's `about`; None once it has come."""
    starts: int = 1
    began: float = field(default_factory=time.monotonic)
    """When its actor was started, on this process's clock, in seconds."""
    workers: int = 0
    level: str = ""
    environment: str = ""
    """Of its cores and of its GPUs."""
    devices: Sequence[dict[str, Any]] = ()
    """Its GPUs, as `envs/system/hardware.described` tells of them."""

    @property
    def up(self) -> bool:
        return self.starting is None


class Fleet:
    """The nodes that judge for this process. `settings` are those of each node's `Judge`.

    `share` is (which, of how many) where several processes share the cluster (`share_out`).
    """

    def __init__(self, ray: Any, settings: Mapping[str, Any], share: tuple[int, int]) -> None:
        self._ray, self._settings, self._share = ray, settings, share
        self._code = code_version()
        self._nodes: dict[str, Node] = {}
        self._refused: dict[str, str] = {}
        self._named = False
        """Whether a node has said by the resource `judge` that it is there to judge."""

    # Nodes

    def meet(self) -> None:
        """Waits until every node is up or refused; raises JudgeError where none is up."""
        self.invite()
        while starting := self.starting():
            self._ray.wait(starting, timeout=LOOK_S)
            self.up()

    def invite(self) -> None:
        """An actor for each node that is ours now, none for others. Only while none is at work."""
        ours = share_out(sorted(self._living() - self._refused.keys()), *self._share)
        for node in [one for one in self._nodes.values() if ours.get(one.id) != one.share]:
            self._ray.kill(node.actor)
            del self._nodes[node.id]
        for node_id in ours.keys() - self._nodes.keys():
            self._start(node_id, ours[node_id])

    def starting(self) -> list[Any]:
        """References that are ready when a node that is not up yet has something to say."""
        return [one.starting for one in self._nodes.values() if not one.up]

    def up(self) -> list[Node]:
        """The nodes that are up now; raises JudgeError where there will be none."""
        for node in list(self._nodes.values()):
            if node.up:
                continue
            if self._ray.wait([node.starting], timeout=0)[0]:
                self._welcome(node)
            elif time.monotonic() - node.began > START_LIMIT_S:
                self._refuse(node, f"it did not start within {START_LIMIT_S:.0f} s")
        if not self._nodes:
            self.invite()  # ours are lost; the cluster may have others
        if not self._nodes:
            whys = "; ".join(f"{one[:8]}: {why}" for one, why in self._refused.items())
            raise JudgeError(f"no node of the Ray cluster can judge ({whys or 'there is none'})")
        return [one for one in self._nodes.values() if one.up]

    def lose(self, node: Node, why: str) -> None:
        """A node's actor is gone: it gets another one, unless it had enough of them."""
        if self._nodes.get(node.id) is not node:
            return  # an earlier candidate of this actor has told us
        if node.starts >= STARTS or node.id not in self._living():
            self._refuse(node, why)
        else:
            self._ray.kill(node.actor)
            self._start(node.id, node.share, node.starts + 1)

    def close(self) -> None:
        """Ends every actor with its workers."""
        closing = [one.actor.close.remote() for one in self._nodes.values() if one.up]
        if closing:
            self._ray.wait(closing, num_returns=len(closing), timeout=END_LIMIT_S)
        for node in self._nodes.values():
            self._ray.kill(node.actor)
        self._nodes.clear()

    def _living(self) -> set[str]:
        """The nodes that are there to judge: all, unless some say so by the resource `judge`, or
        did before they died."""
        alive = [row for row in self._ray.nodes() if row["Alive"]]
        meant = [row for row in alive if row["Resources"].get(RESOURCE)]
        self._named = self._named or bool(meant)
        return {row["NodeID"] for row in (meant if self._named else alive)}

    def _start(self, node_id: str, share: tuple[int, int], starts: int = 1) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        # It takes no CPU and no GPU of Ray's: its workers pin themselves to the node's cores, and
        # locks keep each core and GPU to one measurement, whoever's. From whom takes no GPU, Ray
        # may hide them all.
        options = {
            "num_cpus": 0,
            "runtime_env": {"env_vars": {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1"}},
            "max_concurrency": CALLS,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(node_id, soft=False),
        }
        settings = {**self._settings, "share": share}
        actor = self._ray.remote(NodeJudge).options(**options).remote(settings)
        self._nodes[node_id] = Node(node_id, share, actor, actor.about.remote(), starts)

    def _welcome(self, node: Node) -> None:
        """The node is up, or is refused, or its actor was lost before it spoke."""
        try:
            about = self._ray.get(node.starting)
        except self._ray.exceptions.RayError as error:
            return self.lose(node, str(error))
        if about["code"] != self._code:
            return self._refuse(node, "it has another version of the judge")
        node.workers, node.level = about["workers"], about["level"]
        node.environment, node.devices = about["environment"], about["devices"]
        node.starting = None

    def _refuse(self, node: Node, why: str) -> None:
        self._ray.kill(node.actor)
        del self._nodes[node.id]
        self._refused[node.id] = last_line(why)
        print(f"judge: node {node.id[:8]} does not judge: {last_line(why)}", file=sys.stderr)


def share_out(nodes: Sequence[str], which: int, of: int) -> dict[str, tuple[int, int]]:
    """Node → share of it, for one of several processes: whole nodes while there are enough.

    >>> share_out(["a", "b", "c"], 0, 2), share_out(["a", "b"], 2, 3)
    ({'a': (0, 1), 'c': (0, 1)}, {'a': (1, 2)})
    """
    if of <= len(nodes):
        return dict.fromkeys(nodes[which::of], (0, 1))
    sharers = range(which % len(nodes), of, len(nodes)) if nodes else range(0)
    return {nodes[sharers.start]: (sharers.index(which), len(sharers))} if nodes else {}


def last_line(text: str) -> str:
    """Of a traceback, what was raised."""
    return (text.strip().splitlines() or [""])[-1]
