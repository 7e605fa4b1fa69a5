"""The records of a run: `records.jsonl`, append-only, one rollout a line."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from pathlib import Path

from kernelwright.envs.codec import from_plain, to_json
from kernelwright.envs.paths import write_whole
from kernelwright.envs.types import Candidate, Record, content_hash

FILE = "records.jsonl"


class StoreError(ValueError):
    """A whole line that is no record of this version; names the file and the line."""


class RecordStore:
    """Appends whole lines, so that several processes may write and a kill loses at most a line."""

    def __init__(self, run_dir: Path) -> None:
        self.path = run_dir / FILE

    def append(self, records: Iterable[Record]) -> None:
        """Writes the records with one system call, and has them on disk before it returns."""
        data = "".join(to_json(record) + "\n" for record in records).encode()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            if os.write(descriptor, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read(self) -> list[Record]:
        """All complete records, in order; an unfinished last line is not one. Raises StoreError."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            lines = enumerate(file, start=1)
            return [self._record(line, number) for number, line in lines if line.endswith(b"\n")]

    def _record(self, line: bytes, number: int) -> Record:
        try:
            return from_plain(Record, json.loads(line))
        except ValueError as error:
            raise StoreError(f"{self.path}:{number}: not a record ({error})") from None

    def cut_unfinished(self) -> int:
        """Removes what a kill left of a last line, before others append to it; gives its bytes.

        One process only.
        """
        if not self.path.exists():
            return 0
        with self.path.open("rb+") as file:
            content = file.read()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                file.truncate(whole)
        return len(content) - whole

    def rewind(self, stage: str, first_lost_step: int) -> int:
        """Drops what a resumed run is going to do again; returns how many records that were.

        Those are the records of `stage` from `first_lost_step` on, and an unfinished last line.
        """
        records = self.read()
        kept = [one for one in records if one.stage != stage or one.step < first_lost_step]
        write_whole(self.path, "".join(to_json(one) + "\n" for one in kept))
        return len(records) - len(kept)


def read_records(run_dir: Path) -> list[Record]:
    """All records of a run."""
    return RecordStore(run_dir).read()


def answer_of(record: Record) -> Candidate:
    """What a record's model wrote, to be judged again by the same rule. ValueError without one."""
    if record.source is None:
        raise ValueError(f"{record.id} has no answer")
    return Candidate(
        problem_key=record.problem_key,
        dialect=record.dialect,
        source=record.source,
        torch_allowed=record.torch_allowed,
    )


def task_key(record: Record) -> str:
    """`Task.key` of what the record's model was asked."""
    return content_hash(record.problem_key, record.dialect)
