"""A folder of modules with their answers beside them.

    softmax.py  softmax.cpp  softmax.fast.cpp  softmax.cu  softmax.triton.py  softmax.cpp.md

`softmax.cpp.md` is the reasoning that leads to `softmax.cpp`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kernelwright.data.importers.item import Answer, Found, Item
from kernelwright.data.suites.row_folder import Lost

ENDINGS = {".triton.py": "triton", ".inline.py": "inline", ".cpp": "cpp", ".cu": "cuda"}
"""How an answer's file ends → its dialect."""
SPDX = re.compile(r"SPDX-License-Identifier:[ \t]*(\S[^\n]*?)[ \t]*$", re.MULTILINE)


def folder_items(folder: Path) -> Iterator[Found]:
    """The modules of a folder and its folders, by name. Raises OSError and ValueError."""
    if not folder.is_dir():
        raise ValueError(f"no folder {folder}")
    files = sorted(one for one in folder.rglob("*") if one.is_file())
    modules = [one for one in files if one.suffix == ".py" and dialect_of(one) is None]
    if not modules:
        raise ValueError(f"{folder} has no module: expects NAME.py with NAME.cpp beside it")
    for module in modules:
        name = str(module.relative_to(folder).with_suffix(""))
        try:
            yield _item(module, name, files)
        except UnicodeDecodeError:
            yield Lost(name, "not_a_problem", f"{module} or an answer beside it is not UTF-8")


def dialect_of(path: Path) -> str | None:
    """What an answer's file is written in; None for any other file."""
    return next((one for end, one in ENDINGS.items() if path.name.endswith(end)), None)


def _item(module: Path, name: str, files: list[Path]) -> Item:
    code = module.read_text(encoding="utf-8")
    said = SPDX.search(code)
    return Item(
        id=name,
        name=name,
        code=code,
        licence=said[1] if said else "",
        origin=str(module.resolve()),
        answers=tuple(
            Answer(
                dialect=dialect,
                kernel=one.read_text(encoding="utf-8"),
                reasoning=_reasoning(one),
            )
            for one in files
            if one.parent == module.parent and one.name.startswith(f"{module.stem}.")
            if (dialect := dialect_of(one))
        ),
    )


def _reasoning(answer: Path) -> str:
    beside = answer.with_name(f"{answer.name}.md")
    return beside.read_text(encoding="utf-8").strip() if beside.is_file() else ""
