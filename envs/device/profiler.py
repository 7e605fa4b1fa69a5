"""NVIDIA's Nsight Compute: which counters it is asked for, and what they say of an answer.

Facts for whoever writes kernels: in no verdict, no timing and no reward. Names and meanings are
those of the counters of translated device code where both have them (envs/plan/counters.py).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernelwright.envs.plan.counters import Facts
from kernelwright.envs.referee.profile import PREFIX

MOST_LAUNCHES = 100
"""Launches that are counted: each is run several times, with its memory put back in between."""
TIME = "gpu__time_duration.sum"
DRAM = ("dram__bytes_read.sum", "dram__bytes_write.sum")
SHARES = {
    "dram_share": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "compute_share": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "achieved_occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
"""Fact → what it is a mean of, weighted by how long each launch takes; in percent."""
_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
SECTORS, REQUESTS = (
    tuple(_GLOBAL.format(what, how) for how in ("ld", "st")) for what in ("sectors", "requests")
)
WAVEFRONTS = ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",)
CONFLICTS = ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",)
METRICS = (TIME, *DRAM, *SHARES.values(), *SECTORS, *REQUESTS, *WAVEFRONTS, *CONFLICTS)
OPTIONS = ("--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none")
"""Clocks are left as they are: changing them needs rights, and others may use the GPU."""
NO_PERMISSION = "ERR_NVGPUCTRPERM"
ADVICE = (
    "the driver lets only root read counters: start this as root, or load the driver's module with "
    "NVreg_RestrictProfilingToAdminUsers=0"
)
ERROR = "==ERROR=="

Launch = Mapping[str, float]
"""Metric → value, of one launch."""


def command(program: str, log: Path, skipped: int) -> list[str]:
    """What stands before the command that is counted; so many launches are not."""
    words = [*OPTIONS, "--launch-skip", str(skipped), "--launch-count", str(MOST_LAUNCHES)]
    return [program, *words, "--metrics", ",".join(METRICS), "--log-file", str(log)]


def launches(log: str) -> list[Launch]:
    """The launches in a log, in order; none where nothing was counted."""
    lines = [line for line in log.splitlines() if line.startswith('"')]
    return [
        {name: value for name in METRICS if (value := _number(row.get(name))) is not None}
        for row in csv.DictReader(lines)
        if row.get("ID")  # a row below the names has the units
    ]


def _number(text: str | None) -> float | None:
    try:
        return float((text or "").replace(",", ""))
    except ValueError:  # n/a
        return None


def counters(found: Sequence[Launch]) -> Facts:
    """The facts of all launches of a call together; those that no launch has are left out.

    `time_ns` by a cold cache, without the gaps between launches; `dram_bytes` what was read of the
    device's memory and written to it; `dram_share`, `compute_share` and `achieved_occupancy` shares
    of the most that there could be; `sectors_per_request` and `bank_conflicts` as on a CPU.
    """
    time_ns = _sum(found, (TIME,))
    facts: dict[str, float | None] = {
        "launches": float(len(found)),
        "time_ns": time_ns,
        "dram_bytes": _sum(found, DRAM),
        **{name: _mean(found, metric) for name, metric in SHARES.items()},
        "sectors_per_request": _ratio(_sum(found, SECTORS), _sum(found, REQUESTS)),
    }
    passes, wasted = _sum(found, WAVEFRONTS), _sum(found, CONFLICTS)
    if passes and wasted is not None:
        facts["bank_conflicts"] = _ratio(passes, passes - wasted)
    return tuple((PREFIX + name, value) for name, value in facts.items() if value is not None)


def _sum(found: Sequence[Launch], metrics: Sequence[str]) -> float | None:
    values = [one[name] for one in found for name in metrics if name in one]
    return sum(values) if values else None


def _mean(found: Sequence[Launch], metric: str) -> float | None:
    known = [(one[metric] / 100, one.get(TIME, 1.0)) for one in found if metric in one]
    return _ratio(sum(share * weight for share, weight in known), sum(one for _, one in known))


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def refusal(log: str, otherwise: str) -> str:
    """Why nothing was counted, in a line; `otherwise` where the log has no error."""
    if NO_PERMISSION in log:
        return f"{NO_PERMISSION}: {ADVICE}"
    said = [line.partition(ERROR)[2].strip() for line in log.splitlines() if ERROR in line]
    return said[0] if said else f"it counted no launch: {otherwise}".rstrip(": ")
