"""When a candidate is closed it is gone, all of it: what still dies competes with the baseline."""

from __future__ import annotations

import os
import select
import tempfile

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.candidate.process import SandboxedCandidate
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.dialects.base import Built
from kernelwright.envs.referee.layout import input_places
from kernelwright.envs.sandbox.limits import BUILD_LIMITS
from kernelwright.envs.sandbox.rootfs import native
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes
from kernelwright.envs.sandbox.zygote import Zygote
from kernelwright.envs.system.memfd import memfd
from kernelwright.envs.system.processes import living_below
from kernelwright.envs.types import Candidate

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
    sandboxes = Sandboxes()
    zygote = sandboxes.of(Runtime.ALONE)
    alone = living_below(zygote.process.pid)
    candidate = Candidate(problem_key="", dialect="cpp", source=SLOW_TO_DIE)
    built = DIALECTS["cpp"].build(candidate, [SPEC], sandboxes)
    assert isinstance(built, Built)
    inputs = memfd(bytes(input_places(SPEC)[1]))
    player = SandboxedCandidate(built, sandboxes, 20.0)
    player.ready()
    player.prime(SPEC)
    player.round(inputs, SPEC)
    assert living_below(zygote.process.pid) > alone
    player.close()
    assert living_below(zygote.process.pid) == alone
    os.close(inputs)
    sandboxes.close()
    assert not living_below(zygote.process.pid)


def test_ending_a_job_that_has_ended_by_itself_is_no_error() -> None:
    zygote = Zygote(native())
    with tempfile.TemporaryFile() as log:
        job = zygote.start(
            "exec", BUILD_LIMITS, log=log.fileno(), channel=log.fileno(), command=["/bin/false"]
        )
        assert select.select([zygote.control], [], [], 20)[0], "the job has ended and was reaped"
        assert job.kill() == 1
    zygote.close()
