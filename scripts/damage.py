"""Damages a file in one of many ways: its bytes, its values, what kind of thing it is."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

DEEP = 100_000
LONG_BYTES = 10 << 20
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1 << 80, 1e308, float("nan"), float("inf"), -0.5),
    *("", "x", "\ud800", "a\0b", "../../outside/evil", "/outside/evil", "\u202e", "x" * 100_000),
    *([], {}, [None], {"a": 1}, [[[]]], ["x", 1]),
)
"""What takes the place of a value."""


def damaged(path: Path, draw: random.Random) -> str:
    """Damages this file, or its place; gives the kind of damage."""
    kinds = [*BYTES, *(TEXTS if path.suffix != ".parquet" else ()), *PLACES]
    weights = [1.0] * len(BYTES) + [3.0] * (len(kinds) - len(BYTES) - len(PLACES))
    weights += [0.4] * len(PLACES)
    (kind,) = draw.choices(kinds, weights)
    kind(path, draw)
    return kind.__name__.strip("_")


def _cut(path: Path, draw: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: draw.randrange(len(data) or 1)])


def _flipped(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(draw.choice([1, 3, 30]) if data else 0):
        data[draw.randrange(len(data))] = draw.randrange(256)
    path.write_bytes(data)


def _emptied(path: Path, draw: random.Random) -> None:
    path.write_bytes(b"")


def _deep(path: Path, draw: random.Random) -> None:
    path.write_bytes(b"[" * DEEP + b"]" * DEEP + b"\n")


def _long(path: Path, draw: random.Random) -> None:
    with path.open("ab") as file:
        file.write(b"x" * LONG_BYTES + b"\n")


def _number_of_many_digits(path: Path, draw: random.Random) -> None:
    path.write_bytes(b'{"name": ' + b"9" * 10_000 + b"}\n")


def _changed(path: Path, draw: random.Random) -> None:
    _rewrite(path, draw, lambda found, key: found.__setitem__(key, draw.choice(VALUES)))


def _left_out(path: Path, draw: random.Random) -> None:
    _rewrite(path, draw, lambda found, key: found.pop(key))


def _added(path: Path, draw: random.Random) -> None:
    def more(found: Any, key: Any) -> None:
        if isinstance(found, dict):
            found["of_a_later_version"] = draw.choice(VALUES)
        else:
            found.append(draw.choice(VALUES))

    _rewrite(path, draw, more)


def _doubled(path: Path, draw: random.Random) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    if lines:
        place = draw.randrange(len(lines))
        path.write_bytes(b"".join([*lines[:place], lines[place], *lines[place:]]))


def _another_line(path: Path, draw: random.Random) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    junk = [b"\n", b"[]\n", b"null\n", b"\xff\xfe\n", b"{\n", b"0\n", b'"\\ud800"\n', b"\0\n"]
    lines.insert(draw.randrange(len(lines) + 1), draw.choice(junk))
    path.write_bytes(b"".join(lines))


def _rewrite(path: Path, draw: random.Random, change: Callable[[Any, Any], Any]) -> None:
    """Changes one value, anywhere in the tree of a document or of one of its lines."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True) if path.suffix == ".jsonl" else [text]
    place = draw.randrange(len(lines))
    as_yaml = path.suffix == ".yaml"
    try:
        found = (yaml.safe_load if as_yaml else json.loads)(lines[place])
    except ValueError:
        return _flipped(path, draw)  # it is a module, or a kernel
    spots = _spots(found) if isinstance(found, dict | list) else []
    if spots:
        change(*draw.choice(spots))
    written = yaml.safe_dump(found) if as_yaml else json.dumps(found)
    lines[place] = f"{written}\n"
    path.write_text("".join(lines), encoding="utf-8", errors="surrogatepass")
    return None


def _spots(found: Any) -> list[tuple[Any, Any]]:
    keys = list(found) if isinstance(found, dict) else range(len(found))
    own = [(found, key) for key in keys]
    below = [found[key] for key in keys if isinstance(found[key], dict | list)]
    return own + [spot for one in below for spot in _spots(one)]


def _a_folder(path: Path, draw: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _a_pipe(path: Path, draw: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def _a_link_to_nothing(path: Path, draw: random.Random) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def _a_link_to_itself(path: Path, draw: random.Random) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _gone(path: Path, draw: random.Random) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


BYTES = (_cut, _flipped, _emptied, _deep, _long, _number_of_many_digits)
TEXTS = (_changed, _left_out, _added, _doubled, _another_line)
PLACES = (_a_folder, _a_pipe, _a_link_to_nothing, _a_link_to_itself, _gone)
