"""Files in huge pages hold what other files hold, and are mapped where such a page stays whole."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.system import memfd as files
from kernelwright.envs.system.memfd import HUGE_BYTES, huge_file, mapped, memfd, own_copy
from scripts.bench_timing import the_module

BOTH = mmap.PROT_READ | mmap.PROT_WRITE


@given(st.integers(min_value=1, max_value=2 * HUGE_BYTES + 1))
def test_a_huge_file_is_large_enough_and_zero(size: int) -> None:
    descriptor = huge_file(size)
    content = os.pread(descriptor, 4 * HUGE_BYTES, 0)
    os.close(descriptor)
    assert size <= len(content) < size + HUGE_BYTES
    assert not any(content)


def test_without_huge_pages_a_file_has_just_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "has_huge_pages", lambda: False)
    descriptor = huge_file(5000)
    assert os.fstat(descriptor).st_size == 5000
    os.close(descriptor)


def gathers() -> bool:
    """Whether pages are gathered into huge ones here."""
    return files.has_huge_pages() and tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 1)


@pytest.mark.skipif(not gathers(), reason="this machine gathers no pages into huge ones")
def test_a_huge_page_is_mapped_as_one() -> None:
    descriptor = huge_file(HUGE_BYTES)
    mapping = mapped(descriptor, BOTH)
    address = ctypes.addressof(mapping)
    entry = Path("/proc/self/smaps").read_text().split(f"{address:x}-")[1]
    os.close(descriptor)
    assert "ShmemPmdMapped:     2048 kB" in entry.split("VmFlags")[0]


def test_what_is_written_to_a_mapping_is_in_the_file_and_it_goes_with_its_object() -> None:
    descriptor = memfd(bytes(5000))
    mapping = mapped(descriptor, BOTH)
    address = ctypes.addressof(mapping)
    mapping[4999] = b"x"
    assert address % HUGE_BYTES == 0
    assert os.pread(descriptor, 2, 4998) == b"\0x"
    os.close(descriptor)
    del mapping
    gc.collect()
    assert f"{address:x}-" not in Path("/proc/self/maps").read_text()


def test_a_copy_in_a_huge_file_begins_with_the_content_and_nobody_can_change_it() -> None:
    first = memfd(b"content")
    copy = own_copy(first, huge_file(7))
    assert os.pread(copy, 9, 0).rstrip(b"\0") == b"content"
    with pytest.raises(PermissionError):
        os.pwrite(copy, b"x", 0)
    for one in (first, copy):
        os.close(one)


@pytest.mark.sandbox
@pytest.mark.skipif(not gathers(), reason="this machine gathers no pages into huge ones")
def test_the_heap_of_a_module_in_the_sandbox_is_in_huge_pages() -> None:
    reference = ReferenceProcess()
    loaded = reference.load(the_module("torch.tanh(x)", "N", 1 << 19))
    for number in range(20):
        reference.draw(loaded, loaded.timed, number).close()
    mine = psutil.Process().children(recursive=True)
    (process,) = (one for one in mine if one.cmdline()[1:2] == ["-P"] and not one.children())
    maps = Path(f"/proc/{process.pid}/smaps").read_text()
    (heap,) = (part.split("VmFlags")[0] for part in maps.split("[heap]")[1:])
    reference.close()
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in heap.splitlines()[1:] if line}
    small = kilobytes["Rss"] - kilobytes["AnonHugePages"]
    # Its edges, and one or two for which the machine had none: not gathered, it was a seventh.
    assert small < 0.06 * kilobytes["Rss"]
