"""The judge on a Ray cluster: all its machines judge for one trainer.

One actor on each node holds a local `Judge`. Candidates travel to it as JSON and evaluations come
back as JSON. Who loses a candidate (an actor, a node, the network) only delays it: it is tried once
more, elsewhere where there is an elsewhere, and is then `unjudged`. Every node has this version of
kernelwright installed; a node with other code, or with too weak a sandbox, is refused.

All candidates of a problem go to nodes of one environment as long as there are any, because
timings compare only within one.
"""

from __future__ import annotations

import json
import math
import re
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelwright.envs.codec import from_plain, to_plain
from kernelwright.envs.judge import CANDIDATE_LIMIT_S, TRIES, BatchJudge, unjudged
from kernelwright.envs.remote.ray_nodes import LOOK_S, Fleet, Node, last_line
from kernelwright.envs.sandbox.levels import LEVELS
from kernelwright.envs.types import Candidate, Evaluation, Problem
from kernelwright.envs.workers.gpu_config import PLAIN, GpuConfig
from kernelwright.envs.workers.health import fresh_seed
from kernelwright.envs.workers.pool import JudgeError, uses_gpu

SLACK_S = 120.0
"""Seconds beyond its own limits that a node may be silent about a candidate."""


REACH_S = 5.0
"""Seconds in which a cluster has to take a connection; Ray itself would try for two minutes."""


def reach(address: str) -> None:
    """Raises JudgeError where nothing answers at `host:port`; other addresses are Ray's to find."""
    named = re.fullmatch(r"(?:ray://)?([\w.-]+):(\d+)", address)
    if named is None:
        return
    try:
        socket.create_connection((named[1], int(named[2])), REACH_S).close()
    except (OSError, OverflowError) as error:
        raise JudgeError(f"no Ray cluster answers at {address}: {error}") from None


@dataclass(eq=False, slots=True)
class Errand:
    """One candidate of a batch: its node, its deadline, and the losses on the way."""

    problem: Problem
    candidate: Candidate
    node: Node | None = None
    due: float = math.inf
    losses: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Batch:
    """Settings and results of one batch of candidates."""

    timed: bool
    seed: int
    ends: float
    waiting: deque[Errand]
    under_way: dict[Any, Errand] = field(default_factory=dict)
    homes: dict[tuple[str, bool], str] = field(default_factory=dict)
    """(problem key, whether on a GPU) → the environment that judges it."""
    done: dict[str, Evaluation] = field(default_factory=dict)
    on_done: Callable[[], None] | None = None

    @property
    def waits_for_gpu(self) -> bool:
        """Whether some of what waits is judged on GPUs where there are any."""
        return any(uses_gpu(one.candidate.dialect) for one in self.waiting)

    def next_for(self, node: Node, environments: set[str], *, with_gpus: bool) -> Errand | None:
        """The first candidate that this node may judge; its problem stays in that environment."""
        for errand in self.waiting:
            on_gpu = with_gpus and uses_gpu(errand.candidate.dialect)
            if on_gpu and not node.devices:
                continue
            place = errand.problem.key, on_gpu
            home = self.homes.get(place)
            if home not in environments:
                home = self.homes[place] = node.environment
            if home == node.environment:
                self.waiting.remove(errand)
                return errand
        return None

    def settle(self, errand: Errand, found: Evaluation) -> None:
        self.done[errand.candidate.key] = found
        if self.on_done:
            self.on_done()


class RayJudge(BatchJudge):
    """The same methods as `Judge`; `address` is Ray's: `auto` is the cluster of this machine.

    `workers` is how many each node has; None: as `Judge`. `share` is (which, of how many) where
    several processes share the cluster: nodes, or cores of a node, are then one process's alone.
    """

    def __init__(
        self,
        address: str,
        workers: int | None = None,
        minimum_sandbox: str = "namespaces",
        *,
        candidate_limit_s: float = CANDIDATE_LIMIT_S,
        batch_limit_s: float | None = None,
        share: tuple[int, int] = (0, 1),
        on_gpu: GpuConfig = PLAIN,
    ) -> None:
        import ray

        self._ray = ray
        self._owns_ray = not ray.is_initialized()
        if self._owns_ray:
            reach(address)
            ray.init(address=address, log_to_driver=False)
        self.candidate_limit_s, self.batch_limit_s = candidate_limit_s, batch_limit_s
        settings = {
            "workers": workers,
            "minimum_sandbox": minimum_sandbox,
            "candidate_limit_s": candidate_limit_s,
            "on_gpu": on_gpu,
        }
        self._fleet = Fleet(ray, settings, share)
        self._fleet.meet()
        self._had_gpus = bool(self.devices())
        self.level = min((one.level for one in self._fleet.up()), key=LEVELS.index)
        self.workers = sum(one.workers for one in self._fleet.up())

    def evaluate_many(
        self,
        jobs: Sequence[tuple[Problem, Candidate]],
        *,
        timed: bool = True,
        on_done: Callable[[], None] | None = None,
        seed: int | None = None,
    ) -> list[Evaluation]:
        """One evaluation for each job, in order. Identical candidates are judged once.

        `seed` as in `Judge`. Nodes that joined the cluster since the last batch judge too. Raises
        JudgeError where no node is left, or none with a GPU of those that there were.
        """
        distinct = {candidate.key: Errand(problem, candidate) for problem, candidate in jobs}
        limit_s = math.inf if self.batch_limit_s is None else self.batch_limit_s
        batch = Batch(
            timed=timed,
            seed=fresh_seed() if seed is None else seed,
            ends=time.monotonic() + limit_s,
            waiting=deque(distinct.values()),
            on_done=on_done,
        )
        self._fleet.invite()
        while batch.waiting or batch.under_way:
            self._send(batch)
            self._receive(batch)
            self._check_deadlines(batch)
        for _ in range(len(jobs) - len(distinct)):
            if on_done:
                on_done()
        return [batch.done[candidate.key] for _, candidate in jobs]

    def devices(self) -> list[dict[str, Any]]:
        """The GPUs of its nodes, as they were when each node started."""
        return [one for node in self._fleet.up() for one in node.devices]

    def close(self) -> None:
        """Ends every actor with its workers, also in the middle of a batch."""
        self._fleet.close()
        if self._owns_ray:
            self._ray.shutdown()

    def _send(self, batch: Batch) -> None:
        """As many candidates as the nodes have workers, and one more each to be ready for them."""
        nodes = self._fleet.up()
        environments = {one.environment for one in nodes}
        has_gpus = any(one.devices for one in nodes)
        self._had_gpus = self._had_gpus or has_gpus
        lost = self._had_gpus and not has_gpus and not self._fleet.starting()
        if lost and batch.waits_for_gpu:  # another would emulate it, and find no speed
            raise JudgeError("no node of the Ray cluster with a GPU is left")
        busy = Counter(one.node for one in batch.under_way.values())
        for node in sorted(nodes, key=lambda one: busy[one] - one.workers):
            for _ in range(node.workers + 1 - busy[node]):
                errand = batch.next_for(node, environments, with_gpus=self._had_gpus)
                if errand is not None:
                    self._send_one(batch, errand, node)

    def _send_one(self, batch: Batch, errand: Errand, node: Node) -> None:
        left_s = None if math.isinf(batch.ends) else max(0.0, batch.ends - time.monotonic())
        nouns = {"problem": to_plain(errand.problem), "candidate": to_plain(errand.candidate)}
        job = {**nouns, "timed": batch.timed, "seed": batch.seed, "limit_s": left_s}
        errand.node = node
        errand.due = time.monotonic() + TRIES * self.candidate_limit_s + SLACK_S
        batch.under_way[node.actor.evaluate.remote(json.dumps(job))] = errand

    def _receive(self, batch: Batch) -> None:
        """Settles what has come back; what was lost waits again, or is given up."""
        watched = [*batch.under_way, *self._fleet.starting()]
        ready = self._ray.wait(watched, timeout=LOOK_S)[0] if watched else []
        for reference in ready:
            errand = batch.under_way.pop(reference, None)
            if errand is None:
                continue
            try:
                found = from_plain(Evaluation, json.loads(self._ray.get(reference)))
            except (self._ray.exceptions.RayError, ValueError, KeyError, TypeError) as error:
                self._lost(batch, errand, str(error))
            else:
                batch.settle(errand, found)
                if errand.node is not None:
                    errand.node.starts = 1

    def _lost(self, batch: Batch, errand: Errand, why: str) -> None:
        errand.losses.append(last_line(why))
        if errand.node is not None:
            self._fleet.lose(errand.node, why)
        if len(errand.losses) < TRIES:
            batch.waiting.append(errand)
        else:
            batch.settle(errand, unjudged("worker_lost", "\n".join(errand.losses), self.level))

    def _check_deadlines(self, batch: Batch) -> None:
        now = time.monotonic()
        for reference, errand in list(batch.under_way.items()):
            if now >= errand.due:
                del batch.under_way[reference]
                self._lost(batch, errand, "its node fell silent")
        if now >= batch.ends:
            late = [*batch.waiting, *batch.under_way.values()]
            batch.waiting.clear()
            batch.under_way.clear()
            for errand in late:
                batch.settle(errand, unjudged("batch_deadline", "", self.level))
