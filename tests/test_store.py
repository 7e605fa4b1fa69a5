"""The record store: what was appended is read, whatever was killed and whoever wrote beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.data.runs.records import FILE, Cursor, RecordStore, StoreError, read_records
from kernelwright.envs.types import Record
from tests import nouns

ROOT = Path(__file__).parents[1]
WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from kernelwright.data.runs.records import RecordStore
from tests import nouns
store = RecordStore(Path(sys.argv[1]))
for step in range(200):
    store.append([nouns.record(sys.argv[2], step, row, prompt="x" * 3000) for row in range(3)])
"""


@pytest.fixture
def store(tmp_path: Path) -> RecordStore:
    return RecordStore(tmp_path)


@settings(deadline=None)  # files are synced
@given(batches=st.lists(st.lists(nouns.RECORDS, max_size=2), max_size=3))
def test_what_was_appended_is_read_in_order(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Record]]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    for batch in batches:
        RecordStore(folder).append(batch)
    assert read_records(folder) == [record for batch in batches for record in batch]


def test_a_run_without_records_has_none(tmp_path: Path) -> None:
    assert read_records(tmp_path) == []


def test_a_line_that_a_kill_cut_off_is_not_a_record(store: RecordStore) -> None:
    records = [nouns.record(row=row) for row in range(3)]
    store.append(records)
    whole = store.path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for length in range(last, len(whole)):
        store.path.write_bytes(whole[:length])
        assert store.read() == records[:2]


@pytest.mark.parametrize("line", [b"{", b"[1]", b"1", b"null", b'{"reward": 1}', b"\xff\xfe", b""])
def test_a_whole_line_that_is_no_record_is_named(store: RecordStore, line: bytes) -> None:
    store.append([nouns.record()])
    with store.path.open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(StoreError, match=r"records\.jsonl:2: "):
        store.read()


def test_a_rewind_drops_the_stage_from_that_step_on_and_nothing_else(store: RecordStore) -> None:
    records = [nouns.record(stage, step) for stage in ("grpo", "eval") for step in range(4)]
    store.append(records)
    assert store.rewind("grpo", 2) == 2
    assert store.read() == [one for one in records if one.stage == "eval" or one.step < 2]
    assert store.rewind("grpo", 2) == 0


def test_after_a_rewind_a_cut_off_line_is_gone_and_the_store_goes_on(store: RecordStore) -> None:
    store.append([nouns.record(step=0), nouns.record(step=1)])
    with store.path.open("ab") as file:
        file.write(b'{"stage":"gr')
    store.rewind("grpo", 1)
    store.append([nouns.record(step=1)])
    assert [one.step for one in store.read()] == [0, 1]


def test_what_a_kill_left_of_a_line_does_not_join_the_next_record(store: RecordStore) -> None:
    store.cut_unfinished()
    store.append([nouns.record(step=0)])
    whole = store.path.read_bytes()
    for length in (1, 9, len(whole) - 1):
        store.path.write_bytes(whole + whole[:length])
        assert store.cut_unfinished() == length
        assert store.cut_unfinished() == 0
        store.append([nouns.record(step=1)])
        assert [one.step for one in store.read()] == [0, 1]


def test_half_of_a_surrogate_pair_is_kept(store: RecordStore) -> None:
    store.append([nouns.record(completion="\ud83d, alone")])
    store.rewind("grpo", 99)
    assert [one.completion for one in store.read()] == ["\ud83d, alone"]


def test_a_rewind_of_a_run_that_has_no_records_yet_drops_nothing(store: RecordStore) -> None:
    assert store.rewind("grpo", 0) == 0
    assert store.read() == []


def test_text_in_any_script_and_with_any_line_end_is_kept(store: RecordStore) -> None:
    completion = "µs, \r\n \x00 \u2028 \u0085 \ud7ff 漢字 🙂 \\ud800"
    store.append([nouns.record(completion=completion)])
    assert [one.completion for one in store.read()] == [completion]


def test_two_processes_that_append_at_once_lose_nothing(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), stage], cwd=ROOT)
        for stage in ("one", "two")
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    ids = Counter(record.id for record in read_records(tmp_path))
    assert ids == {
        (s, step, row): 1 for s in ("one", "two") for step in range(200) for row in range(3)
    }
    assert (tmp_path / FILE).read_bytes().count(b"\n") == len(ids)


@settings(deadline=None)
@given(st.lists(nouns.RECORDS, max_size=4), st.lists(st.integers(0, 1 << 14), max_size=6))
def test_read_in_pieces_is_read_whole_wherever_the_file_ended_in_between(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], ends: list[int]
) -> None:
    """Also within a line: a torn one is read once it is whole."""
    store = RecordStore(tmp_path_factory.mktemp("run"))
    store.append(records)
    whole = store.path.read_bytes()
    cursor, found = Cursor(store), []
    for end in sorted({*(end % (len(whole) + 1) for end in ends), len(whole)}):
        store.path.write_bytes(whole[:end])
        found += cursor.read()
        assert not cursor.restarted
    assert found == store.read() == records
    assert cursor.read() == []


def test_a_cursor_begins_anew_where_records_were_dropped(store: RecordStore) -> None:
    records = [nouns.record("grpo", step) for step in range(4)]
    store.append(records)
    cursor = Cursor(store)
    assert cursor.read() == records
    store.rewind("grpo", 2)
    store.append([nouns.record("grpo", 2, row=1)] * 3)
    assert cursor.read() == [*records[:2], *[nouns.record("grpo", 2, row=1)] * 3]
    assert cursor.restarted
    store.path.unlink()
    assert (cursor.read(), cursor.restarted) == ([], True)


def test_a_cursor_parses_no_line_twice(store: RecordStore, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []

    def loads(line: bytes) -> object:
        parsed.append(line)
        return json.JSONDecoder().decode(line.decode())

    monkeypatch.setattr(json, "loads", loads)
    cursor = Cursor(store)
    for step in range(5):
        store.append([nouns.record("grpo", step)])
        assert [one.step for one in cursor.read()] == [step]
    assert len(parsed) == 5


def test_what_is_taken_back_is_read_by_nobody_and_stays_on_disk(store: RecordStore) -> None:
    records = [nouns.record("grpo", step) for step in range(3)]
    store.append(records)
    store.void(records[1:2])
    assert store.read() == [records[0], records[2]]
    assert len(store.path.read_bytes().splitlines()) == 4
    again = replace(records[1], completion="again")
    store.append([again])
    assert store.read() == [records[0], records[2], again]


def test_a_cursor_begins_anew_where_what_it_read_is_taken_back(store: RecordStore) -> None:
    records = [nouns.record("grpo", step) for step in range(4)]
    store.append(records[:3])
    cursor = Cursor(store)
    assert (cursor.read(), cursor.restarted) == (records[:3], False)
    store.append(records[3:])
    store.void(records[3:])
    assert (cursor.read(), cursor.restarted) == ([], False)
    store.void(records[:1])
    assert (cursor.read(), cursor.restarted) == (records[1:3], True)
    store.append(records[3:])
    assert (cursor.read(), cursor.restarted) == (records[3:], False)


def test_a_cursor_has_an_answer_once_that_was_taken_back_and_judged_again_meanwhile(
    store: RecordStore,
) -> None:
    first, other = (nouns.record("eval", row=row) for row in range(2))
    store.append([first, other])
    cursor = Cursor(store)
    assert cursor.read() == [first, other]
    again = replace(first, completion="again")
    store.void([first])
    store.append([again])
    assert (cursor.read(), cursor.restarted) == ([other, again], True)


def test_a_rewind_keeps_what_was_taken_back_of_earlier_steps(store: RecordStore) -> None:
    records = [nouns.record("grpo", step) for step in range(3)]
    store.append(records)
    store.void([records[0], records[2]])
    assert store.rewind("grpo", 2) == 2
    assert store.read() == [records[1]]
    assert len(store.path.read_bytes().splitlines()) == 3
