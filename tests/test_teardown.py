"""When a candidate is closed it is gone, all of it: what still dies competes with the baseline."""

from __future__ import annotations

import os
from pathlib import Path

from envs.abi import CaseSpec, TensorSpec
from envs.build import Built, build_cpp, memfd
from envs.layout import offsets
from envs.referee import SandboxedCandidate

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


def living_below(process_id: int) -> set[int]:
    """All descendants of a process that have not ended."""
    rows = [_status(path) for path in Path("/proc").glob("[0-9]*/stat")]
    parents = {row[0]: row[1] for row in rows if row}
    found = {process_id}
    while grown := {one for one, parent in parents.items() if parent in found} - found:
        found |= grown
    return found - {process_id}


def _status(path: Path) -> tuple[int, int] | None:
    """(process, its parent); None where it has ended."""
    try:
        state, parent = path.read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state in "ZX" else (int(path.parent.name), int(parent))


def test_nothing_of_a_candidate_lives_once_it_is_closed() -> None:
    built = build_cpp(SLOW_TO_DIE, SPEC)
    assert isinstance(built, Built)
    inputs = memfd(bytes(offsets(SPEC.inputs)[1]))
    player = SandboxedCandidate(built.library, 20.0)
    player.ready()
    player.prime(SPEC)
    player.round(inputs, SPEC)
    inside = living_below(player.process.pid)
    assert inside
    player.close()
    os.close(inputs)
    assert not {one for one in inside if _status(Path(f"/proc/{one}/stat"))}
