"""Stage `checkers`: whether compute-sanitizer and ncu work on a launch as the judge makes it."""

from __future__ import annotations

import re
import shutil
import time

from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.driver import finished, start
from scripts.on_gpu_stages.stand_in import gpu_of

FOUND = re.compile(r"ERROR SUMMARY: (\d+) error")
METRICS = (
    "gpu__time_duration.sum,dram__bytes_write.sum,sm__warps_active.avg.pct_of_peak_sustained_active"
)


def run(context: StageContext) -> None:
    """A right launch and one out of bounds under the sanitizer; a right one under the profiler."""
    library = gpu_of(context).library
    said = context.out / "checkers.txt"
    memcheck = ("compute-sanitizer", "--tool", "memcheck", "--log-file", f"{said}.%p")
    ncu = ("ncu", "--clock-control", "none", "--metrics", METRICS, "--log-file", f"{said}.ncu")
    failed = []
    cases: tuple[tuple[str, str, tuple[str, ...]], ...] = (
        ("without", "fill", ()),
        ("memcheck, right", "fill", memcheck),
        ("memcheck, out of bounds", "illegal", memcheck),
        ("ncu", "fill", ncu),
    )
    for name, probe, tool in cases:
        if tool and context.rehearsal:
            tool = ("env",)
        if tool and shutil.which(tool[0]) is None:
            context.row(name, error=f"no {tool[0]} on PATH")
            continue
        started = time.monotonic()
        try:
            found = finished(start(context, probe, library, tool))
        except RuntimeError as error:
            found = {"error": str(error)}
            failed += [name] if name == "without" else []
        found.pop("context_ms", None)
        logs = sorted(context.out.glob(f"{said.name}.*"))
        text = "\n".join(one.read_text(errors="replace") for one in logs)
        with said.open("a") as file:
            file.write(f"=== {name}\n{text}\n")
        for one in logs:
            one.unlink()
        context.row(name, **found, **_read(text), seconds=round(time.monotonic() - started, 2))
    if failed:
        raise RuntimeError("the launch fails without any tool")


def _read(text: str) -> dict[str, object]:
    """What the tools found: errors, or the figures asked for."""
    errors = [int(one) for one in FOUND.findall(text)]
    lines = [line.split() for line in text.splitlines()]
    figures = {words[0]: " ".join(words[1:]) for words in lines if words and "__" in words[0]}
    trouble = [line.strip() for line in text.splitlines() if "==ERROR==" in line]
    return {
        **({"errors": errors[-1]} if errors else {}),
        **figures,
        **({"trouble": trouble[0][:120]} if trouble else {}),
    }
