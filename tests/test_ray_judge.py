"""A cluster judges as one machine does, and loses no candidate when a part of it is lost."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.judge import Judge
from kernelwright.envs.judged import Batch, Response, judged
from kernelwright.envs.remote import ray_nodes
from kernelwright.envs.system.processes import living_below, name_of, still_alive
from kernelwright.envs.types import Candidate, Problem, Task, Verdict
from kernelwright.envs.workers.pool import JudgeError
from scripts.kernels import is_right, mixture, the_problem

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'kernelwright[ray]'")
pytestmark = [pytest.mark.sandbox, pytest.mark.filterwarnings("default")]  # Ray's own

KINDS = (
    "honest.cpp",
    "scaled_result.cpp",
    "does_not_compile.cpp",
    "null_pointer.cpp",
    "honest.cpp",
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes, both on this machine."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def problem() -> Problem:
    return the_problem()


def test_an_address_at_which_nothing_answers_is_told_at_once() -> None:
    from kernelwright.envs.remote.ray_judge import reach

    for address in ("127.0.0.1:9", "ray://127.0.0.1:9", "127.0.0.1:99999"):
        with pytest.raises(JudgeError, match=f"no Ray cluster answers at {address}"):
            reach(address)
    reach("auto")


@pytest.fixture
def judge(cluster: Any) -> Iterator[Any]:
    from kernelwright.envs.remote.ray_judge import RayJudge

    with RayJudge(cluster.address, workers=1) as judge:
        yield judge
        below = {one for actor in actors() for one in (actor, *living_below(actor))}
    assert not still_alive(below)


def actors() -> list[int]:
    return [one for one in living_below(os.getpid()) if "ray::NodeJudge" in (name_of(one) or "")]


def jobs(problem: Problem, count: int) -> list[tuple[str, tuple[Problem, Candidate]]]:
    kinds = [KINDS[number % len(KINDS)] for number in range(count)]
    return [(kind, (problem, candidate)) for kind, candidate in mixture(kinds, problem)]


def test_a_cluster_gives_the_verdicts_of_one_machine(judge: Any, problem: Problem) -> None:
    asked = [job for _, job in jobs(problem, 10)]
    calls: list[int] = []
    found = judge.evaluate_many([*asked, asked[0]], on_done=lambda: calls.append(1))
    assert found[-1] is found[0]
    assert len(calls) == 11
    with Judge(1) as local:
        alone = local.evaluate_many(asked)
    pairs = zip(found, alone, strict=False)
    assert all((a.verdict, a.reason) == (b.verdict, b.reason) for a, b in pairs)
    assert {one.environment for one in found[:-1] if one.environment} == {alone[0].environment}
    assert dict(found[0].facts)["module_ns"] > 0  # it was timed, whether or not there is a speed
    assert len({one.seed for one in found}) == 1


@pytest.mark.slow
def test_a_killed_actor_loses_no_candidate(judge: Any, problem: Problem) -> None:
    asked = jobs(problem, 60)
    assert len(actors()) == 2
    victim = actors()[0]
    killer = threading.Timer(1.0, lambda: os.kill(victim, signal.SIGKILL))
    killer.start()
    found = judge.evaluate_many([job for _, job in asked])
    killer.join()
    assert victim not in actors()
    for (kind, (_, candidate)), one in zip(asked, found, strict=True):
        assert is_right(kind, candidate, one), (kind, one)


@pytest.mark.slow
def test_a_successor_that_does_not_start_leaves_the_candidates_to_other_nodes(
    judge: Any, problem: Problem, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A node may hang without being lost to the cluster."""
    judge.evaluate_many([job for _, job in jobs(problem, 2)])
    monkeypatch.setattr(ray_nodes, "START_LIMIT_S", 0.0)
    os.kill(actors()[0], signal.SIGKILL)
    asked = jobs(problem, 5)
    found = judge.evaluate_many([job for _, job in asked], timed=False)
    for (kind, (_, candidate)), one in zip(asked, found, strict=True):
        assert is_right(kind, candidate, one), (kind, one)
    assert "does not judge: it did not start within 0 s" in capfd.readouterr().err


@pytest.mark.slow
def test_a_killed_worker_of_a_node_loses_no_candidate(judge: Any, problem: Problem) -> None:
    asked = jobs(problem, 30)
    judge.evaluate_many([job for _, job in jobs(problem, 2)])
    below = {one for actor in actors() for one in living_below(actor)}
    killer = threading.Timer(0.5, lambda: os.kill(min(below), signal.SIGKILL))
    killer.start()
    found = judge.evaluate_many([job for _, job in asked], timed=False)
    killer.join()
    for (kind, (_, candidate)), one in zip(asked, found, strict=True):
        assert is_right(kind, candidate, one), (kind, one)


def test_a_batch_ends_at_its_deadline(cluster: Any, problem: Problem) -> None:
    from kernelwright.envs.remote.ray_judge import RayJudge

    with RayJudge(cluster.address, workers=1, batch_limit_s=5.0) as judge:
        found = judge.evaluate_many([job for _, job in jobs(problem, 400)])
    reasons = {one.reason for one in found if one.verdict is Verdict.UNJUDGED}
    assert reasons == {"batch_deadline"}


@pytest.mark.slow
def test_what_cannot_be_run_is_unjudged(judge: Any, problem: Problem) -> None:
    broken = replace(problem, name="broken", code=problem.code.replace("relu", "no_such"))
    candidate = Candidate(problem_key=broken.key, dialect="cpp", source="\ud800")
    found = judge.evaluate(broken, candidate)
    assert (found.verdict, found.reason) == (Verdict.UNJUDGED, "reference_failed")


@pytest.mark.parametrize("refused", ["code", "sandbox"])
@pytest.mark.slow
def test_a_node_that_must_not_judge_is_refused(
    cluster: Any, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kernelwright.envs.remote.ray_judge import RayJudge

    level = "namespaces" if refused == "code" else "no such level"
    why = "another version" if refused == "code" else "ValueError"
    if refused == "code":
        monkeypatch.setattr("kernelwright.envs.remote.ray_nodes.code_version", lambda: "another")
    with pytest.raises(JudgeError, match=why):
        RayJudge(cluster.address, workers=1, minimum_sandbox=level)
    assert not still_alive(set(actors()))


@pytest.mark.slow
def test_a_recipe_says_who_judges(cluster: Any, problem: Problem) -> None:
    from kernelwright.data.runs.process import Process
    from kernelwright.envs.remote.ray_judge import RayJudge
    from kernelwright.rl.recipe.schema import JudgeSection
    from kernelwright.run.processes import judge_of

    second = Process(rank=1, world=2)
    with judge_of(JudgeSection(workers=1, batch_limit_s=60.0), second) as judge:
        assert isinstance(judge, Judge)
        assert judge.batch_limit_s == 60
    section = JudgeSection(workers=1, ray_address=cluster.address)
    with judge_of(section, second) as judge:
        assert isinstance(judge, RayJudge)
        assert judge.evaluate(*jobs(problem, 1)[0][1]).verdict is Verdict.CORRECT


@pytest.mark.slow
def test_nodes_that_are_there_to_judge_are_the_only_ones_that_do(
    cluster: Any, problem: Problem
) -> None:
    from kernelwright.envs.remote.ray_judge import RayJudge

    meant = cluster.add_node(num_cpus=1, resources={"judge": 1})
    with RayJudge(cluster.address, workers=1) as judge:
        assert judge.evaluate(*jobs(problem, 1)[0][1]).verdict is Verdict.CORRECT
        assert len(actors()) == 1
    cluster.remove_node(meant)


def wait_until_lost() -> None:
    """Until the cluster says that no node that is there to judge lives; its actor ends a little
    later than the node, and would still answer."""
    ends = time.monotonic() + 60
    while actors() or any(one["Alive"] and one["Resources"].get("judge") for one in ray.nodes()):
        assert time.monotonic() < ends
        time.sleep(0.1)


@pytest.mark.slow
def test_where_all_nodes_that_are_there_to_judge_are_lost_no_other_judges(
    cluster: Any, problem: Problem
) -> None:
    """The trainer's own node is one of the others."""
    from kernelwright.envs.remote.ray_judge import RayJudge

    meant = cluster.add_node(num_cpus=1, resources={"judge": 1})
    (_, first), (_, second), *_ = jobs(problem, 2)
    with RayJudge(cluster.address, workers=1) as judge:
        assert judge.evaluate(*first).verdict is Verdict.CORRECT
        cluster.remove_node(meant, allow_graceful=False)
        wait_until_lost()
        with pytest.raises(JudgeError, match="no node of the Ray cluster"):
            judge.evaluate(*second)


@pytest.mark.slow
def test_a_data_set_is_judged_by_the_nodes(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kernelwright.data.suites.row_folder import RowFolder
    from kernelwright.recipe.data_recipe import resolve_data
    from kernelwright.run.data_build import build_data

    monkeypatch.setattr("kernelwright.envs.remote.open_judge.Judge", None)
    words = [f"judge.ray_address={cluster.address}", "judge.workers=1", "judge.timed=false"]
    said = build_data(resolve_data(str(tmp_path), [*words, "count=1", "seed=3"]).recipe)
    assert "1 kept" in said[0]
    assert [row.verdict for row in RowFolder(tmp_path).rows()] == [Verdict.CORRECT]


@pytest.mark.slow
def test_a_lost_node_loses_and_doubles_no_answer(
    cluster: Any, problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three nodes, one with answers in work. The last test: the cluster is smaller after it."""
    from kernelwright.envs.remote.ray_judge import Errand, RayJudge

    lost: list[Errand] = []
    lose = RayJudge._lost

    def told(judge: RayJudge, batch: Any, one: Errand, why: str) -> None:
        lost.append(one)
        lose(judge, batch, one, why)

    monkeypatch.setattr(RayJudge, "_lost", told)
    victim = cluster.add_node(num_cpus=1)
    asked = jobs(problem, 180)  # an actor ends seconds after its node
    killer = threading.Thread(
        target=cluster.remove_node, args=(victim,), kwargs={"allow_graceful": False}
    )
    done: list[None] = []

    def on_done() -> None:
        done.append(None)
        if len(done) == 6:
            killer.start()

    responses = [
        Response(
            task=Task(problem=problem, dialect=candidate.dialect),
            row=row,
            prompt="",
            completion=candidate.source,
            source=candidate.source,
        )
        for row, (_, (_, candidate)) in enumerate(asked)
    ]
    with RayJudge(cluster.address, workers=1) as judge:
        assert len(actors()) == 3
        store = RecordStore(tmp_path)
        store.append(judged(judge, responses, Batch(stage="eval"), on_done=on_done))
        killer.join()
        assert judge.evaluate(*jobs(problem, 1)[0][1]).verdict is Verdict.CORRECT
    assert lost, "the node had nothing in work"
    assert len(lost) == len({one.candidate.key for one in lost})
    assert len(done) == len(asked)
    records = store.read()
    assert [one.row for one in records] == list(range(len(asked)))
    for (kind, (_, candidate)), one in zip(asked, records, strict=True):
        assert one.source == candidate.source
        assert is_right(kind, candidate, one.evaluation), (kind, one)
