"""What a build leaves is an answer's word: odd archives and odd PTX end in a verdict, soon."""

from __future__ import annotations

import io
import os
import secrets
import tarfile
from collections.abc import Callable

import pytest

from kernelwright.envs.dialects.nvcc import (
    MOST_MEMBERS,
    PTX_BYTES,
    OddArchiveError,
    code_of,
    unpacked,
)
from kernelwright.envs.plan.device_code import Needs, needs_of, static_facts
from kernelwright.envs.plan.steps import Fill, Place
from kernelwright.envs.plan.trace import ARGUMENT_BYTES, Addresses, parameters_of
from kernelwright.envs.sandbox.build import compile_once
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes

pytestmark = pytest.mark.sandbox

CODE = f"kernels.compute_{max(code_of().values())}.ptx"
PTX = ".visible .entry f(.param .u64 f_param_0, .param .align 8 .b8 f_param_1[24]) {\n  ret;\n}\n"


def files() -> dict[str, bytes]:
    """What the script of a build leaves."""
    reports = {f"{name}.info": b"" for name in code_of()}
    code = {f"kernels.compute_{name}.ptx": PTX.encode() for name in code_of().values()}
    return {"kernel.so": b"library", **reports, **code}


def packed(content: dict[str, bytes], mode: str = "w:") -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode=mode) as tar:  # type: ignore[call-overload]
        for name, data in content.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return archive.getvalue()


def linked() -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:") as tar:
        member = tarfile.TarInfo("kernel.so")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(member)
    return archive.getvalue()


def test_a_build_follows_the_systems_links_and_may_ask_what_the_processor_is() -> None:
    """`awk` is a link by way of /etc/alternatives; where we are root, a job has another user."""
    sandboxes = Sandboxes()
    asks = "(awk 'BEGIN { print 6 * 7 }' && grep -c '^processor' /proc/cpuinfo) >&3"
    try:
        made = compile_once(
            sandboxes.of(Runtime.NATIVE), ["/bin/sh", "-c", asks], {"new": secrets.token_hex()}
        )
    finally:
        sandboxes.close()
    assert made.failure is None, made.log
    assert made.artefact.decode().split() == ["42", str(os.cpu_count())]


def test_a_build_leaves_a_library_and_its_code() -> None:
    library, kernels = unpacked(packed(files()), "kernels", "mine")
    assert library == b"library"
    assert [(one.code, one.target) for one in kernels] == [
        ("mine", f"sm_{name}") for name in code_of()
    ]


ODD: dict[str, Callable[[], bytes]] = {
    "no archive": lambda: b"nothing of the kind",
    "empty": lambda: b"",
    "a link": linked,
    "compressed": lambda: packed(files(), "w:gz"),
    "no report": lambda: packed({**files(), "90.info": b""} | {"x": b""}).replace(
        b"90.info", b"91.info"
    ),
    "not text": lambda: packed(files() | {CODE: b"\xff"}),
    "too much code": lambda: packed(files() | {CODE: bytes(PTX_BYTES + 1)}),
    "too many files": lambda: packed({str(n): b"" for n in range(MOST_MEMBERS + 1)} | files()),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_archive_is_known_for_one(kind: str) -> None:
    with pytest.raises(OddArchiveError):
        unpacked(ODD[kind](), "kernels")


def test_the_parameters_of_kernels_are_read_off_their_code() -> None:
    assert parameters_of(PTX + PTX.replace(" f(", " g(")) == {"f": [8, 24], "g": [8, 24]}


def test_what_a_launch_has_to_keep_to_is_read_off_the_code_and_its_assemblers_report() -> None:
    info = "Compiling entry function 'f' for 'sm_80'\nUsed REGISTERS registers, 8 bytes smem\n"
    most = {1: 1024, 64: 1024, 65: 896, 96: 640, 128: 512, 168: 384, 255: 256}
    for registers, threads in most.items():
        said = info.replace("REGISTERS", str(registers))
        assert needs_of(PTX, said) == {"f": Needs(threads, (0, 0, 0), registers, 8)}
    for bounds, threads, block in [
        (".maxntid 96", 96, (0, 0, 0)),
        (".maxntid 8, 4, 2\n.minnctapersm 2", 64, (0, 0, 0)),
        (".reqntid 8, 4, 2", 1024, (8, 4, 2)),
        (".reqntid 128", 1024, (128, 1, 1)),
    ]:
        ptx = PTX.replace(") {", f")\n{bounds}\n{{")
        assert needs_of(ptx, "") == {"f": Needs(threads, block, 0, 0)}


@pytest.mark.parametrize(
    "ptx",
    [
        ".entry f(.param .b8 p[" + "9" * 5000 + "])",
        ".entry " * 1_000_000,
        ".entry f(" * 800_000,
        "\n" * (8 << 20),
        " \n\t" * (2 << 20),
        ".entry f() .maxntid" + " 1" * (4 << 20),
        "Compiling entry function '" * 400_000,
        ".entry f(" + ".param .u64 a," * 500_000,
    ],
    ids=["digits", "names", "opened", "lines", "blanks", "bounds", "reports", "parameters"],
)
@pytest.mark.slow
def test_odd_code_is_read_in_time_that_grows_with_its_length(ptx: str) -> None:
    assert parameters_of(ptx) is not None
    assert needs_of(ptx, ptx) is not None
    assert dict(static_facts(ptx, ptx))["ptx_fma"] == 0


def test_an_address_is_found_in_the_tensor_that_it_lies_in_or_just_behind() -> None:
    addresses = Addresses([("b", 4096, 64), ("a", 1024, 16), ("c", 4160, 8)], {})
    found = [addresses.place(at) for at in (1024, 1040, 4100, 4160)]
    assert found == [
        Place(tensor="a", offset=0),
        Place(tensor="a", offset=16),
        Place(tensor="b", offset=4),
        Place(tensor="c", offset=0),
    ]
    for at in (0, 1023, 1041, 5000):
        with pytest.raises(ValueError, match="no tensor"):
            addresses.place(at)


def test_what_touches_memory_from_before_the_call_is_left_out() -> None:
    addresses = Addresses([("a", 1024, 16)], {})
    events = [{"set": 0, "at": 1024, "bytes": 8}, {"copied": 8, "at": 1024, "from": 4096}]
    (step,) = addresses.steps((one, "") for one in events)
    assert step == Fill(at=Place(tensor="a", offset=0), fill="00", bytes=8)
    assert addresses.left_out is not None


def test_so_many_arguments_are_read_and_no_more() -> None:
    addresses = Addresses([], {"": ".visible .entry f(.param .align 8 .b8 p[4096])"})
    event = {
        "kernel": "f",
        "grid": [1, 1, 1],
        "block": [1, 1, 1],
        "shared_bytes": 0,
        "arguments": ["00" * 4096],
    }
    for _ in range(ARGUMENT_BYTES // 4096):
        addresses.step(event)
    with pytest.raises(ValueError, match="bytes of arguments"):
        addresses.step(event)
