"""Problems at sizes for which one core is too slow: on a GPU, here one made of a processor, what is
expected of them is computed there."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import numpy as np
import pytest

from kernelwright.envs.codec import to_plain
from kernelwright.envs.device import there
from kernelwright.envs.reference import client, process
from kernelwright.envs.reference.client import ReferenceProcess
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
                        np.testing.assert_allclose(like, values, rtol=1e-12)


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
