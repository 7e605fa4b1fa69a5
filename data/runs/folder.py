"""Reads the files of a run's or an evaluation's folder, and locks it for one process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kernelwright.envs.codec import TOO_DEEP, read_json
from kernelwright.envs.system.paths import no_pipe

RECIPE_FILE, ENV_FILE, STAGES_FILE = "recipe.resolved.yaml", "env.json", "stages.json"
EVALUATION_FILE, SEARCH_FILE = "eval.json", "search.json"
SEARCH_RESULTS = "results.json"
"""What a search writes at its end."""
LOCK_FILE = ".lock"

Document = dict[str, Any]


class DamagedError(ValueError):
    """A file that is there and holds no mapping; `why` says so without the file's name."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.why = why


@dataclass(frozen=True, slots=True)
class Folder:
    """Reads the files of a run or an evaluation; a missing file is None.

    A file that is no mapping raises DamagedError; what it says about values, its reader checks.
    """

    path: Path

    @property
    def recipe_file(self) -> Path:
        return self.path / RECIPE_FILE

    def recipe(self) -> Document | None:
        """The recipe that a run was started with, every value of it."""
        return mapping(self.recipe_file, yaml.safe_load)

    def environment(self) -> Document | None:
        """What a run was started on."""
        return mapping(self.path / ENV_FILE, read_json)

    def stages(self) -> Document | None:
        """Finished stage → how many seconds its last attempt took."""
        return mapping(self.path / STAGES_FILE, read_json)

    def evaluation(self) -> Document | None:
        """What `kernelwright eval` was asked (`question`), and the seconds that it took."""
        return mapping(self.path / EVALUATION_FILE, read_json)

    def search(self) -> Document | None:
        """What `kernelwright search` was asked (`question`), and the seconds that it took."""
        return mapping(self.path / SEARCH_FILE, read_json)

    def suites(self) -> dict[str, str]:
        """The suites that a run's recipe names, or the question of an evaluation or a search; by
        their keys there. A search may have `searched` a module's file instead.

        Raises ValueError where one of them names none.
        """
        found: dict[str, str] = {}
        try:
            if (recipe := self.recipe()) is not None:
                data = recipe["data"]
                keys = ("train_suite", "held_out_suite")
                found |= {key: data[key] for key in keys}
                found |= {key: data[key] for key in ("sft_suite",) if data.get(key)}
            if (evaluation := self.evaluation()) is not None:
                found["suite"] = evaluation["question"]["suite"]
            if (search := self.search()) is not None:
                found["searched"] = search["question"]["searched"]
        except (ValueError, KeyError, TypeError) as error:
            why = " ".join(str(error).split())
            raise ValueError(
                f"{self.path}: its recipe or question names no suite ({why})"
            ) from None
        return found


def has_begun(folder: Path) -> bool:
    """Whether a run, an evaluation or a search has begun there."""
    begun = (RECIPE_FILE, EVALUATION_FILE, SEARCH_FILE)
    return any((folder / name).exists() for name in begun)


def mapping(path: Path, parse: Callable[[str], Any]) -> Document | None:
    """What a file holds; None where there is none. Raises DamagedError where it is no mapping."""
    try:
        found = parse(no_pipe(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except RecursionError:
        raise DamagedError(path, TOO_DEEP) from None
    except (yaml.YAMLError, ValueError) as error:
        raise DamagedError(path, " ".join(str(error).split())) from None
    if not isinstance(found, dict):
        raise DamagedError(path, "it holds no mapping")
    return found


class InUseError(RuntimeError):
    """Another process holds the folder; the message says which."""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Makes the folder and keeps other processes out. The system frees the lock at death.

    Raises InUseError, and OSError where the folder cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK_FILE).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise InUseError(f"{folder} is in use by another run (process {holder})") from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
