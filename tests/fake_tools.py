"""Stand-ins for NVIDIA's tools: programs `compute-sanitizer` and `ncu` that run the command which
they are given, on the driver of device/host_driver.cpp, and write reports in the tools' own form.

Both refuse options that the real ones do not have. Memcheck is real: the driver then keeps each
allocation by itself, and what is touched behind it is reported. What other checkers say is told by
the test. The profiler counts the launches that there are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

COMMANDS = "commands"
"""File beside the programs: a line of JSON, name and arguments, each time that one is started."""
NO_PERMISSION = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
    "Performance Counters on the target device 0. For instructions on enabling permissions and to "
    "get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM\n"
)
RACE = """\
========= Error: Race reported between Write access at fused+0x550
=========     and Read access at fused+0x580 [2048 hazards]
=========
"""
UNSET = """\
========= Uninitialized __global__ memory read of size 4 bytes
=========     at fused+0x70
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec000fc
=========
"""
OUTSIDE = """\
========= Invalid __global__ read of size 4 bytes
=========     at fused+0x70
=========     by thread (3,0,0) in block (0,0,0)
=========     Address 0x7f3c7ec00200 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f3c7ec00000 of size 512 bytes
=========
"""

HEAD = """#!{python} -SE
import json, os, signal, subprocess, sys, time
from pathlib import Path
told = json.loads({told!r})
words = sys.argv[1:]
with open(Path(__file__).with_name({commands!r}), "a") as file:
    file.write(json.dumps([Path(__file__).name, *words]) + "\\n")
if words == ["--help"]:
    print("\\n".join("  --" + name + " arg" for name in told["options"]))
    sys.exit()
given = {{}}
while words and words[0].startswith("--"):
    name = words.pop(0)[2:]
    if name not in told["options"]:
        sys.exit("unrecognised option '--" + name + "'")
    given[name] = words.pop(0) if told["options"][name] else ""

def run(**environment):
    return subprocess.run(words, env={{**os.environ, **environment}}).returncode

def write(text):
    Path(given["log-file"]).write_text(text)

"""
SANITIZER = """tool = given["tool"]
time.sleep(told["delay_s"])
status = run(HOST_DRIVER_FENCED="1") if tool == "memcheck" else run()
found = told["outside"] if status == -signal.SIGSEGV else told["says"].get(tool, "")
if not found.startswith("="):
    write("========= COMPUTE-SANITIZER\\n" + found)
    if found:
        sys.exit(1)
count = sum(line[10:11].strip() != "" for line in found.splitlines())
errors = f"{count} error" + "s" * (count != 1)
last = f"ERROR SUMMARY: {errors}"
if tool == "racecheck":
    last = f"RACECHECK SUMMARY: {count} hazards displayed ({errors}, 0 warnings)"
write(f"========= COMPUTE-SANITIZER\\n{found}========= {last}\\n")
sys.exit(max(status, 0))
"""
PROFILER = """names = given["metrics"].split(",")
counts = Path(given["log-file"] + ".launches")
counts.touch()
status = run(HOST_DRIVER_LAUNCHES=str(counts))
if told["error"]:
    write("==PROF== Connected to process 42\\n" + told["error"])
    sys.exit(1)
first, most = int(given["launch-skip"]), int(given["launch-count"])
launches = len(counts.read_text().splitlines()[first:][:most])
if not launches:
    write("==WARNING== No kernels were profiled.\\n")
    sys.exit(status)
fixed = ["ID", "Process ID", "Kernel Name", "Block Size", "Device"]
known = [told["counters"].get(name, "n/a") for name in names]
rows = [fixed + names, [""] * len(fixed) + ["unit"] * len(names)]
kernel = ["42", 'kernel(float *, "x")', "(32, 1, 1)", "0"]
rows += [[str(one), *kernel, *known] for one in range(launches)]
table = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
write("==PROF== Connected to process 42\\n" + "\\n".join(table) + "\\n")
sys.exit(status)
"""
SANITIZER_OPTIONS = {
    "tool": 1,
    "log-file": 1,
    "report-api-errors": 1,
    "padding": 1,
    "check-exit-code": 1,
    "show-backtrace": 1,
    "launch-timeout": 1,
}
"""Options, and whether they take a value; `initcheck-address-space` only newer versions have."""
PROFILER_OPTIONS = {
    "csv": 0,
    "page": 1,
    "print-units": 1,
    "clock-control": 1,
    "launch-skip": 1,
    "launch-count": 1,
    "metrics": 1,
    "log-file": 1,
}
COUNTERS = {
    "gpu__time_duration.sum": "2,000",
    "dram__bytes_read.sum": "1,000,000",
    "dram__bytes_write.sum": "500000.00",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "41.5",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "62.00",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "1024",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "256",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "128",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "32",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": "300",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "200",
}
"""What each launch is said to have counted; other counters are `n/a`."""


def write_sanitizer(
    folder: Path,
    says: Mapping[str, str] | None = None,
    options: Mapping[str, int] = SANITIZER_OPTIONS,
    delay_s: float = 0.0,
) -> Path:
    """The program, which is to be put first on PATH. `says` is what a checker reports, by its name:
    reports, or a text that is none, of a checker that fails."""
    told = {"options": options, "says": says or {}, "outside": OUTSIDE, "delay_s": delay_s}
    return _write(folder / "compute-sanitizer", told, SANITIZER)


def write_profiler(
    folder: Path, counters: Mapping[str, str] | None = None, error: str = ""
) -> Path:
    """The same of the profiler: with what each launch counted, or with an error for all."""
    told = {"options": PROFILER_OPTIONS, "counters": counters or COUNTERS, "error": error}
    return _write(folder / "ncu", told, PROFILER)


def _write(program: Path, told: Mapping[str, object], body: str) -> Path:
    head = HEAD.format(python=sys.executable, told=json.dumps(told), commands=COMMANDS)
    program.write_text(head + body)
    program.chmod(0o755)
    return program


def commands(folder: Path) -> list[list[str]]:
    """The arguments of each time that one was started, behind the program's name."""
    path = folder / COMMANDS
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
