"""How a process that replays can end, and what that says about the answer."""

from __future__ import annotations

from envs.types import Verdict

NO_MEMORY = 67
ILLEGAL_ADDRESS, LAUNCH_FAILED, INPUTS_CHANGED, OUT_OF_BOUNDS = 75, 76, 77, 78
DEVICE_LOST = 80
"""The device or its driver is at fault, and nobody's answer."""

EXITS = {
    NO_MEMORY: (Verdict.CRASHED, "out_of_memory"),
    ILLEGAL_ADDRESS: (Verdict.CRASHED, "illegal_address"),
    LAUNCH_FAILED: (Verdict.CRASHED, "launch_failed"),
    INPUTS_CHANGED: (Verdict.WRONG, "inputs_changed"),
    OUT_OF_BOUNDS: (Verdict.WRONG, "out_of_bounds"),
}
