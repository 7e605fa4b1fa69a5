"""Reads what wandb wrote offline: blocks of 32 KiB with records in pieces, as LevelDB's log has."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BLOCK, FILE_HEADER, HEADER = 32768, 7, 7
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4


@dataclass
class OfflineRun:
    """One attempt of a run, as its file says."""

    id: str = ""
    project: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    axes: dict[str, str] = field(default_factory=dict)
    """Pattern of metrics → the metric that is their axis."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    """Those of its artifacts of the type `run`."""


def offline_runs(run_dir: Path) -> list[OfflineRun]:
    """Every attempt that wandb kept in a run's folder, in order; waits until all is written."""
    import wandb

    wandb.teardown()
    files = sorted(run_dir.glob("wandb/offline-run-*/*.wandb"), key=lambda one: one.stat().st_mtime)
    return [read(path) for path in files]


def read(path: Path) -> OfflineRun:
    from wandb.proto.wandb_internal_pb2 import Record

    run = OfflineRun()
    for data in _records(path.read_bytes()):
        record = Record()
        record.ParseFromString(data)
        kind = record.WhichOneof("record_type")
        if kind == "run":
            run.id, run.project = record.run.run_id, record.run.project
            run.config |= {one.key: json.loads(one.value_json) for one in record.run.config.update}
        elif kind == "metric" and record.metric.step_metric:
            run.axes[record.metric.glob_name or record.metric.name] = record.metric.step_metric
        elif kind == "history":
            run.rows.append(_items(record.history.item))
        elif kind == "summary":
            run.summary |= _items(record.summary.update)
        elif kind == "artifact" and record.artifact.type == "run":
            run.files += [one.path for one in record.artifact.manifest.contents]
    return run


def _items(items: Any) -> dict[str, Any]:
    return {one.key or "/".join(one.nested_key): json.loads(one.value_json) for one in items}


def _records(data: bytes) -> Iterator[bytes]:
    at, whole = FILE_HEADER, b""
    while at + HEADER <= len(data):
        room = BLOCK - at % BLOCK
        if room < HEADER:
            at += room
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + HEADER])
        whole += data[at + HEADER : at + HEADER + length]
        at += HEADER + length
        if kind in (FULL, LAST):
            yield whole
            whole = b""
