"""Problems at sizes for which one core is too slow: on a GPU, here one made of a processor, what is
expected of them is computed there."""

from __future__ import annotations

import inspect
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from kernelwright.envs.codec import to_plain
from kernelwright.envs.device import there
from kernelwright.envs.reference import client, process
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.reference.large_cases import (
    ENOUGH_BYTES,
    ENOUGH_ELEMENTS,
    smaller_sizes,
)
from kernelwright.envs.types import Case, Problem, Role
from tests import device_reference, ptx_device

pytestmark = pytest.mark.sandbox
PRODUCT = """
import torch
N = 8
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(160))
    def forward(self, a, b):
        return (a @ b)[:, :160] * self.scale
def get_inputs():
    return [torch.rand(N, N), torch.rand(N, N)]
"""
CASES = (
    Case(name="small", sizes=(("N", 200),)),
    Case(name="timed", sizes=(("N", 700),), role=Role.TIME),
)
PROBLEM = Problem(name="product", code=PRODUCT, cases=CASES)


@contextmanager
def references(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[ReferenceProcess, ReferenceProcess]]:
    """Without a GPU, and with one."""
    here = ReferenceProcess()
    monkeypatch.setattr(ReferenceProcess, "PROGRAM", device_reference.PROGRAM)
    monkeypatch.setattr(client, "LARGE_BYTES", 4 << 20)
    with closing(here), closing(ReferenceProcess(ptx_device.without_driver())) as on_gpu:
        yield here, on_gpu


def test_what_a_gpu_expects_is_what_a_core_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    with references(monkeypatch) as (here, on_gpu):
        known, large = here.load(PROBLEM), on_gpu.load(PROBLEM)
        assert not any(known.large)
        assert large.large == tuple(dict(one.sizes)["N"] == 700 for one in large.cases)
        assert (large.specs, large.cases) == (known.specs, known.cases)
        for case in range(len(known.cases)):
            one, other = (peer.draw(of, case, 7) for peer, of in ((here, known), (on_gpu, large)))
            with closing(one), closing(other):
                for mine, theirs in zip(one.expected, other.expected, strict=True):
                    for values, like in zip(mine.choices, theirs.choices, strict=True):
                        assert np.allclose(like.astype("f8"), values.astype("f8"), 1e-12, 0.0)


def test_a_part_of_large_outputs_gives_nearly_the_same_tolerance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "DEVICE", "cpu")
    monkeypatch.setattr(there, "MOST_SEEN", 1 << 12)
    with socket.socket() as nobody:
        known, large = (
            process.ReferenceServer(nobody).load(to_plain(PROBLEM), large=of)[0]
            for of in ([False, False], [False, True])
        )
    assert any(large["large"])
    assert large["specs"] == known["specs"]
    for one, other in zip(known["tolerances"], large["tolerances"], strict=True):
        assert other[0] == pytest.approx(one[0], rel=0.25)
    for one, other in zip(known["levels"], large["levels"], strict=True):
        assert other[0] == pytest.approx(one[0], rel=0.25, abs=0.01)


def test_a_large_case_is_the_same_whenever_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    with references(monkeypatch) as (_, on_gpu):
        large = on_gpu.load(PROBLEM)
        case = large.large.index(True)
        draws = [on_gpu.draw(large, case, 3) for _ in range(2)]
        with closing(draws[0]), closing(draws[1]):
            first, second = (one.expected[0].choices[0] for one in draws)
            assert np.array_equal(first, second)


def test_small_cases_do_not_ask_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    with references(monkeypatch) as (_, on_gpu):
        small = replace(PROBLEM, cases=(replace(CASES[0], role=Role.TIME),))
        assert not any(on_gpu.load(small).large)


def test_a_module_gets_all_of_its_tensors_there_and_gives_back_ordinary_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(there, "_seed", lambda _: None)  # tensors without values give no number
    seen: list[str] = []

    class Model(torch.nn.Module):
        mask: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(4))
            self.register_buffer("mask", torch.ones(4))

        def forward(self, x: torch.Tensor, more: list[torch.Tensor], times: int) -> object:
            met = [x, *more, self.weight, self.mask, *self.parameters()]
            seen.extend(one.device.type for one in met)
            return {"out": x * self.weight * times, "more": [more[0] + self.mask]}

    with FakeTensorMode():
        model = there.playing_on(Model, "meta", lambda: None)()
        state = {name: torch.ones(4) for name in ("weight", "mask")}
        given = (torch.ones(4), [torch.ones(4)], 2)
        found = torch.func.functional_call(model, state, given, tie_weights=False)
    assert seen == ["meta"] * 5
    assert [found["out"].device.type, found["more"][0].device.type] == ["cpu", "cpu"]
    assert list(inspect.signature(type(model).forward).parameters) == ["self", "x", "more", "times"]


MODULE = """
import torch
R = {rows}
C = 64
class Model(torch.nn.Module):
    def forward(self, x):
        {body}
def get_inputs():
    return [torch.rand(R, C)]
"""
ROWS = 1 << 20


def smaller(body: str, rows: int = ROWS) -> dict[str, int] | None:
    """The sizes at which such a module does the same, if there are any."""
    case = Case(name="timed", sizes=(("R", rows), ("C", 64)), role=Role.TIME)
    code = MODULE.format(rows=rows, body=body)
    found = smaller_sizes(Problem(name="one", code=code, cases=(case,)), case)
    return None if found is None else dict(found)


@pytest.mark.parametrize(
    "body",
    [
        "return torch.relu(x)",
        "return torch.softmax(x, dim=1)",
        "return x.sum(dim=1)",
        "return x @ x[:64].t()",
        "return torch.cumsum(x, dim=1) / x.amax(dim=1, keepdim=True)",
    ],
)
def test_fewer_rows_tell_the_same_of_what_goes_row_by_row(body: str) -> None:
    found = smaller(body)
    assert found is not None
    assert found["C"] == 64
    assert 4 * found["R"] * found["C"] <= ENOUGH_BYTES
    assert found["R"] >= ENOUGH_ELEMENTS


@pytest.mark.parametrize(
    "body",
    [
        "return x.sum()",
        "return x / x.norm()",
        "return torch.cumsum(x, dim=0)",
        "return x.t() @ x",
        """total = x[:4096]
        for part in x.split(1 << 16):
            total = torch.tanh(total + part[:4096])
        return total""",
    ],
)
def test_where_fewer_rows_are_a_shorter_sum_or_fewer_steps_they_tell_nothing(body: str) -> None:
    found = smaller(body)
    assert found is None or found["R"] == ROWS


def test_a_case_that_smaller_sizes_tell_of_has_their_tolerance_and_its_own_spec(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "DEVICE", "cpu")
    rows, few = (
        Case(name=name, sizes=(("R", size), ("C", 64)), role=Role.TIME)
        for name, size in (("timed", ROWS // 8), ("few", ENOUGH_BYTES // 512))
    )
    code = MODULE.format(rows=8, body="return torch.exp(x).sum(dim=1)")
    problems = [Problem(name="one", code=code, cases=(one,)) for one in (rows, few)]
    with socket.socket() as nobody:
        large, small = (
            process.ReferenceServer(nobody).load(to_plain(one), large=[of])[0]
            for one, of in zip(problems, (True, False), strict=True)
        )
    assert all(large["large"])
    assert {tuple(one["outputs"][0]["shape"]) for one in large["specs"]} == {(ROWS // 8,)}
    assert large["tolerances"] == small["tolerances"]
