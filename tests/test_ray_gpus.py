"""The GPUs of a cluster's nodes: seen by their judges, told apart, missed before a run begins."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from kernelwright.envs.remote.ray_judge import Batch, Errand, RayJudge
from kernelwright.envs.remote.ray_nodes import Node
from kernelwright.envs.system.hardware import gpu_of
from kernelwright.envs.types import Candidate, Dialect, Problem, Verdict
from kernelwright.envs.workers.pool import JudgeError
from kernelwright.preflight.check import unprepared
from kernelwright.recipe.resolve import resolve
from scripts.kernels import the_problem
from tests.fake_nvidia_smi import H100, on_path, write_nvidia_smi

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'kernelwright[ray]'")
pytestmark = [pytest.mark.sandbox, pytest.mark.filterwarnings("default")]  # Ray's own

DIALECTS = ("triton", "cpp", "inline", "cuda")
BASE = Path(__file__).with_name("fixtures") / "recipes" / "base.yaml"
A100 = {**H100, "uuid": "GPU-a", "name": "NVIDIA A100-SXM4-80GB", "compute_cap": "8.0"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Three nodes, all on this machine: one finds an H100, one an A100, the head no GPU.

    Ray hides GPUs from whoever takes none, as its older versions always do.
    """
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "1")
        patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        for row in (H100, A100):
            folder = tmp_path_factory.mktemp("driver")
            write_nvidia_smi(folder, [row])
            cluster.add_node(num_cpus=1, num_gpus=1, env_vars={"PATH": on_path(folder)})
        ray.init(address=cluster.address, log_to_driver=False)
        yield cluster
        ray.shutdown()
        cluster.shutdown()


@pytest.mark.slow
def test_nodes_judge_on_their_gpus_and_cards_are_told_apart(cluster: Any) -> None:
    with RayJudge(cluster.address, workers=1) as judge:
        nodes = judge._fleet.up()
        found = {one["name"]: one for one in judge.devices()}
    assert {name: one["environment"] for name, one in found.items()} == {
        one.name: one.environment for one in map(gpu_of, (H100, A100))
    }
    assert found[H100["name"]]["max_sm_clock_mhz"] == 1980
    assert sorted(len(one.devices) for one in nodes) == [0, 1, 1]
    assert len({one.environment for one in nodes}) == 3


@pytest.mark.slow
def test_a_cluster_without_gpus_is_refused_where_only_they_tell_a_speed(cluster: Any) -> None:
    words = ["data.dialect=triton", f"judge.ray_address={cluster.address}"]
    recipe = resolve(BASE, words).recipe
    assert unprepared(recipe) == []
    bare = cluster.add_node(num_cpus=1, resources={"judge": 1})
    (reason,) = unprepared(recipe)
    assert reason.startswith("judge.timed: triton answers have no speed on the nodes of judge.ray")
    assert "\n" not in reason
    assert unprepared(resolve(BASE, [*words, "judge.timed=false"]).recipe) == []
    cluster.remove_node(bare)


def errand(problem: Problem, dialect: Dialect) -> Errand:
    return Errand(problem, Candidate(problem_key=problem.key, dialect=dialect, source=""))


@pytest.mark.parametrize(("with_gpus", "taken"), [(True, ["cpp"]), (False, list(DIALECTS))])
def test_only_what_uses_no_gpu_goes_to_a_node_without_one_beside_others(
    with_gpus: bool, taken: list[Dialect]
) -> None:
    bare, fast = (Node(name, (0, 1), None, None, environment=name) for name in ("bare", "fast"))
    fast.devices = [{"name": "NVIDIA H100"}]
    problem, environments = the_problem(), {"bare", "fast"}
    waiting = deque(errand(problem, one) for one in DIALECTS)
    batch = Batch(timed=True, seed=1, ends=0.0, waiting=waiting)
    for node, wanted in ((bare, taken), (fast, [one for one in DIALECTS if one not in taken])):
        turn = partial(batch.next_for, node, environments, with_gpus=with_gpus)
        assert [one.candidate.dialect for one in iter(turn, None) if one] == wanted


def judge_until_lost(judge: RayJudge, problem: Problem) -> None:
    """A worker may outlive its killed node by a moment and answer; another may be lost on both
    nodes, before Ray knows of their end."""
    ends = monotonic() + 30
    while monotonic() < ends:
        found = judge.evaluate(problem, errand(problem, "triton").candidate)
        assert found.verdict in (Verdict.UNJUDGED, Verdict.NO_KERNEL)


@pytest.mark.slow
def test_a_cluster_that_loses_its_gpus_does_not_go_on_without(cluster: Any) -> None:
    """The last test: the cluster is smaller after it."""
    problem = the_problem()
    with RayJudge(cluster.address, workers=1) as judge:
        for node in list(cluster.worker_nodes):
            cluster.remove_node(node, allow_graceful=False)
        with pytest.raises(JudgeError, match="no node of the Ray cluster with a GPU is left"):
            judge_until_lost(judge, problem)
        cpp = judge.evaluate(problem, errand(problem, "cpp").candidate)
        assert cpp.verdict is Verdict.NO_KERNEL
