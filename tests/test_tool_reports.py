"""What is read of reports by NVIDIA's tools, in the forms that their versions give them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelwright.envs.device.profiler import METRICS, counters, launches, refusal
from kernelwright.envs.device.sanitizer import SHOWN, findings, sanitized
from kernelwright.envs.referee.feedback import feedback
from kernelwright.envs.referee.profile import profiled
from tests.nouns import correct, timing

HEAD = "========= COMPUTE-SANITIZER\n"
REPORTS = {
    "misaligned": (
        "memcheck",
        """\
========= Invalid __global__ write of size 4 bytes
=========     at unaligned(char *, int)+0x380 in memory_errors.cu:61
=========     by thread (65,0,0) in block (0,0,0)
=========     Access to 0x7bd889c03041 is misaligned
=========     and is inside the nearest allocation at 0x7bd889c03000 of size 1,024 bytes
========= ERROR SUMMARY: 1 error
""",
        {"memcheck": 1, "misaligned_address": 1},
    ),
    "memory_of_each_kind": (
        "memcheck",
        """\
========= Invalid __shared__ read of size 4 bytes
=========     at f(float *)+0x70
=========
========= Invalid __local__ write of size 8 bytes
=========     at f(float *)+0x90
=========
========= Invalid __global__ atomic of size 4 bytes
=========     at f(float *)+0xb0
=========     Address 0x7f is out of bounds
========= ERROR SUMMARY: 3 errors
""",
        {
            "memcheck": 3,
            "shared_out_of_bounds": 1,
            "local_out_of_bounds": 1,
            "illegal_address": 1,
        },
    ),
    "more_than_are_printed": (
        "memcheck",
        HEAD
        + "========= Invalid __global__ read of size 4 bytes\n=========     at f+0x70\n" * 2
        + "========= ERROR SUMMARY: 769 errors\n"
        "========= ERROR SUMMARY: 767 errors were not printed. Use --print-limit option\n",
        {"memcheck": 769, "illegal_address": 2},
    ),
    "races": (
        "racecheck",
        """\
========= Warning: Race reported between Write access at g(float *)+0x550
=========     and Read access at g(float *)+0x580 [65536 hazards]
=========
========= Error: Race reported between Write access at
=========     f(float *)+0xb0 in a.cu:28
=========     and Read access at
=========     f(float *)+0xc0 in a.cu:30
=========     [1024 hazards]
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
""",
        {"racecheck": 1, "race_warning": 1, "race": 1},
    ),
    "hazards_by_the_older_name": (
        "racecheck",
        """\
========= Error: Potential WAR hazard detected at __shared__ 0x8 in block (0, 0, 0) :
=========     Read Thread (3, 0, 0) at f(float *)+0x40
=========     Write Thread (2, 0, 0) at f(float *)+0x60
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
""",
        {"racecheck": 1, "race": 1},
    ),
    "unset_in_every_place": (
        "initcheck",
        """\
========= Uninitialized __global__ memory read of size 4 bytes
========= at f(int *)+0x70 in a.cu:41
========= by thread (31,0,0) in block (1,0,0)
========= Address 0x7f3c7ec000fc
=========
========= Uninitialized __shared__ memory read of size 4 bytes
=========     at f(int *)+0x1a0
=========
========= Host API memory access error at host access to 0x1303fd4600 of size 8 bytes
=========     Uninitialized access at 0x1303fd4600 on access by cudaMemcpy source.
=========
========= ERROR SUMMARY: 3 errors
""",
        {"initcheck": 3, "uninitialised": 2, "uninitialised_shared": 1},
    ),
    "barriers": (
        "synccheck",
        """\
========= Barrier error detected. Divergent thread(s) in block.
=========     at f(int *)+0x15520
=========     by thread (128,0,0) in block (0,0,0)
=========
========= Barrier error detected. Invalid arguments.
=========     at f(int *)+0x90
=========
========= ERROR SUMMARY: 2 errors
""",
        {"synccheck": 2, "barrier_divergence": 1, "barrier_misused": 1},
    ),
    "clean": (
        "racecheck",
        f"{HEAD}========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n",
        {"racecheck": 0},
    ),
    "words_of_another_version": (
        "memcheck",
        f"{HEAD}========= Something else went wrong\n========= ERROR SUMMARY: 2 errors\n",
        {"memcheck": 2, "other": 2},
    ),
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_read_by_kind_and_by_its_sum(name: str) -> None:
    checker, text, wanted = REPORTS[name]
    found = findings(checker, text)
    assert found
    facts, lines = found
    assert dict(facts) == {f"sanitizer.{kind}": count for kind, count in wanted.items()}
    assert bool(lines) == any(wanted.values())
    assert len(lines) <= 1 + SHOWN


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"{HEAD}========= Error: Device not supported. See the documentation.\n",
        f"{HEAD}========= Error: No attachable process found. compute-sanitizer timed-out.\n",
        f"{HEAD}========= Invalid __global__ read of size 4 bytes\n",  # it was killed
    ],
)
def test_a_report_without_its_sum_says_nothing(text: str) -> None:
    assert findings("memcheck", text) is None


def test_a_finding_is_told_with_its_place_and_a_sum_in_a_line() -> None:
    checker, text, _ = REPORTS["misaligned"]
    found = findings(checker, text)
    assert found
    total, first = found[1]
    assert total == "compute-sanitizer memcheck: 1 error"
    assert "unaligned(char *, int)+0x380 in memory_errors.cu:61 by thread (65,0,0)" in first
    rest = [("sanitizer.racecheck", 0.0), ("static", 3.0)]
    assert sanitized([*found[0], *rest]) == (
        "compute-sanitizer, errors: memcheck 1, racecheck 0 (misaligned_address)"
    )
    assert sanitized([("static", 3.0)]) == ""


def raw(*rows: dict[str, str]) -> str:
    """A log with so many launches, of which these counters are known."""
    fixed = '"ID","Kernel Name","Block Size"'
    lines = ["==PROF== Connected to process 42", ",".join([fixed, *(f'"{it}"' for it in METRICS)])]
    lines += [",".join(['"","",""', *['"unit"'] * len(METRICS)])]
    for number, known in enumerate(rows):
        cells = [f'"{known.get(name, "n/a")}"' for name in METRICS]
        named = [f'"{number}"', '"void f<(int)8>(float *, ""a"")"', '"(1, 1, 1)"']
        lines.append(",".join([*named, *cells]))
    return "\n".join([*lines, "==PROF== Disconnected from process 42", ""])


DRAM = "dram__throughput.avg.pct_of_peak_sustained_elapsed"


def test_counters_of_launches_are_added_and_shares_weighted_by_time() -> None:
    short = {"gpu__time_duration.sum": "1,000", "dram__bytes_read.sum": "4096", DRAM: "10"}
    long = {"gpu__time_duration.sum": "3,000.0", "dram__bytes_read.sum": "1,024", DRAM: "50"}
    found = dict(counters(launches(raw(short, long))))
    assert found == {
        "ncu.launches": 2,
        "ncu.time_ns": 4000,
        "ncu.dram_bytes": 5120,
        "ncu.dram_share": pytest.approx(0.4),
    }


def test_a_kernel_without_shared_memory_has_no_conflicts() -> None:
    none = dict.fromkeys(METRICS, "0")
    assert dict(counters(launches(raw(none)))) == {
        "ncu.launches": 1,
        "ncu.time_ns": 0,
        "ncu.dram_bytes": 0,
    }


def test_a_log_without_launches_has_no_counters_and_its_error_is_told() -> None:
    for text in ("", "==WARNING== No kernels were profiled.\n", raw()):
        assert launches(text) == []
        assert refusal(text, "it ended") == "it counted no launch: it ended"
        assert refusal(text, "") == "it counted no launch"
    said = "==PROF== x\n==ERROR== Failed to prepare kernel for profiling\n==ERROR== two\n"
    assert refusal(said, "") == "Failed to prepare kernel for profiling"


def test_a_model_is_told_what_was_counted_in_a_right_kernel_and_only_there() -> None:
    facts = (("ncu.time_ns", 2020.0), ("ncu.dram_share", 0.41), ("registers", 40.0))
    plain = correct(timing())
    told = feedback(replace(plain, facts=facts))
    assert told == f"{feedback(plain)}\n{profiled(facts)}"
    assert profiled(facts) == "counted on the GPU: 2.0 us, DRAM at 41% of its peak"
    assert profiled([("registers", 40.0)]) == ""
