"""What a method gathers of the records of its run, as they are appended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from kernelwright.data.runs.records import Cursor, RecordStore
from kernelwright.envs.types import Record


class Knowledge(Protocol):
    """What is known of some records."""

    def add(self, records: Sequence[Record]) -> None:
        """Takes in the next ones."""


K = TypeVar("K", bound=Knowledge, covariant=True)


class Gathered(Generic[K]):
    """Knowledge of all records that stand; gathered anew where some were taken back."""

    def __init__(self, store: RecordStore, begin: Callable[[], K]) -> None:
        self._cursor, self._begin = Cursor(store), begin
        self.known = begin()
        """As of the last call of `now`."""

    def now(self) -> K:
        """With what was appended since the last call. Raises StoreError."""
        records = self._cursor.read()
        if self._cursor.restarted:
            self.known = self._begin()
        self.known.add(records)
        return self.known
