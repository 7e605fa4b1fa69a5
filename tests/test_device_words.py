"""What a GPU and its libraries say where something is wrong, and what the judge makes of it."""

from __future__ import annotations

from contextlib import closing

import pytest

from kernelwright.envs.device.client import GpuCandidate
from kernelwright.envs.device.memory import says_full
from kernelwright.envs.device.messages import Messages
from kernelwright.envs.plan.plan import GpuReplay
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.system.hardware import DeviceLostError, Gpu


def test_a_driver_that_lacks_a_function_is_named_with_the_function() -> None:
    library = "libm.so.6"  # a library, and no driver
    gpu = Gpu(
        uuid="GPU-0", name="card", driver="1", architecture=90, memory_bytes=None, library=library
    )
    replay = GpuReplay(trace=lambda *_: pytest.fail("nothing is asked of it"), assembler="")
    with (
        closing(Sandboxes()) as sandboxes,
        closing(GpuCandidate(Messages(replay, gpu, sandboxes), 5.0)) as player,
        pytest.raises(DeviceLostError, match=r"^card: status 1 AttributeError: .*cuInit"),
    ):
        player.ready()


@pytest.mark.parametrize(
    "words",
    [
        "CUDA out of memory. Tried to allocate 2.00 GiB.",
        "CUDA error: out of memory\nCompile with `TORCH_USE_CUDA_DSA`",
        "CUDA driver error: out of memory",
        "Triton Error [CUDA]: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    ],
)
def test_a_full_gpu_is_known_by_what_pytorch_and_triton_say(words: str) -> None:
    assert says_full(RuntimeError(words))
    assert not says_full(RuntimeError("CUDA error: an illegal memory access was encountered"))
