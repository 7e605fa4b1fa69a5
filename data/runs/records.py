"""The records of a run: `records.jsonl`, append-only, one rollout a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from kernelwright.envs.codec import from_plain, read_json, to_json
from kernelwright.envs.system.paths import append_whole, cut_unfinished, no_pipe, write_whole
from kernelwright.envs.types import Candidate, Record, Verdict, content_hash

FILE = "records.jsonl"


class StoreError(ValueError):
    """A whole line that is no record of this version; names the file and the line."""


class RecordStore:
    """Appends whole lines, so that several processes may write and a kill loses at most a line."""

    def __init__(self, run_dir: Path) -> None:
        self.path = run_dir / FILE

    def append(self, records: Iterable[Record]) -> None:
        """Writes the records at once, and has them on disk before it returns."""
        append_whole(self.path, "".join(to_json(record) + "\n" for record in records))

    def void(self, records: Iterable[Record]) -> None:
        """Takes records back, by a line for each: no reader gets them any more."""
        self.append(replace(one, void=True) for one in records)

    def take_back_unjudged(self) -> None:
        """Takes back what got no verdict, so that it is judged again. One process only."""
        if lost := [one for one in self.read() if one.evaluation.verdict is Verdict.UNJUDGED]:
            self.void(lost)

    def read(self) -> list[Record]:
        """All complete records that stand, in order; an unfinished last line is none. Raises
        StoreError."""
        return Cursor(self).read()

    def cut_unfinished(self) -> int:
        """Removes what a kill left of a last line, before others append to it; gives its bytes.

        One process only.
        """
        return cut_unfinished(self.path)

    def rewind(self, stage: str, first_lost_step: int) -> int:
        """Drops what a resumed run is going to do again; returns how many records that were.

        Those are the records of `stage` from `first_lost_step` on, and an unfinished last line.
        """
        records = Cursor(self).lines()
        kept = [one for one in records if one.stage != stage or one.step < first_lost_step]
        write_whole(self.path, "".join(to_json(one) + "\n" for one in kept))
        return len(records) - len(kept)


class Cursor:
    """A reader that keeps its place: each call parses only what was appended since the last one."""

    def __init__(self, store: RecordStore, *, skip_damaged: bool = False) -> None:
        self.path, self.skip_damaged = store.path, skip_damaged
        self.damaged: list[int] = []
        """Numbers of the lines that are no records, where those are skipped."""
        self.restarted = False
        """Whether the last reading began anew: records had been dropped (`rewind`), or taken back
        (`void`)."""
        self._read_bytes, self._lines, self._last = 0, 0, b""

    def read(self) -> list[Record]:
        """The records since the last reading that stand, in order. Raises StoreError."""
        read_before, found = self._lines, self.lines()
        if read_before and not self.restarted and _takes_back_earlier(found):
            self._start(anew=True)
            found = self.lines()
            self.restarted = True
        return standing(found)

    def lines(self) -> list[Record]:
        """The same with what was taken back, and with what takes it back."""
        if not self.path.exists():
            self._start(anew=self._read_bytes > 0)
            return []
        found: list[Record] = []
        with no_pipe(self.path).open("rb") as file:
            file.seek(self._read_bytes - len(self._last))
            self._start(anew=file.read(len(self._last)) != self._last)
            file.seek(self._read_bytes)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                found += self._record(line)
                self._read_bytes += len(line)
                self._lines, self._last = self._lines + 1, line
        return found

    def _start(self, *, anew: bool) -> None:
        """From the beginning where the last line that was read is no longer at its place."""
        self.restarted = anew
        if anew:
            self._read_bytes, self._lines, self._last = 0, 0, b""
            self.damaged = []

    def _record(self, line: bytes) -> list[Record]:
        """The line's record; none where it is damaged, and those are skipped."""
        try:
            return [from_plain(Record, read_json(line))]
        except ValueError as error:
            if self.skip_damaged:
                self.damaged.append(self._lines + 1)
                return []
            raise StoreError(f"{self.path}:{self._lines + 1}: not a record ({error})") from None


def standing(records: Sequence[Record]) -> list[Record]:
    """Those that no later one takes back."""
    voided = {one.id: place for place, one in enumerate(records) if one.void}
    return [
        one for place, one in enumerate(records) if not one.void and voided.get(one.id, -1) < place
    ]


def _takes_back_earlier(records: Sequence[Record]) -> bool:
    """Whether one of them takes back what is not among them."""
    known = set[tuple[str, int, int]]()
    for one in records:
        if one.void and one.id not in known:
            return True
        known.add(one.id)
    return False


def read_records(run_dir: Path) -> list[Record]:
    """All records of a run that stand."""
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
    return content_hash(record.problem_key, record.dialect, *filter(None, [record.skill]))
