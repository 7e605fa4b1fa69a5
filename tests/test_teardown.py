"""When a candidate is closed it is gone, all of it: what still dies competes with the baseline."""

from __future__ import annotations

import os

from envs.abi import CaseSpec, TensorSpec
from envs.build import Built, build_cpp, memfd
from envs.layout import offsets
from envs.referee import SandboxedCandidate
from envs.sandbox import Zygote
from kernelwright.processes import living_below

SPEC = CaseSpec(
    inputs=(TensorSpec(name="x", dtype="float32", shape=(4,)),),
    outputs=(TensorSpec(name="out", dtype="float32", shape=(4,)),),
    scalars=(),
)
SLOW_TO_DIE = """
#include <cstring>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  memset(new char[1 << 30], 1, 1 << 30);
}
"""


def test_nothing_of_a_candidate_lives_once_it_is_closed() -> None:
    zygote = Zygote()
    alone = living_below(zygote.process.pid)
    built = build_cpp(SLOW_TO_DIE, SPEC, zygote)
    assert isinstance(built, Built)
    inputs = memfd(bytes(offsets(SPEC.inputs)[1]))
    player = SandboxedCandidate(built.library, 20.0, zygote)
    player.ready()
    player.prime(SPEC)
    player.round(inputs, SPEC)
    assert living_below(zygote.process.pid) > alone
    player.close()
    assert living_below(zygote.process.pid) == alone
    os.close(inputs)
    zygote.close()
    assert not living_below(zygote.process.pid)
