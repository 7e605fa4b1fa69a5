"""A GPU's clock by CUDA graphs: a plan does the same by one as step by step, and both sides of a
speed are launched in the same way. On the stand-in driver, whose graphs record and replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import pytest

from kernelwright.commands.verdict_text import verdict_text
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.candidate.process import empty_steps
from kernelwright.envs.device import messages
from kernelwright.envs.device.client import GpuCandidate
from kernelwright.envs.device.driver import Driver, DriverError
from kernelwright.envs.device.graphs import recorded
from kernelwright.envs.device.messages import Messages
from kernelwright.envs.plan.plan import First, GpuReplay, Plan
from kernelwright.envs.plan.steps import Copy, Place, Step
from kernelwright.envs.referee import resolution
from kernelwright.envs.referee.layout import read_outputs
from kernelwright.envs.referee.resolution import GRAPHS
from kernelwright.envs.referee.rounds import compare
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.reference.draws import Draws
from kernelwright.envs.sandbox.build import head
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.system.hardware import gpus
from kernelwright.envs.types import Candidate
from kernelwright.envs.workers.compile_baseline import _same_way
from tests import device_reference, ptx_device
from tests.device_evaluator import judging_on
from tests.test_device import DIALECTS, OUT, Bench, code, direct, filled, roundabout

pytestmark = pytest.mark.sandbox
GRAPH, FAILS = "HOST_DRIVER_GRAPH_NS", "HOST_DRIVER_NO_GRAPHS"
GRAPH_NS = 200_000_000
"""Far longer than a round takes by itself, however busy the machine."""
MEDIAN_NS = 25_000_000
"""The same for a median of many."""
SIZE = 256


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    gpu = ptx_device.device(tmp_path_factory.mktemp("driver"), architecture=90)
    with pytest.MonkeyPatch.context() as patch, closing(Sandboxes()) as sandboxes:
        patch.setattr(ReferenceProcess, "PROGRAM", device_reference.PROGRAM)
        with closing(ReferenceProcess(gpu)) as reference:
            loaded = reference.load(load_problem(DIALECTS / "problem.py"))
            yield Bench(gpu, loaded, reference, sandboxes)


@pytest.fixture
def computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel of plans computes what the problem asks for."""
    binary = code(tmp_path)
    monkeypatch.setattr(messages, "assembled", lambda *_: binary)


@contextmanager
def replaying(stand: Bench, plan: Callable[[CaseSpec], Plan]) -> Iterator[GpuCandidate]:
    """A process that replays it while the block runs."""
    replay = GpuReplay(trace=lambda spec, _: plan(spec), assembler="")
    with closing(GpuCandidate(Messages(replay, stand.gpu, stand.sandboxes), 20.0)) as player:
        player.ready()
        yield player


def is_right(player: GpuCandidate, stand: Bench, case: int, number: int) -> bool:
    """Whether a round on this draw gives what is expected."""
    spec = stand.loaded.specs[case]
    with closing(Draws(stand.reference, 1)) as draws, draws.of(stand.loaded, case, number) as draw:
        took_ns, copy = player.round(draw.inputs, spec)
        assert took_ns > 0
        return compare("a", copy, spec, draw.expected).passed


@pytest.mark.usefixtures("computes")
@pytest.mark.parametrize("plan", [direct, roundabout])
def test_by_a_graph_a_plan_computes_the_same_on_new_inputs_in_each_round(
    plan: Callable[[CaseSpec], Plan], stand: Bench
) -> None:
    with replaying(stand, plan) as player:
        player.prime(stand.loaded.specs[0])
        assert player.time_by(graphs=True)
        assert all(is_right(player, stand, 0, number) for number in range(3))
        assert not player.time_by(graphs=False)
        assert is_right(player, stand, 0, 3)


@pytest.mark.usefixtures("computes")
def test_another_case_is_not_played_by_the_graph_of_the_one_before(stand: Bench) -> None:
    with replaying(stand, direct) as player:
        player.prime(stand.loaded.specs[0])
        assert player.time_by(graphs=True)
        player.prime(stand.loaded.specs[1])
        assert is_right(player, stand, 1, 0)


@pytest.mark.usefixtures("computes")
def test_rounds_and_empty_steps_are_launches_of_graphs_or_neither_is(
    stand: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GRAPH, str(GRAPH_NS))
    spec = stand.loaded.specs[0]
    with replaying(stand, direct) as player, closing(Draws(stand.reference, 1)) as draws:
        player.prime(spec)
        with draws.of(stand.loaded, 0, 0) as draw:
            for graphs in (True, False):
                assert player.time_by(graphs=graphs) == graphs
                took_ns = player.empty_ns(), player.round(draw.inputs, spec)[0]
                assert [one >= GRAPH_NS for one in took_ns] == [graphs, graphs]


def test_a_first_call_is_no_launch_of_the_graph_of_later_ones(stand: Bench) -> None:
    spec = stand.loaded.specs[0]
    kept, size = Place(tensor="new.0", offset=0), spec.outputs[0].size_bytes
    first = First(steps=[filled(kept, 3, size), filled(OUT, 5, size)])
    later: list[Step] = [Copy(source=kept, to=OUT, bytes=size), filled(kept, 4, size)]
    plan = Plan(steps=later, buffers={"new.0": size}, first=first, kernels=[])
    with replaying(stand, lambda _: plan) as player, closing(Draws(stand.reference, 1)) as draws:
        player.prime(spec)
        assert player.time_by(graphs=True)
        with draws.of(stand.loaded, 0, 0) as draw:
            copies = [player.round(draw.inputs, spec)[1] for _ in range(4)]
    found = [read_outputs(one, spec)[0][0].flatten()[0].item() for one in copies]
    assert found == [5.0, 3.0, 4.0, 4.0]


@pytest.mark.usefixtures("computes")
def test_a_fill_that_does_not_fit_once_keeps_no_plan_from_being_a_graph(stand: Bench) -> None:
    def plan(spec: CaseSpec) -> Plan:
        one = direct(spec)
        return one.model_copy(update={"steps": [filled(OUT, 1.0, 2), *one.steps]})

    with replaying(stand, plan) as player:
        player.prime(stand.loaded.specs[0])
        assert player.time_by(graphs=True)
        assert is_right(player, stand, 0, 0)


@pytest.mark.usefixtures("computes")
@pytest.mark.parametrize("step", ["begin", "end", "instantiate"])
def test_what_cannot_be_a_graph_is_played_step_by_step_and_the_log_says_why(
    step: str, stand: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FAILS, step)
    with replaying(stand, direct) as player:
        player.prime(stand.loaded.specs[0])
        assert not player.time_by(graphs=True)
        assert is_right(player, stand, 0, 0)
        assert player.empty_ns() > 0
        assert "no CUDA graph: cu" in head(player.log_file.fileno())


def test_recording_runs_nothing_and_each_launch_of_the_graph_runs_all(stand: Bench) -> None:
    driver = Driver(stand.gpu.library)
    one, two = driver.allocate(SIZE), driver.allocate(SIZE)
    driver.fill(one, b"\1", SIZE)
    driver.fill(two, b"\2", SIZE)
    graph = recorded(driver, driver.stream, partial(driver.copy, one, two, SIZE))
    assert driver.download(two, SIZE) == b"\2" * SIZE
    for value in (b"\1", b"\3"):
        driver.fill(one, value, SIZE)
        graph.launch()
        assert driver.download(two, SIZE) == value * SIZE


def test_a_recording_that_fails_leaves_the_stream_as_it_was(stand: Bench) -> None:
    driver = Driver(stand.gpu.library)
    at = driver.allocate(SIZE)

    def waits() -> None:
        driver.fill(at, b"\1", SIZE)
        driver.wait()

    def raises() -> None:
        driver.fill(at, b"\1", SIZE)
        raise ValueError

    driver.fill(at, b"\0", SIZE)
    for launches, error in ((waits, DriverError), (raises, ValueError)):
        with pytest.raises(error):
            recorded(driver, driver.stream, launches)
        assert driver.download(at, SIZE) == bytes(SIZE)
        driver.wait()
    recorded(driver, driver.stream, partial(driver.fill, at, b"\4", SIZE)).launch()
    assert driver.download(at, SIZE) == b"\4" * SIZE


WAYS = {
    "both": ({}, True),
    "the answer cannot": ({FAILS: "end"}, False),
    "the module cannot": ({device_reference.NO_GRAPHS: "1"}, False),
}
"""What is set, and whether the two are launched as graphs then."""


@pytest.mark.parametrize("name", WAYS)
def test_both_sides_of_a_speed_are_launched_as_graphs_or_neither_is(
    name: str, stand: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    changes, graphs = WAYS[name]
    monkeypatch.setattr(resolution, "RESOLVED", 0.0)
    monkeypatch.setattr(resolution, "STEADY", float("inf"))
    for variable, value in {GRAPH: str(MEDIAN_NS), **changes}.items():
        monkeypatch.setenv(variable, value)
    with judging_on(replace(stand.gpu, architecture=80), monkeypatch) as evaluator:
        problem = load_problem(DIALECTS / "problem.py")
        source = (DIALECTS / "triton.py").read_text(encoding="utf-8")
        candidate = Candidate(problem_key=problem.key, dialect="triton", source=source)
        found = evaluator.judge(problem, candidate, timed=True, seed=1)
        assert evaluator.reference.by_graphs() == graphs
    assert found.timing is not None, found.log
    facts = dict(found.facts)
    assert facts[GRAPHS] == float(graphs)
    assert (facts["overhead_ns"] >= MEDIAN_NS) == graphs
    assert (median(found.timing.candidate_ns) >= MEDIAN_NS) == graphs
    said = "timed as CUDA graphs" if graphs else "timed kernel by kernel"
    assert said in verdict_text(found)


@pytest.mark.parametrize("fails", [False, True])
def test_a_compiled_module_and_an_eager_one_are_launched_in_the_same_way(
    fails: bool, stand: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fails:
        monkeypatch.setenv(FAILS, "begin")
    monkeypatch.setenv(GRAPH, str(GRAPH_NS))
    reference, loaded = stand.reference, stand.loaded
    assert isinstance(reference, ReferenceProcess)
    reference.aim(loaded.problem, loaded.timed, on_device=True)
    with closing(Draws(reference, 1)) as draws, empty_steps(stand.gpu, stand.sandboxes) as device:

        def rounds(numbers: range, *, compiled: bool) -> object:
            return list(draws.rounds_ns(reference, loaded, numbers))

        _same_way(reference, device, rounds)
        assert reference.by_graphs() != fails
        assert (device.empty_ns() < GRAPH_NS) == fails


@pytest.mark.gpu
def test_on_a_gpu_recording_runs_nothing_and_a_launch_computes_what_the_call_does() -> None:
    if not gpus():
        pytest.skip("needs a CUDA device")
    import torch

    from kernelwright.envs.device.torch_clock import DeviceClock

    clock = DeviceClock()
    given, out = torch.rand(1000, 1000, device="cuda"), torch.zeros(1000, 1000, device="cuda")
    launch = clock.recorded(lambda: out.copy_(torch.relu(given @ given) + 1))
    torch.cuda.synchronize()
    assert not out.any()
    for _ in range(2):
        given.uniform_()
        launch()
        torch.testing.assert_close(out, torch.relu(given @ given) + 1)


@pytest.mark.gpu
def test_on_a_gpu_a_call_that_waits_is_no_graph_and_the_next_one_is() -> None:
    if not gpus():
        pytest.skip("needs a CUDA device")
    import torch

    from kernelwright.envs.device.torch_clock import DeviceClock

    clock, given = DeviceClock(), torch.rand(1000, 1000, device="cuda")
    for call, graphs in ((lambda: given.sum().item(), False), (lambda: given.relu(), True)):
        clock.time_by(None)
        assert clock.time_ns(call) > 0
        assert clock.graphs == graphs


@pytest.mark.gpu
def test_on_a_gpu_a_graph_has_no_time_of_the_host_in_it() -> None:
    if not gpus():
        pytest.skip("needs a CUDA device")
    import torch

    from kernelwright.envs.device.torch_clock import DeviceClock

    clock, given = DeviceClock(), torch.rand(1000, device="cuda")

    def call() -> None:
        one = given
        for _ in range(500):
            one = one + 1

    call()
    took_ns = []
    for graphs in (False, True):
        clock.time_by(graphs)
        took_ns.append(median(clock.time_ns(call) for _ in range(5)))
    assert took_ns[1] < took_ns[0] / 2
