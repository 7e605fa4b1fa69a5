"""Exit codes of processes that run answers, and the verdict of each.

A candidate's process ends with a code of `EXITS`, nothing to its advantage: an answer that ends it
so only convicts itself. The trusted process that replays launches on a GPU ends with one of
`REPLAY_EXITS`, or with `DEVICE_LOST` or `DEVICE_FULL`. No code means two things.
"""

from __future__ import annotations

from kernelwright.envs.types import UNSUPPORTED, Verdict

NOT_LOADABLE, OUT_OF_MEMORY = 65, 67
"""Stated again in native/harden.h; those from 70 to 76 in guest/leave.py, 77 in plan/call.h,
78 in plan/plan.h."""
RESULT_REUSED = 78

EXITS = {
    NOT_LOADABLE: (Verdict.CRASHED, "not_loadable"),
    OUT_OF_MEMORY: (Verdict.CRASHED, "out_of_memory"),
    70: (Verdict.WRONG, "other_parameters"),
    71: (Verdict.WRONG, "not_a_tensor"),
    72: (Verdict.WRONG, "other_shape"),
    73: (Verdict.WRONG, "other_dtype"),
    74: (Verdict.CHEATED, "torch_compute"),
    75: (Verdict.BUILD_FAILED, "forward_raised"),
    76: (Verdict.BUILD_FAILED, "compile_error"),
    77: (Verdict.BUILD_FAILED, f"{UNSUPPORTED}results_that_differ_by_call"),
    RESULT_REUSED: (Verdict.WRONG, "result_reused"),
}

EMULATED_EXITS = {
    90: (Verdict.CRASHED, "illegal_address"),
    91: (Verdict.CRASHED, "misaligned_address"),
    92: (Verdict.CRASHED, "shared_out_of_bounds"),
    93: (Verdict.CRASHED, "local_out_of_bounds"),
    94: (Verdict.WRONG, "race"),
    95: (Verdict.WRONG, "barrier_divergence"),
    96: (Verdict.CRASHED, "trap"),
    97: (Verdict.TIMED_OUT, "instruction_limit"),
    98: (Verdict.WRONG, "inputs_changed"),
    99: (Verdict.WRONG, "missing_wait"),
    100: (Verdict.CRASHED, "launch_failed"),
}
"""More, of processes that run translated device code, which is ours to its last line
(native/ptx/warp.h); of others they are numbers like any."""

SEEN_ON_A_CPU = frozenset(
    {"out_of_bounds", "uninitialised_shared"}
    | {reason for _, reason in EMULATED_EXITS.values()} - {"instruction_limit", "launch_failed"}
)
"""What translated device code is caught at, and a GPU may let pass. A launch that a CPU refuses, or
has no time for, may be one that a GPU takes."""

DEVICE_LOST = 80
"""The device or its driver is at fault, and nobody's answer."""
ILLEGAL_ADDRESS, LAUNCH_FAILED, INPUTS_CHANGED, OUT_OF_BOUNDS = 81, 82, 83, 84
DEVICE_FULL = 85
"""Others hold the device's memory: what was asked for would fit without them."""
DEVICE_TOO_SMALL = 86
NO_PLAN = 87
"""What is to run makes no sense to the process that replays: beside an answer anything is written
down."""

REPLAY_EXITS = {
    RESULT_REUSED: (Verdict.WRONG, "result_reused"),
    OUT_OF_MEMORY: (Verdict.CRASHED, "out_of_memory"),
    ILLEGAL_ADDRESS: (Verdict.CRASHED, "illegal_address"),
    LAUNCH_FAILED: (Verdict.CRASHED, "launch_failed"),
    INPUTS_CHANGED: (Verdict.WRONG, "inputs_changed"),
    OUT_OF_BOUNDS: (Verdict.WRONG, "out_of_bounds"),
    DEVICE_TOO_SMALL: (Verdict.UNJUDGED, "device_too_small"),
    NO_PLAN: (Verdict.BUILD_FAILED, f"{UNSUPPORTED}plan"),
}
