"""What a kernel does wrong is called by its name, with where; what only looks odd is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.envs.ptx.parse import NotEmulatedError, parse
from kernelwright.envs.ptx.program import program
from kernelwright.envs.referee.exit_codes import EMULATED_EXITS
from tests.ptx_tools import HEAD, launch, library, plan_of, run_main, spec_of

pytestmark = pytest.mark.sandbox

START = """
.visible .entry {name}(.param .u64 x, .param .u64 o)
{{
.reg .pred %p<9>; .reg .b32 %r<19>; .reg .b64 %d<19>; .reg .f32 %f<9>; .reg .b16 %h<9>;
.shared .align 16 .b8 s[1024];
.local .align 8 .b8 own[64];
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [o];
mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, 4; mul.wide.u32 %d3, %r1, 8;
mov.u32 %r3, s; add.u32 %r3, %r3, %r2; shr.u32 %r4, %r1, 5;
setp.eq.u32 %p1, %r4, 0; setp.eq.u32 %p2, %r1, 0;
add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
{body}
ret;
}}
"""
WRITE = "st.shared.u32 [%r3], %r1;"
READ = "ld.shared.u32 %r9, [%r3]; cvt.u64.u32 %d9, %r9; st.global.u64 [%d5], %d9;"
COPY = "cp.async.ca.shared.global [%r3], [%d4], 4;"

MUL = "mul.lo.u32 %r10, %r10, {}; add.u32 %r11, %r11, %r10;"
PATTERNS = {
    "side_by_side": (MUL.format(4), "u32", "%r1"),
    "in_every_second_word": (MUL.format(8), "u32", "%r1"),
    "in_a_column": (MUL.format(32), "u32", "%r1"),
    "backwards": ("sub.u32 %r10, 31, %r10; " + MUL.format(4), "u32", "%r1"),
    "in_two_places": ("shr.u32 %r10, %r10, 4; " + MUL.format(64), "u32", "%r1"),
    "in_one_place": ("", "u32", "%r1"),
    "four_words_each": (MUL.format(16), "v4.u32", "{%r1, %r2, %r1, %r2}"),
    "a_byte_each": (MUL.format(1), "u8", "%h1"),
    "two_bytes_of_four": (MUL.format(4), "u16", "%h1"),
}
"""Name → (where lane %r10 of a warp reads or writes in %r11, of what type, which registers)."""


def from_warp_to_warp(pattern: str, lanes: int, between: str) -> str:
    """What the first warp writes, the second reads; only the first lanes of both."""
    where, kind, value = PATTERNS[pattern]
    return (
        f"mov.u16 %h1, 5; and.b32 %r10, %r1, 31; setp.ge.u32 %p4, %r10, {lanes}; mov.u32 %r11, s; "
        f"{where} @!%p1 bra R; @%p4 bra R; st.shared.{kind} [%r11], {value}; R: {between} "
        f"@%p1 bra E; @%p4 bra E; ld.shared.{kind} {value}, [%r11]; E:"
    )


WARPS = {f"{name}_{lanes}": (name, lanes) for name in PATTERNS for lanes in (32, 13, 1)}
FAULTS = {
    "reads_past_the_end": ("illegal_address", "ld.global.u64 %d9, [%d4+8000];"),
    "reads_before_the_start": ("illegal_address", "ld.global.u64 %d9, [%d4+-8];"),
    "reads_at_null": ("illegal_address", "mov.u64 %d9, 0; ld.global.u64 %d9, [%d9];"),
    "writes_past_the_end": ("illegal_address", "st.global.u64 [%d5+81920], %d1;"),
    "one_lane_reads_far": (
        "illegal_address",
        "@%p2 add.s64 %d4, %d4, 1000000; ld.global.u32 %r9, [%d4];",
    ),
    "generic_and_far": ("illegal_address", "add.s64 %d9, %d4, 90000; ld.u32 %r9, [%d9];"),
    "atomic_past_the_end": ("illegal_address", "atom.global.add.u32 %r9, [%d5+80000], 1;"),
    "copies_from_past_the_end": (
        "illegal_address",
        "cp.async.ca.shared.global [%r3], [%d4+90000], 4; cp.async.wait_all;",
    ),
    "reads_misaligned": ("misaligned_address", "ld.global.u64 %d9, [%d4+4];"),
    "vector_misaligned": ("misaligned_address", "ld.global.v2.u64 {%d8, %d9}, [%d4];"),
    "shared_misaligned": ("misaligned_address", "st.shared.u64 [%r3], %d1;"),
    "writes_its_input": ("inputs_changed", "st.global.u64 [%d4], %d1;"),
    "shared_past_the_end": ("shared_out_of_bounds", "st.shared.u32 [%r3+1024], %r1;"),
    "copies_past_shared": (
        "shared_out_of_bounds",
        "cp.async.ca.shared.global [%r3+2048], [%d4], 4; cp.async.wait_all;",
    ),
    "local_past_the_end": (
        "local_out_of_bounds",
        "mov.u64 %d9, own; add.s64 %d9, %d9, %d3; add.s64 %d9, %d9, 64; st.local.u32 [%d9], %r1;",
    ),
    "reads_what_another_warp_writes": (
        "race",
        f"{WRITE} xor.b32 %r3, %r3, 128; ld.shared.u32 %r9, [%r3];",
    ),
    "two_warps_write_one_place": ("race", "st.shared.u32 [s], %r1;"),
    "no_second_barrier": (
        "race",
        f"{WRITE} bar.sync 0; xor.b32 %r5, %r3, 128; ld.shared.u32 %r9, [%r5]; "
        "add.u32 %r9, %r9, 7; st.shared.u32 [%r3], %r9;",
    ),
    "adds_without_an_atomic": (
        "race",
        "ld.shared.u32 %r9, [s]; add.u32 %r9, %r9, 1; st.shared.u32 [s], %r9;",
    ),
    "warps_at_barriers_of_two_kinds": (
        "barrier_divergence",
        "@%p1 bra A; bar.sync 0; bra B; A: bar.red.popc.u32 %r9, 0, %p1; B:",
    ),
    "lanes_at_two_barriers": (
        "barrier_divergence",
        "@%p2 bra A; bar.sync 0; bra B; A: bar.sync 0; B:",
    ),
    "fails_an_assertion": (
        "trap",
        "{ .param .b64 p; st.param.b64 [p+0], %d1; @%p2 call.uni __assertfail, (p); }",
    ),
    "traps": ("trap", "@%p2 trap;"),
    "never_ends": ("instruction_limit", "A: add.u32 %r9, %r9, 1; bra A;"),
    "waits_for_nobody": (
        "instruction_limit",
        "A: ld.volatile.global.u32 %r9, [%d1]; setp.ne.u32 %p3, %r9, 77; @%p3 bra A;",
    ),
    "reads_before_a_copy_came": ("missing_wait", f"{COPY} cp.async.commit_group; {READ}"),
    "waits_for_too_few": (
        "missing_wait",
        f"{COPY} cp.async.commit_group; cp.async.wait_group 1; {READ}",
    ),
    "reads_before_a_neighbours_copy_came": (
        "missing_wait",
        f"{COPY} cp.async.commit_group; xor.b32 %r3, %r3, 124; {READ}",
    ),
    "adds_to_what_nobody_waited_for": (
        "race",
        "@%p2 st.shared.u32 [s], 0; atom.shared.add.u32 %r9, [s], 1;",
    ),
    "a_ticket_without_a_fence": (
        "race",
        "@%p2 st.shared.u32 [s+512], 0; bar.sync 0; "
        f"{WRITE} atom.shared.add.u32 %r9, [s+512], 1; setp.lt.u32 %p3, %r9, 63; @%p3 bra E; "
        "ld.shared.u32 %r8, [s]; ld.shared.u32 %r8, [s+128]; E:",
    ),
    "reads_what_others_add_to": (
        "race",
        "@%p2 st.shared.u32 [s], 0; bar.sync 0; atom.shared.add.u32 %r9, [s], 1; "
        "ld.shared.u32 %r8, [s];",
    ),
} | {f"races_{name}": ("race", from_warp_to_warp(*pattern, "")) for name, pattern in WARPS.items()}
"""Name → (what it has to be called, what the kernel does)."""

FINE = {
    "a_row": f"{WRITE} bar.sync 0; {READ}",
    "another_warps_after_a_barrier": f"{WRITE} bar.sync 0; xor.b32 %r3, %r3, 128; {READ}",
    "a_copy_that_is_waited_for": f"{COPY} cp.async.commit_group; cp.async.wait_group 0; "
    f"bar.sync 0; {READ}",
    "one_value_by_all": "mov.u32 %r9, 5; st.shared.u32 [s], %r9; bar.sync 0; "
    "ld.shared.u32 %r8, [s];",
    "atomics": "@%p2 st.shared.u32 [s], 0; bar.sync 0; atom.shared.add.u32 %r9, [s], 1; "
    "bar.sync 0; ld.shared.u32 %r8, [s];",
    "a_warp_reads_what_it_added_to": f"{WRITE} atom.shared.add.u32 %r9, [%r3], 1; "
    "bar.warp.sync 0xffffffff; xor.b32 %r3, %r3, 4; ld.shared.u32 %r8, [%r3];",
    "warps_at_one_barrier_in_two_places": "@%p1 bra A; bar.sync 0; bra B; A: bar.sync 0; B:",
    "the_last_warp_reads_what_the_other_wrote": "@%p2 st.shared.u32 [s+512], 0; bar.sync 0; "
    f"{WRITE} membar.cta; atom.shared.add.u32 %r9, [s+512], 1; membar.cta; "
    "setp.lt.u32 %p3, %r9, 63; @%p3 bra E; ld.shared.u32 %r8, [s]; ld.shared.u32 %r8, [s+128]; E:",
    "a_flag_in_global_memory": "@!%p2 bra R; st.shared.u32 [s], %r1; membar.gl; mov.u32 %r9, 1; "
    "st.volatile.global.u32 [%d2], %r9; R: @%p1 bra E; "
    "W: ld.volatile.global.u32 %r8, [%d2]; setp.ne.u32 %p3, %r8, 1; @%p3 bra W; membar.gl; "
    "ld.shared.u32 %r8, [s]; E:",
    "uninitialised_and_not_used": "ld.shared.u32 %r9, [%r3];",
    "uninitialised_in_a_column": "and.b32 %r10, %r1, 31; mov.u32 %r11, s; "
    f"{MUL.format(32)} ld.shared.u32 %r9, [%r11];",
    "half_a_block_leaves_early": f"@%p1 bra A; ret; A: bar.sync 0; {WRITE} {READ}",
    "a_lane_waits_for_another": "@!%p2 bra A; mov.u32 %r9, 1; st.volatile.shared.u32 [s], %r9; A: "
    "ld.volatile.shared.u32 %r8, [s]; setp.ne.u32 %p3, %r8, 1; @%p3 bra A;",
    "prints": "{ .param .b64 p; .param .b32 r; st.param.b64 [p+0], %d1; "
    "call.uni (r), vprintf, (p); ld.param.b32 %r9, [r+0]; }",
    "local_at_an_address_that_wraps_in_32_bits": "mov.u32 %r9, own; sub.u32 %r9, %r9, 12; "
    "st.local.u32 [%r9+24], %r1; ld.local.u32 %r8, [%r9+24];",
    "an_idle_lane_reads_far": "setp.gt.u32 %p3, %r1, 5; @!%p3 bra B; "
    "add.s64 %d4, %d4, 90000; bra C; B: ld.global.u32 %r9, [%d4]; C:",
} | {f"meets_{name}": from_warp_to_warp(*pattern, "bar.sync 0;") for name, pattern in WARPS.items()}


def statuses(folder: Path, *flags: str) -> dict[str, tuple[int, str]]:
    """Kernel → (exit status, log): all in one library, told apart by the size of their tensors."""
    bodies = {name: body for name, (_, body) in FAULTS.items()} | FINE
    ptx = HEAD + "".join(START.format(name=f"k{name}", body=body) for name, body in bodies.items())
    cases = []
    for number, name in enumerate(bodies):
        spec = spec_of(["x"], {"out": 1000 + number}, 1000)
        cases.append((spec, plan_of(ptx, [launch(f"k{name}", ["x", "out"], threads=64)])))
    path = library(program(cases)[0], folder, *flags)
    found = {}
    for name, (spec, _) in zip(bodies, cases, strict=True):
        found[name] = run_main(path, spec, folder, *flags)
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    return statuses(tmp_path_factory.mktemp("faults"))


SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.mark.slow
def test_the_runtime_itself_does_nothing_that_sanitizers_object_to(
    built: dict[str, tuple[int, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Memory that is still there when a fault ends the process is not lost.
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")
    found = statuses(tmp_path, *SANITIZED)
    assert {name: status for name, (status, _) in found.items()} == {
        name: status for name, (status, _) in built.items()
    }
    for name, (_, log) in found.items():
        assert "runtime error" not in log, f"{name}: {log}"


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_called_by_its_name(name: str, built: dict[str, tuple[int, str]]) -> None:
    status, log = built[name]
    wanted = FAULTS[name][0]
    told = log.splitlines()[-1].partition(":")[0] if log else ""
    assert (EMULATED_EXITS.get(status, (None, status))[1], told) == (wanted, wanted), log
    assert f"kernel k{name}, block (0, 0, 0), thread (" in log


@pytest.mark.parametrize("name", FINE)
def test_what_only_looks_odd_is_no_fault(name: str, built: dict[str, tuple[int, str]]) -> None:
    status, log = built[name]
    assert status == 0, log
    assert ("uninitialised_shared" in log) == ("uninitialised" in name)


def test_an_address_is_told_as_a_place_in_a_tensor(built: dict[str, tuple[int, str]]) -> None:
    assert (
        "at `ld.global.u64 %d9, [%d4+8000]`, byte 8000 of x, which has 8000"
        in built["reads_past_the_end"][1]
    )


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned"),
        ("add.rz.f64 %d1, %d2, %d3;", "add.rz.f64"),
        ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f1,%f2}];", "tex.2d.v4.f32.f32"),
        ("ld.global.b128 %d1, [%d2];", "ld.global.b128"),
        ("bar.sync 1, 64;", "bar.sync 1, 64"),
        ("call.uni foo, ();", "call.uni foo"),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16.f32 {%f1};", "wmma.mma"),
    ],
)
def test_what_nothing_here_runs_is_refused_by_its_name(line: str, name: str) -> None:
    ptx = HEAD + START.format(name="k", body=line)
    spec = spec_of(["x"], {"out": 9}, 9)
    with pytest.raises(NotEmulatedError, match=name.replace(".", r"\.")):
        program([(spec, plan_of(ptx, [launch("k", ["x", "out"])]))])


def test_a_kernel_whose_blocks_run_in_clusters_is_refused_as_it_says_so() -> None:
    def said(sizes: str) -> str:
        head = f".explicitcluster\n.reqnctapercluster {sizes}\n"
        return f"{HEAD}.visible .entry k(.param .u64 p)\n{head}{{\nret;\n}}\n"

    for sizes in ("2, 1, 1", "1, 4, 1", "1, 1, 16", "8"):
        with pytest.raises(NotEmulatedError, match="cluster"):
            parse(said(sizes))
    for sizes in ("1, 1, 1", "1"):
        assert [one.name for one in parse(said(sizes)).kernels] == ["k"]


def test_names_of_a_scope_are_its_own() -> None:
    kernel = parse(
        HEAD + ".entry k()\n{\n.reg .b32 %r<3>;\n{ .reg .b32 t; mov.u32 t, 1;\n{ .reg .b32 t; "
        ".reg .pred p; mov.u32 t, %r1; @!p bra L; L: } }\nret;\n}"
    ).kernels[0]
    assert [str(one) for one in kernel.body if hasattr(one, "opcode")] == [
        "mov.u32 t@1, 1",
        "mov.u32 t@2, %r1",
        "@!p@2 bra L@2",
        "ret",
    ]


def test_a_program_has_nothing_of_an_answers_but_letters_and_numbers() -> None:
    odd = START.format(name='k"; system("true"); //', body="")
    spec = spec_of(["x"], {"out": 9}, 9)
    with pytest.raises(ValueError, match="no declaration"):
        program([(spec, plan_of(HEAD + odd, [launch("k", ["x", "out"])]))])
    named = START.format(name="k", body='mov.u32 %r9, 1; // "*/ #include </etc/passwd>')
    text, _ = program([(spec, plan_of(HEAD + named, [launch("k", ["x", "out"])]))])
    assert "passwd" not in text
