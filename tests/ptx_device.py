"""A device made of a processor: the driver of tests/device/host_driver.cpp, whose modules are PTX,
translated as the judge does it where there is no device (envs/ptx)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from kernelwright.envs.plan.plan import Kernel
from kernelwright.envs.plan.tables import mangled
from kernelwright.envs.ptx import parse
from kernelwright.envs.ptx.emit import emit
from kernelwright.envs.ptx.functions import inline_calls
from kernelwright.envs.ptx.lower import lower
from kernelwright.envs.ptx.program import _globals, _variables
from kernelwright.envs.system.hardware import Gpu
from tests.ptx_tools import library

DRIVER = Path(__file__).parent / "device" / "host_driver.cpp"
ANYWHERE = '{{0x1000, 1ull << 47, "memory", true}}'
"""What a kernel may reach: as on a device, all of the process's memory there."""
FUNCTION = """
extern "C" __attribute__((visibility("default"))) int {name}(const u32* shape, void** given) {{
  static const u32 offsets[] = {{{offsets}}}, sizes[] = {{{sizes}}};
  static Region regions[] = {regions};
  memset(parameters, 0, sizeof parameters);
  for (u32 i = 0; i < {count}; ++i) memcpy(parameters + offsets[i], given[i], sizes[i]);
  Launch launch = {{}};
  launch.kernel = &m::kernel{mangled};
  memcpy(launch.grid, shape, sizeof launch.grid);
  memcpy(launch.block, shape + 3, sizeof launch.block);
  launch.shared_bytes = shape[6];
  launch.parameters = parameters, launch.parameter_bytes = {parameter_bytes};
  launch.regions = regions, launch.region_count = 1;
  launch.found = static_cast<Site*>(room(launch.kernel->site_count * sizeof(Site)));
  for (u32 i = 0; i < launch.kernel->site_count; ++i) launch.found[i] = Site();
  launch.width = (shape[3] * shape[4] * shape[5] + 31) / 32;
  launch.unit_shift = __builtin_ctz(launch.kernel->global_unit);
  order_begins(launch), unchecked(launch);  // a device does not tell who races
  run_launch(launch);
  free(launch.found);
  return 0;
}}
"""
VARIABLE = """
extern "C" __attribute__((visibility("default"))) u8* const variable_{name} = m::g_{mangled};
extern "C" __attribute__((visibility("default"))) const u64 bytes_{name} = sizeof m::g_{mangled};
"""


def device(folder: Path, architecture: int = 80) -> Gpu:
    """One of this architecture, whose driver is built into the folder."""
    driver = library(DRIVER.read_text(encoding="utf-8"), folder)
    return replace(without_driver(), architecture=architecture, library=str(driver))


def without_driver() -> Gpu:
    """One on which nothing is replayed: for a reference process (device_reference.py)."""
    own = f"none-{os.getpid()}"  # tests that run at once do not wait for one lock
    return Gpu(uuid=own, name="ordinary memory", driver="1", architecture=80, memory_bytes=None)


def assembled(kernel: Kernel, *_: Any) -> bytes:
    """What stands in for a binary: a shared library of all kernels that the PTX has."""
    return _built(kernel.ptx)


@cache
def _built(ptx: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return translated(ptx, Path(folder)).read_bytes()


def translated(ptx: str, folder: Path, *flags: str) -> Path:
    """The library, built there."""
    return library("\n".join(_program(ptx)), folder, *flags)


def _program(ptx: str) -> Iterable[str]:
    module = parse.parse(ptx)
    inline_calls(module, {one.name for one in module.kernels})
    yield from ('#include "launch.h"', "namespace m {", *_variables(module))
    yield from (emit(lower(module, one)) for one in module.kernels)
    yield from ("}", *_globals({"": module}, {"": "m"}))
    for one in module.kernels:
        yield FUNCTION.format(
            name=one.name,
            mangled=mangled(one.name),
            regions=ANYWHERE,
            count=len(one.parameters),
            offsets=", ".join(str(it.offset) for it in one.parameters) or "0",
            sizes=", ".join(str(it.size_bytes) for it in one.parameters) or "0",
            parameter_bytes=one.parameter_bytes,
        )
    for it in module.variables:
        if it.space in ("global", "const") and it.size_bytes:
            yield VARIABLE.format(name=it.name, mangled=mangled(it.name))
