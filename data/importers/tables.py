"""Files of rows: Parquet, Arrow, JSON lines, a JSON list. Each row comes with its place.

Parquet and Arrow need pyarrow, which the extra `data` brings with `datasets`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelwright.data.suites.rows import objects
from kernelwright.envs.codec import read_json

Place = str
ROWS_AT_ONCE = 64


def table_rows(
    path: Path, columns: Sequence[str] = ()
) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """(FILE:ROW, row) of a file that has these columns. Raises ValueError and OSError."""
    readers = {".parquet": _parquet, ".arrow": _arrow, ".json": _json, ".jsonl": objects}
    if path.suffix not in readers:
        raise ValueError(f"{path}: expects {', '.join(readers)}")
    if not path.is_file():
        raise ValueError(f"no file {path}")
    for place, row in readers[path.suffix](path):
        yield place, checked(place, row, columns)


def hub_rows(
    name: str, revision: str, columns: Sequence[str] = ()
) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """The same of a data set on the Hub, at a revision; a folder of files has none."""
    from datasets import load_dataset

    found = load_dataset(name, revision=revision or None, split="train", streaming=True)
    for number, row in enumerate(found, 1):
        place = f"{name}:{number}"
        yield place, checked(place, row, columns)


def checked(place: Place, row: Any, columns: Sequence[str]) -> Mapping[str, Any]:
    """The row, if it has the columns. Raises ValueError."""
    if not isinstance(row, Mapping):
        raise ValueError(f"{place}: expects an object")
    if missing := [one for one in columns if one not in row]:
        there = ", ".join(map(str, row))
        raise ValueError(f"{place}: has no column {', '.join(missing)}; there are {there}")
    return row


def _parquet(path: Path) -> Iterator[tuple[Place, Any]]:
    import pyarrow
    from pyarrow import parquet

    try:
        batches = parquet.ParquetFile(path).iter_batches(batch_size=ROWS_AT_ONCE)
        yield from _placed(path, batches)
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a whole Parquet file ({_line(error)})") from None


def _arrow(path: Path) -> Iterator[tuple[Place, Any]]:
    """A stream, as `datasets` writes its files."""
    import pyarrow

    try:
        with pyarrow.OSFile(str(path)) as file:
            yield from _placed(path, pyarrow.ipc.open_stream(file))
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a whole Arrow stream ({_line(error)})") from None


def _placed(path: Path, batches: Iterator[Any]) -> Iterator[tuple[Place, Any]]:
    number = 0
    for batch in batches:
        for row in batch.to_pylist():
            number += 1
            yield f"{path}:{number}", row


def _json(path: Path) -> Iterator[tuple[Place, Any]]:
    try:
        found = read_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON ({error})") from None
    if not isinstance(found, list):
        raise ValueError(f"{path}: expects a list of objects")
    yield from ((f"{path}:{number}", row) for number, row in enumerate(found, 1))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
