"""What a process that has the device to itself measures through envs/device/driver.py.

    python -m scripts.on_gpu_stages.driver_probes NAME LIBRARY [--rehearse]

Prints a line of JSON, after `ready` where it is to be killed or looked at first.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from kernelwright.envs.device.driver import Driver, DriverError, PreparedLaunch
from kernelwright.envs.device.flush import FLUSH_FACTOR, FLUSHES

HEAD = ".version 7.8\n.target sm_80\n.address_size 64\n"
EMPTY = f"""{HEAD}
.visible .entry empty() {{
  ret;
}}
"""
FILL = f"""{HEAD}
.visible .entry fill(.param .u64 out) {{
  .reg .b32 %r<5>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.s32 %rd2, %r4, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r4;
  ret;
}}
"""
SPIN = f"""{HEAD}
.visible .entry spin(.param .u64 flag) {{
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [flag];
  cvta.to.global.u64 %rd1, %rd1;
again:
  ld.volatile.global.u32 %r1, [%rd1];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra again;
  ret;
}}
"""
MANY, BYTES, HOT_BYTES = 100, 1 << 30, 20 << 20

Probe = Callable[[Driver, bool], dict[str, object]]


def main() -> None:
    name, library = sys.argv[1:3]
    started = time.perf_counter_ns()
    driver = Driver(library)
    context_ms = (time.perf_counter_ns() - started) / 1e6
    found = PROBES[name](driver, "--rehearse" in sys.argv)
    print(json.dumps(found or {"context_ms": context_ms}), flush=True)


def _ready() -> None:
    """Says so, and waits to be told to go on or to be killed."""
    print("ready", flush=True)
    sys.stdin.readline()


def context(driver: Driver, rehearsal: bool) -> dict[str, object]:
    """How long a context takes, and that it works; it stays until it is told to end."""
    driver.free(driver.allocate(1 << 20))
    _ready()
    return {}


def spin(driver: Driver, rehearsal: bool) -> dict[str, object]:
    """A kernel that never ends."""
    flag = driver.allocate(4)
    driver.fill(flag, b"\0", 4)
    driver.wait()
    launch = _prepared(driver, SPIN, "spin", flag, rehearsal)
    print("ready", flush=True)  # not before: who waits kills it soon, and it has to run by then
    driver.launch(launch)
    driver.wait()
    return {}


def illegal(driver: Driver, rehearsal: bool) -> dict[str, object]:
    """A kernel that writes where nothing is."""
    try:
        driver.launch(_prepared(driver, FILL, "fill", 1 << 44, rehearsal))
        driver.wait()
    except DriverError as error:
        return {"status": error.name}
    return {"status": "no error"}


def times(driver: Driver, rehearsal: bool) -> dict[str, object]:
    """Rows by name: what one step costs at least, and how fast memory is. Medians, then least."""
    many = MANY // 8 if rehearsal else MANY
    size = BYTES // 64 if rehearsal else BYTES
    empty = driver.module(_code(EMPTY, rehearsal))
    one = driver.prepared(driver.function(empty, "empty", 0), (1, 1, 1), (32, 1, 1), 0, 1, [])
    first, second = driver.allocate(size), driver.allocate(size)
    flush_bytes = FLUSH_FACTOR * driver.l2_bytes
    flush_at = driver.allocate(flush_bytes)

    def flush() -> None:
        for _ in range(FLUSHES):
            driver.fill(flush_at, b"\0", flush_bytes)

    def hot() -> None:
        driver.copy(first, second, min(HOT_BYTES, size))

    def nothing() -> None:
        pass

    def all_of_them() -> None:
        for _ in range(many):
            driver.launch(one)

    pairs = sorted(_ns(driver, nothing) for _ in range(many))
    kernels = sorted(_ns(driver, lambda: driver.launch(one)) for _ in range(many))
    behind = sorted(_ns(driver, lambda: driver.launch(one), flush) for _ in range(many // 4))
    few = [_ns(driver, all_of_them) for _ in range(5)]
    hot()
    warm, cold = (median(_ns(driver, hot, before) for _ in range(9)) for before in (hot, flush))
    fills = median(_ns(driver, lambda: driver.fill(first, b"\0", size)) for _ in range(5))
    copies = median(_ns(driver, lambda: driver.copy(first, second, size)) for _ in range(5))
    return {
        "events": {
            "empty_pair_ns": [median(pairs), pairs[0]],
            "empty_kernel_ns": [median(kernels), kernels[0]],
            "empty_kernel_behind_flush_ns": [median(behind), behind[0]],
        },
        "launches": {
            "in_a_row_ns": median(few) / many,
            "host_us": _host_us(driver, lambda: driver.launch(one), many),
        },
        "flush": {
            "l2_mb": driver.l2_bytes / 1e6,
            "flushes_ms": median(_ns(driver, flush) for _ in range(5)) / 1e6,
            "copy_20_mb_warm_us": warm / 1e3,
            "copy_20_mb_flushed_us": cold / 1e3,
        },
        "memory speed": {"fill_gb_s": size / fills, "copy_gb_s": 2 * size / copies},
    }


def _ns(
    driver: Driver, work: Callable[[], object], before: Callable[[], object] | None = None
) -> int:
    """Device time of the work, after something else."""
    driver.wait()
    if before:
        before()
    driver.mark(0)
    work()
    driver.mark(1)
    driver.wait()
    return driver.between_marks_ns()


def _host_us(driver: Driver, work: Callable[[], object], count: int) -> float:
    """What the host needs to ask for it."""
    driver.wait()
    started = time.perf_counter_ns()
    for _ in range(count):
        work()
    taken = (time.perf_counter_ns() - started) / 1e3 / count
    driver.wait()
    return taken


def _prepared(driver: Driver, ptx: str, name: str, address: int, rehearsal: bool) -> PreparedLaunch:
    function = driver.function(driver.module(_code(ptx, rehearsal)), name, 0)
    argument = address.to_bytes(8, "little")
    return driver.prepared(function, (1, 1, 1), (256, 1, 1), 0, 1, [argument])


def _code(ptx: str, rehearsal: bool) -> bytes:
    """What the driver loads: a binary of Triton's assembler, or in a rehearsal a library."""
    from kernelwright.envs.sandbox.toolchain import triton_tools
    from kernelwright.envs.system.hardware import gpus

    if rehearsal:
        from tests.ptx_device import _built

        return _built(ptx)
    tools = triton_tools()
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "code.ptx"), Path(folder, "code.cubin")
        source.write_text(ptx)
        words = [f"{tools}/ptxas", f"-arch=sm_{gpus()[0].architecture}", str(source)]
        subprocess.run([*words, "-o", str(made)], check=True)
        return made.read_bytes()


PROBES: dict[str, Probe] = {
    "context": context,
    "spin": spin,
    "illegal": illegal,
    "times": times,
}

if __name__ == "__main__":
    main()
