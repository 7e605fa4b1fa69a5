"""A file is written whole or not at all, whoever writes it meanwhile."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from kernelwright.envs.system.paths import write_whole


def test_what_is_written_is_read_and_its_folder_is_made(tmp_path: Path) -> None:
    file = tmp_path / "new" / "file.json"
    write_whole(file, "α")
    assert file.read_text(encoding="utf-8") == "α"
    write_whole(file, b"\x00\xff")
    assert file.read_bytes() == b"\x00\xff"


def test_half_of_a_surrogate_pair_becomes_a_question_mark(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", "a\ud800b")
    assert (tmp_path / "file").read_bytes() == b"a?b"


def test_a_disk_that_is_full_leaves_what_was_there_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    file = tmp_path / "file"
    write_whole(file, "before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(file, "after")
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_writers_at_the_same_time_never_mix_what_they_write(tmp_path: Path) -> None:
    file = tmp_path / "file"
    texts = [str(number) * 100_000 for number in range(4)]
    write_whole(file, texts[0])

    def write(text: str) -> None:
        for _ in range(20):
            write_whole(file, text)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert file.read_text() in texts
    for thread in threads:
        thread.join()
    assert list(tmp_path.iterdir()) == [file]
